// Row operations on an NVIDIA GPU against float64.
//
//   check_rows row_kernels.cubin
//
// Outputs start as NaN, rows have strides of their own, and widths are aligned and not.
#include <cmath>
#include <random>
#include <string>

#include "activation/params.h"
#include "gpu/driver.h"
#include "kv_cache/params.h"
#include "merge/params.h"
#include "norm/params.h"
#include "reference/dtypes.h"
#include "reference/rows.h"
#include "rope/params.h"
#include "tolerance/tolerance.h"

namespace wavefire::gpu {
namespace {

using reference::Values;

/// Numbers of some type, on the host and the device.
struct Numbers {
  DType dtype;
  std::vector<u8> host;
  Buffer device;

  Numbers(DType type, i64 count)
      : dtype(type), host(static_cast<std::size_t>(count * size_of(type)), 0xff), device(host) {}
  Numbers(DType type, i64 count, std::mt19937& random, double scale = 1) : Numbers(type, count) {
    std::normal_distribution<double> normal;
    for (i64 i = 0; i < count; ++i) reference::encode(type, scale * normal(random), host.data(), i);
    device.upload(host);
  }
  void fetch() { host = device.download<u8>(); }
  double operator[](i64 i) const { return reference::decode(dtype, host.data(), i); }
  Values row(i64 first, i64 count) const {
    Values values;
    for (i64 i = 0; i < count; ++i) values.push_back((*this)[first + i]);
    return values;
  }
  template <class T = void>
  T* at(i64 i = 0) const {
    return reinterpret_cast<T*>(device.as<char>() + i * size_of(dtype));
  }
};

/// The largest error of a case, as a share of what is allowed.
struct Worst {
  double share = 0;
  void add(double expected, double got, double allowed) {
    const double s = expected == got ? 0 : std::fabs(expected - got) / allowed;
    share = std::fmax(share, std::isfinite(s) ? s : INFINITY);
  }
};

struct Checks {
  const Module& module;
  int count = 0, wrong = 0;
  std::mt19937 random{11};

  void report(const std::string& name, const Worst& worst) {
    const bool good = worst.share <= 1;
    std::printf("%-52s of the tolerance: %.2f  %s\n", name.c_str(), worst.share,
                good ? "ok" : "WRONG");
    ++count;
    wrong += good ? 0 : 1;
  }
  template <class Params>
  void launch(const char* kernel, i64 rows, i64 rows_a_block, const Params& params) {
    const CUfunction f = module.function(kernel);
    Launch{f, static_cast<unsigned>((rows + rows_a_block - 1) / rows_a_block),
           threads_of(f)}(params);
    synchronize();
  }

  void norm(const char* kernel, norm::Kind kind, DType dtype, DType weight_dtype, i64 width,
            bool residual, i64 padding) {
    const bool warps = std::string(kernel).ends_with("warps");
    const i64 rows = 37, stride = width + padding;
    Numbers x(dtype, rows * stride, random, 2), added(dtype, rows * stride, random),
        out(dtype, rows * stride), weight(weight_dtype, width, random),
        bias(weight_dtype, width, random);
    const std::vector<u8> before = added.host;
    const bool layer = kind == norm::Kind::layer;
    wavefire::norm::Launch p;
    p.x = x.at(), p.out = out.at(), p.weight = weight.at();
    if (residual) p.residual = added.at();
    if (layer) p.bias = bias.at();
    p.inner = 1, p.width = width;
    p.x_stride[0] = p.out_stride[0] = p.residual_stride[0] = stride;
    p.dtype = dtype, p.weight_dtype = p.bias_dtype = weight_dtype, p.kind = kind;
    p.stream = padding == 0 && !residual;
    p.eps = 1e-5f, p.rows = rows;
    launch(kernel, rows, warps ? 8 : 1, p);
    out.fetch();
    added.fetch();
    Worst worst;
    const Values w = weight.row(0, width), b = bias.row(0, width);
    for (i64 r = 0; r < rows; ++r) {
      Values v = x.row(r * stride, width);
      for (i64 i = 0; residual && i < width; ++i) {
        double& value = v[static_cast<std::size_t>(i)];
        const double sum = value + reference::decode(dtype, before.data(), r * stride + i);
        value = static_cast<float>(sum);
        worst.add(sum, added[r * stride + i], tolerance::rounded(dtype, sum, std::fabs(sum), 1e-7));
      }
      double scale = 0;
      const Values expected = layer ? reference::layer_norm(v, w, b, p.eps, scale)
                                    : reference::rms_norm(v, w, p.eps, 0);
      double magnitude = 0;
      for (double value : v) magnitude += std::fabs(value);
      magnitude *= scale / static_cast<double>(width);
      for (i64 i = 0; i < width; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double e = expected[at];
        const double allowed =
            layer ? tolerance::layer_norm(dtype, e, b[at],
                                          (magnitude + std::fabs(v[at]) * scale) * std::fabs(w[at]),
                                          width)
                  : tolerance::rms_norm(dtype, e, width);
        worst.add(e, out[r * stride + i], allowed);
      }
    }
    report(std::string(kernel) + " width " + std::to_string(width) + (residual ? " residual" : "") +
               (padding > 0 ? " padded" : ""),
           worst);
  }

