// Row operations by their definitions, in double precision, over plain vectors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <vector>

namespace wavefire::reference {

using Values = std::vector<double>;

inline double mean(const Values& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

inline Values rms_norm(const Values& x, const Values& weight, double eps, double weight_bias) {
  Values squares(x), out(x);
  for (double& v : squares) v *= v;
  const double factor = 1 / std::sqrt(mean(squares) + eps);
  for (std::size_t i = 0; i < x.size(); ++i) out[i] *= factor * (weight[i] + weight_bias);
  return out;
}

/// `bias` may be empty. `scale`: 1 / sqrt(variance + eps), for tolerances.
inline Values layer_norm(const Values& x, const Values& weight, const Values& bias, double eps,
                         double& scale) {
  const double m = mean(x);
  Values squares(x), out(x);
  for (double& v : squares) v = (v - m) * (v - m);
  scale = 1 / std::sqrt(mean(squares) + eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = (x[i] - m) * scale * weight[i] + (bias.empty() ? 0 : bias[i]);
  }
  return out;
}

inline double silu(double x) { return x / (1 + std::exp(-x)); }
inline double gelu(double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }
inline double gelu_tanh(double x) {
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

/// The pair (a, b) of dimension i and its partner, rotated by `angle`.
struct Pair {
  double a, b;
};
inline Pair rotate(Pair p, double cosine, double sine) {
  return {p.a * cosine - p.b * sine, p.b * cosine + p.a * sine};
}

/// Radians that a position advances pair i by; with `low` > 0 LLaMA 3.1's.
inline Values frequencies(int dims, double theta, double scale, double low, double high,
                          double old_context) {
  Values f(static_cast<std::size_t>(dims / 2));
  for (std::size_t i = 0; i < f.size(); ++i) {
    f[i] = std::pow(theta, -2.0 * static_cast<double>(i) / dims);
    double smooth = 0;
    if (low > 0) {
      smooth = f[i] * old_context / (2 * std::numbers::pi * (high - low)) - 1 / (high / low - 1);
      smooth = std::clamp(smooth, 0.0, 1.0);
    }
    f[i] = (1 - smooth) * f[i] / scale + smooth * f[i];
  }
  return f;
}

inline Values softmax(const Values& logits, double temperature) {
  const double top = *std::max_element(logits.begin(), logits.end());
  Values p(logits);
  double total = 0;
  for (double& v : p) total += v = std::exp((v - top) / temperature);
  for (double& v : p) v /= total;
  return p;
}

/// The smallest of the k largest weights.
inline double top_k_threshold(Values w, std::int64_t k) {
  std::sort(w.rbegin(), w.rend());
  return w[static_cast<std::size_t>(std::min<std::int64_t>(k, std::ssize(w)) - 1)];
}

/// The smallest of the fewest largest weights that together reach `mass`.
inline double top_p_threshold(Values w, double mass) {
  std::sort(w.rbegin(), w.rend());
  double running = 0;
  for (double v : w) {
    running += v;
    if (running >= mass) return v;
  }
  return 0;
}

/// Entries of at least the threshold, others 0.
inline Values keep(Values w, double threshold) {
  for (double& v : w) v = v < threshold ? 0 : v;
  return w;
}

}  // namespace wavefire::reference
