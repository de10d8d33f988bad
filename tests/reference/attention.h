// Attention in double precision, said as directly as possible: one request, dense rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

namespace wavefire::reference {

struct AttentionRequest {
  std::int64_t q_len = 0, kv_len = 0;
  std::int64_t num_qo_heads = 1, num_kv_heads = 1;
  std::int64_t head_dim_qk = 1, head_dim_vo = 1;
  std::vector<double> q;  // [q_len, num_qo_heads, head_dim_qk]
  std::vector<double> k;  // [kv_len, num_kv_heads, head_dim_qk]
  std::vector<double> v;  // [kv_len, num_kv_heads, head_dim_vo]

  double scale = 1;    // of q . k: sm_scale, q_scale and k_scale together
  double v_scale = 1;  // of the output
  std::vector<double> q_head_scale, k_head_scale, v_head_scale;  // or empty
  double soft_cap = 0;                                           // 0: none
  std::vector<double> alibi_slopes;                              // [num_qo_heads] or empty
  std::vector<double> rope_frequency;                            // [head_dim_qk / 2] or empty
  std::vector<double> sinks;                                     // [num_qo_heads] or empty
  bool causal = false;
  std::int64_t window_left = -1;
  std::vector<bool> mask;  // [q_len, kv_len] or empty
};

/// Results, and the magnitudes that bound what rounding may do to them (tolerance/tolerance.h).
struct AttentionResult {
  std::vector<double> out;              // [q_len, num_qo_heads, head_dim_vo]
  std::vector<double> lse;              // [q_len, num_qo_heads], base 2
  std::vector<double> value_magnitude;  // as out: sum of weight |v|
  std::vector<double> logit_magnitude;  // as lse: largest sum of |q_d k_d| scale + |bias|
  std::vector<std::int64_t> keys;       // as lse: how many the row sees
};

/// theta^(-2i/d) / scale, or with a low frequency factor LLaMA 3.1's: waves shorter than
/// old_context / high stay, longer than old_context / low are stretched by `scale`, between them a
/// linear blend in old_context / wave length.
inline std::vector<double> rope_frequencies(double scale, double theta, double low, double high,
                                            double old_context, std::int64_t head_dim) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < head_dim / 2; ++i) {
    const double f = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    const double wave = 2 * std::numbers::pi / f;
    if (low == 0 || wave > old_context / low) {
      frequencies.push_back(f / scale);
    } else if (wave < old_context / high) {
      frequencies.push_back(f);
    } else {
      const double blend = (old_context / wave - low) / (high - low);
      frequencies.push_back((1 - blend) * f / scale + blend * f);
    }
  }
  return frequencies;
}

inline void rotate_rows(std::vector<double>& rows, std::int64_t heads, std::int64_t dims,
                        const std::vector<double>& frequency, std::int64_t first_position) {
  const auto row_count = static_cast<std::int64_t>(rows.size()) / dims;
  for (std::int64_t r = 0; r < row_count; ++r) {
    const auto position = static_cast<double>(first_position + r / heads);
    double* row = rows.data() + r * dims;
    for (std::int64_t i = 0; i < dims / 2; ++i) {
      const double angle = position * frequency[static_cast<std::size_t>(i)];
      const double a = row[i], b = row[i + dims / 2];
      row[i] = a * std::cos(angle) - b * std::sin(angle);
      row[i + dims / 2] = b * std::cos(angle) + a * std::sin(angle);
    }
  }
}

inline double at_or(const std::vector<double>& values, std::int64_t i, double otherwise) {
  return values.empty() ? otherwise : values[static_cast<std::size_t>(i)];
}

/// Whether query token `token` sees key `key`. Positions are aligned at the end: the last query
/// stands at the last key.
inline bool sees(const AttentionRequest& r, std::int64_t token, std::int64_t key) {
  const std::int64_t position = token + r.kv_len - r.q_len;
  if (r.causal && key > position) return false;
  if (r.window_left >= 0 && key < position - r.window_left) return false;
  return r.mask.empty() || r.mask[static_cast<std::size_t>(token * r.kv_len + key)];
}

inline AttentionResult attention(AttentionRequest r) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::int64_t group = r.num_qo_heads / r.num_kv_heads;
  if (!r.rope_frequency.empty()) {
    rotate_rows(r.q, r.num_qo_heads, r.head_dim_qk, r.rope_frequency, r.kv_len - r.q_len);
    rotate_rows(r.k, r.num_kv_heads, r.head_dim_qk, r.rope_frequency, 0);
  }
  AttentionResult result;
  for (std::int64_t row = 0; row < r.q_len * r.num_qo_heads; ++row) {
    const std::int64_t token = row / r.num_qo_heads, head = row % r.num_qo_heads;
    const std::int64_t kv_head = head / group;
    const std::int64_t position = token + r.kv_len - r.q_len;
    const double scale =
        r.scale * at_or(r.q_head_scale, head, 1) * at_or(r.k_head_scale, kv_head, 1);
    const double* q = r.q.data() + row * r.head_dim_qk;

    std::vector<std::int64_t> keys;
    std::vector<double> logits;
    double logit_magnitude = 0;
    for (std::int64_t j = 0; j < r.kv_len; ++j) {
      if (!sees(r, token, j)) continue;
      const double* k = r.k.data() + (j * r.num_kv_heads + kv_head) * r.head_dim_qk;
      double sum = 0, size = 0;
      for (std::int64_t d = 0; d < r.head_dim_qk; ++d) {
        sum += q[d] * k[d];
        size += std::fabs(q[d] * k[d]);
      }
      double logit = sum * scale;
      if (r.soft_cap > 0) logit = r.soft_cap * std::tanh(logit / r.soft_cap);
      const double bias = at_or(r.alibi_slopes, head, 0) * static_cast<double>(j - position);
      keys.push_back(j);
      logits.push_back(logit + bias);
      logit_magnitude = std::fmax(logit_magnitude, size * std::fabs(scale) + std::fabs(bias));
    }

    const double sink = at_or(r.sinks, head, -infinity);
    double top = sink;
    for (double logit : logits) top = logit > top || std::isnan(logit) ? logit : top;
    double total = sink == -infinity ? 0 : std::exp(sink - top);
    std::vector<double> sum(static_cast<std::size_t>(r.head_dim_vo)), size(sum);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const double weight = std::exp(logits[i] - top);
      const double* v = r.v.data() + (keys[i] * r.num_kv_heads + kv_head) * r.head_dim_vo;
      total += weight;
      for (std::size_t d = 0; d < sum.size(); ++d) {
        sum[d] += weight * v[d];
        size[d] += weight * std::fabs(v[d]);
      }
    }
    const double factor = total == 0 ? 0 : r.v_scale * at_or(r.v_head_scale, kv_head, 1) / total;
    for (std::size_t d = 0; d < sum.size(); ++d) {
      result.out.push_back(sum[d] * factor);
      result.value_magnitude.push_back(size[d] * std::fabs(factor));
    }
    result.lse.push_back(total == 0 ? -infinity : (top + std::log(total)) / std::numbers::ln2);
    result.logit_magnitude.push_back(logit_magnitude);
    result.keys.push_back(static_cast<std::int64_t>(keys.size()));
  }
  return result;
}

}  // namespace wavefire::reference