  void gated(const char* kernel, DType dtype, double (*f)(double), i64 width) {
    const i64 rows = 29;
    const Numbers x(dtype, rows * 2 * width, random, 3);
    Numbers out(dtype, rows * width);
    activation::Launch p;
    p.x = x.at(), p.out = out.at(), p.width = width, p.x_stride = 2 * width, p.out_stride = width;
    p.dtype = dtype, p.rows = rows;
    launch(kernel, rows, 1, p);
    out.fetch();
    Worst worst;
    for (i64 i = 0; i < rows * width; ++i) {
      const i64 at = i / width * 2 * width + i % width;
      const double gate = x[at], up = x[at + width], e = f(gate) * up;
      worst.add(e, out[i], tolerance::gated(dtype, e, gate, up, f != reference::silu));
    }
    report(std::string(kernel) + " width " + std::to_string(width), worst);
  }

  void rope(DType dtype, i32 head_dim, i32 rotary_dim, bool interleaved) {
    const i64 tokens = 19;
    const i32 heads[2] = {5, 2};
    const Values f = reference::frequencies(rotary_dim, 10000, 1, 0, 0, 0);
    std::vector<float> frequency(f.begin(), f.end()), rest;
    for (std::size_t i = 0; i < f.size(); ++i)
      rest.push_back(static_cast<float>(f[i] - frequency[i]));
    std::vector<i64> positions;
    for (i64 t = 0; t < tokens; ++t) positions.push_back(static_cast<i64>(random() % 100000));
    const Buffer frequency_buffer(frequency), rest_buffer(rest), position_buffer(positions);
    const Numbers q(dtype, tokens * heads[0] * head_dim, random),
        k(dtype, tokens * heads[1] * head_dim, random);
    Numbers q_out(dtype, tokens * heads[0] * head_dim), k_out(dtype, tokens * heads[1] * head_dim);
    rope::Launch p;
    for (int g = 0; g < 2; ++g) {
      rope::Heads& group = p.group[g];
      group.in = g == 0 ? q.at() : k.at(), group.out = g == 0 ? q_out.at() : k_out.at();
      group.in_stride_token = group.out_stride_token = i64{heads[g]} * head_dim;
      group.in_stride_head = group.out_stride_head = head_dim;
      group.heads = heads[g], group.dtype = dtype;
    }
    p.head_dim = head_dim, p.rotary_dim = rotary_dim, p.interleaved = interleaved;
    p.positions = position_buffer.as<i64>(), p.frequency = frequency_buffer.as<float>();
    p.frequency_rest = rest_buffer.as<float>(), p.tokens = tokens;
    launch("rotate_heads", tokens, 1, p);
    q_out.fetch();
    k_out.fetch();
    Worst worst;
    const i64 step = interleaved ? 1 : rotary_dim / 2;
    for (int g = 0; g < 2; ++g) {
      const Numbers& in = g == 0 ? q : k;
      const Numbers& out = g == 0 ? q_out : k_out;
      for (i64 row = 0; row < tokens * heads[g]; ++row) {
        const i64 token = row / heads[g], first = row * head_dim;
        for (i64 i = 0; i < rotary_dim / 2; ++i) {
          const i64 a = first + (interleaved ? 2 * i : i), b = a + step;
          const double angle = static_cast<double>(positions[static_cast<std::size_t>(token)]) *
                               f[static_cast<std::size_t>(i)];
          const auto e = reference::rotate({in[a], in[b]}, std::cos(angle), std::sin(angle));
          const double size = std::hypot(in[a], in[b]);
          const double error = tolerance::sincos_error + std::fabs(angle) * 0x1p-47;
          worst.add(e.a, out[a], tolerance::rotated(dtype, e.a, size, error));
          worst.add(e.b, out[b], tolerance::rotated(dtype, e.b, size, error));
        }
        for (i64 i = rotary_dim; i < head_dim; ++i)
          worst.add(in[first + i], out[first + i], 1e-300);
      }
    }
    report("rotate_heads " + std::string(name_of(dtype)) + " head dim " + std::to_string(head_dim) +
               " rotary " + std::to_string(rotary_dim) + (interleaved ? " interleaved" : ""),
           worst);
  }

  void append(i64 dims) {
    const i32 tokens = 33, page_size = 4, pages = 12;
    const i64 heads = 3;
    const Numbers k(DType::bf16, tokens * heads * dims, random),
        v(DType::bf16, tokens * heads * dims, random);
    Numbers cache(DType::bf16, 2 * pages * page_size * heads * dims);
    // One request for each token, with one page.
    std::vector<i32> request, slot, page, first;
    for (i32 t = 0; t < tokens; ++t) {
      request.push_back(t == 3 ? -1 : t);
      slot.push_back(t % page_size);
      page.push_back(t / page_size * 5 % pages);
      first.push_back(t);
    }
    first.push_back(tokens);
    const Buffer requests(request), slots(slot), table(page), indptr(first);
    kv_cache::AppendLaunch p;
    p.tables = {{requests.as<i32>()},
                {slots.as<i32>()},
                {indptr.as<i32>()},
                {table.as<i32>()},
                tokens,
                tokens,
                pages,
                page_size};
    const i64 row = heads * dims;
    for (int s = 0; s < 2; ++s) {
      p.side[s] = {static_cast<const char*>(s == 0 ? k.at() : v.at()),
                   cache.at<char>(s * page_size * row),
                   row * 2,
                   dims * 2,
                   2 * page_size * row * 2,
                   row * 2,
                   dims * 2,
                   heads,
                   dims * 2};
    }
    p.tokens = tokens;
    launch("append_tokens", tokens, 1, p);
    cache.fetch();
    Worst worst;
    std::vector<bool> written(cache.host.size() / 2);
    for (i64 t = 0; t < tokens; ++t) {
      const auto at = static_cast<std::size_t>(t);
      for (i64 i = 0; request[at] >= 0 && i < row; ++i) {
        const i64 to = (i64{page[at]} * 2 * page_size + slot[at]) * row + i;
        worst.add(k[t * row + i], cache[to], 1e-300);
        worst.add(v[t * row + i], cache[to + page_size * row], 1e-300);
        written[static_cast<std::size_t>(to)] = true;
        written[static_cast<std::size_t>(to + page_size * row)] = true;
      }
    }
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (!written[i] && !std::isnan(cache[static_cast<i64>(i)])) worst.share = INFINITY;
    }
    report("append_tokens " + std::to_string(dims) + " dims", worst);
  }

  void merge(const char* kernel, DType dtype, i64 dim, i64 states) {
    const i64 tokens = 13, heads = 3, rows = tokens * heads;
    const Numbers v(dtype, rows * states * dim, random);
    Numbers s(DType::f32, rows * states, random, 3), out(dtype, rows * dim), lse(DType::f32, rows);
    reference::encode(DType::f32, -INFINITY, s.host.data(), 0);  // an empty state, an empty row
    for (i64 i = 0; i < states; ++i)
      reference::encode(DType::f32, -INFINITY, s.host.data(), heads * states + i);
    s.device.upload(s.host);
    wavefire::merge::Launch p;  // v [tokens, heads, states, dim]
    p.first = {v.at<char>(), dim * size_of(dtype), s.at<float>(), 1, states};
    p.v_row[0] = heads * states * dim * size_of(dtype), p.v_row[1] = states * dim * size_of(dtype);
    p.s_row[0] = heads * states, p.s_row[1] = states;
    p.out = out.at<char>(), p.lse = lse.at<float>();
    p.out_row[0] = heads * dim * size_of(dtype), p.out_row[1] = dim * size_of(dtype);
    p.lse_row[0] = heads, p.lse_row[1] = 1, p.dim = dim, p.heads = heads, p.rows = rows;
    launch(kernel, rows, 8, p);
    out.fetch();
    lse.fetch();
    Worst worst;
    for (i64 r = 0; r < rows; ++r) {
      double total = 0, top = -INFINITY;
      for (i64 i = 0; i < states; ++i) total += std::exp2(s[r * states + i]);
      for (i64 i = 0; i < states; ++i) top = std::fmax(top, std::fabs(s[r * states + i]));
      const double expected = total == 0 ? -INFINITY : std::log2(total);
      worst.add(expected, lse[r], 1e-6 * (1 + std::fabs(expected)));
      for (i64 d = 0; d < dim; ++d) {
        double sum = 0, size = 0;
        for (i64 i = 0; i < states; ++i) {
          const double weight = std::exp2(s[r * states + i]) / (total == 0 ? 1 : total);
          sum += weight * v[(r * states + i) * dim + d];
          size += std::fabs(weight * v[(r * states + i) * dim + d]);
        }
        worst.add(sum, out[r * dim + d], tolerance::rounded(dtype, sum, size, 4e-6));
      }
    }
    report(
        std::string(kernel) + " dim " + std::to_string(dim) + " states " + std::to_string(states),
        worst);
  }

  void all() {
    constexpr DType f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16;
    const auto rms = norm::Kind::rms, layer = norm::Kind::layer;
    for (i64 width : {8, 100, 1001, 4096, 8192, 10000}) {
      norm("rms_norm_bfloat16", rms, bf16, bf16, width, false, 0);
      norm("rms_norm_bfloat16", rms, bf16, bf16, width, true, 24);
      norm("layer_norm_float16", layer, f16, f32, width, false, 8);
    }
    norm("rms_norm_bfloat16_warps", rms, bf16, bf16, 128, false, 0);
    norm("rms_norm_bfloat16_warps", rms, bf16, bf16, 72, true, 1);
    norm("rms_norm_bfloat16_wide", rms, bf16, bf16, 8192, true, 0);
    norm("rms_norm_float32", rms, f32, f32, 5120, true, 0);
    norm("rms_norm_float32", rms, f32, f32, 16388, false, 4);
    for (i64 width : {24, 1000, 11008, 333}) {
      gated("silu_bfloat16", bf16, reference::silu, width);
      gated("gelu_float32", f32, reference::gelu, width);
      gated("gelu_tanh_float16", f16, reference::gelu_tanh, width);
    }
    for (bool interleaved : {false, true}) {
      rope(bf16, 128, 128, interleaved);
      rope(f32, 80, 64, interleaved);
      rope(f16, 96, 20, interleaved);
    }
    append(128);
    append(5);
    for (i64 states : {1, 2, 9}) {
      merge("merge_bfloat16", bf16, 128, states);
      merge("merge_float32", f32, 100, states);
      merge("merge_float32", f32, 512, states);
    }
  }
};

}  // namespace
}  // namespace wavefire::gpu

int main(int argc, char** argv) {
  using namespace wavefire::gpu;
  if (argc != 2) {
    std::fprintf(stderr, "usage: check_rows row_kernels.cubin\n");
    return 2;
  }
  const Context context;
  const Module module(argv[1]);
  Checks checks{module};
  checks.all();
  std::printf("%d cases, %d wrong\n", checks.count, checks.wrong);
  return checks.wrong == 0 ? 0 : 1;
}
