// Attention on an NVIDIA GPU against float64.
//
//   check_attention attention_kernels.cubin [cases]
//
// Unused slots of pages hold NaN, outputs start as NaN, and every case runs twice: the second
// launch finds the join counters at zero and must give the same bits. `cases`: only the first so
// many.
#include <cstring>

#include "gpu/attention_problem.h"
#include "reference/attention.h"
#include "reference/dtypes.h"
#include "tolerance/tolerance.h"

namespace wavefire::gpu {
namespace {

struct Case {
  const char* name;
  AttentionShape shape;
  i32 workers = 7;
  float soft_cap = 0;
  bool alibi = false;
  bool sinks = false;
  bool mask = false;
  bool bad_values = false;  // NaN and infinity in V of some keys
};

struct Data {
  std::vector<u16> q, k, v;
  std::vector<u8> mask;
  std::vector<float> slopes, sinks;
};

Data make_data(const Case& c, const Layout& layout, std::mt19937& random) {
  const AttentionShape& s = c.shape;
  std::normal_distribution<double> normal;
  const auto number = [&](double x) {
    return static_cast<u16>(reference::bits_of_value(s.dtype, x));
  };
  Data d;
  const auto row = static_cast<std::size_t>(s.kv_heads * s.head_dim);
  d.k.assign(static_cast<std::size_t>(layout.rows(s)) * row, number(NAN));
  d.v = d.k;
  for (std::size_t r = 0; r < layout.requests.size(); ++r) {
    for (i32 key = 0; key < s.kv_len[r]; ++key) {
      const auto at = static_cast<std::size_t>(layout.row(s, r, key)) * row;
      for (std::size_t i = 0; i < row; ++i) {
        d.k[at + i] = number(normal(random));
        d.v[at + i] = number(normal(random));
      }
      if (!c.bad_values || key % 5 != 3) continue;
      d.v[at + static_cast<std::size_t>(key) % row] = number(key % 2 == 0 ? NAN : INFINITY);
    }
  }
  d.q.resize(static_cast<std::size_t>(s.tokens() * s.qo_heads * s.head_dim));
  for (u16& x : d.q) x = number(normal(random));
  if (c.mask) {
    d.mask.resize(static_cast<std::size_t>(layout.mask_bytes));
    for (u8& byte : d.mask) byte = static_cast<u8>(random());
  }
  for (i32 head = 0; head < s.qo_heads; ++head) {
    if (c.alibi) d.slopes.push_back(std::exp2(-static_cast<float>(head + 1) / 2));
    if (c.sinks) d.sinks.push_back(static_cast<float>(normal(random)));
  }
  return d;
}

reference::AttentionRequest request_of(const Case& c, const Layout& layout, const Data& d,
                                       std::size_t r) {
  const AttentionShape& s = c.shape;
  reference::AttentionRequest out;
  out.q_len = s.q_len[r], out.kv_len = s.kv_len[r];
  out.num_qo_heads = s.qo_heads, out.num_kv_heads = s.kv_heads;
  out.head_dim_qk = out.head_dim_vo = s.head_dim;
  out.scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
  out.soft_cap = c.soft_cap, out.causal = s.causal, out.window_left = s.window_left;
  out.alibi_slopes.assign(d.slopes.begin(), d.slopes.end());
  out.sinks.assign(d.sinks.begin(), d.sinks.end());
  const auto copy = [&](std::vector<double>& to, const std::vector<u16>& from, i64 first, i64 n) {
    for (i64 i = 0; i < n; ++i) to.push_back(reference::decode(s.dtype, from.data(), first + i));
  };
  const i64 q_row = i64{s.qo_heads} * s.head_dim, row = i64{s.kv_heads} * s.head_dim;
  const attention::Request& request = layout.requests[r];
  copy(out.q, d.q, request.q_begin * q_row, s.q_len[r] * q_row);
  for (i32 key = 0; key < s.kv_len[r]; ++key) {
    copy(out.k, d.k, layout.row(s, r, key) * row, row);
    copy(out.v, d.v, layout.row(s, r, key) * row, row);
  }
  for (i64 bit = 0; c.mask && bit < i64{s.q_len[r]} * s.kv_len[r]; ++bit) {
    const u8 byte = d.mask[static_cast<std::size_t>(request.mask_begin + bit / 8)];
    out.mask.push_back((byte >> (bit % 8) & 1) != 0);
  }
  return out;
}

/// An error as a share of what is allowed; infinite where one is NaN (or infinite) and the other
/// not.
double share(double expected, double got, double allowed) {
  if (std::isnan(expected) && std::isnan(got)) return 0;
  if (expected == got) return 0;
  const double error = std::fabs(expected - got) / allowed;
  return std::isfinite(error) ? error : INFINITY;
}

struct Worst {
  double out = 0, lse = 0;
};

Worst compare(const Case& c, const Layout& layout, const Data& d, const std::vector<float>& out,
              const std::vector<float>& lse) {
  const AttentionShape& s = c.shape;
  const tolerance::AttentionPrecision precision{.operand = s.dtype, .head_dim = s.head_dim};
  Worst worst;
  for (std::size_t r = 0; r < s.q_len.size(); ++r) {
    const auto expected = reference::attention(request_of(c, layout, d, r));
    const auto first = static_cast<std::size_t>(layout.requests[r].q_begin * s.qo_heads);
    for (std::size_t i = 0; i < expected.lse.size(); ++i) {
      const double logit = expected.logit_magnitude[i];
      const i64 keys = expected.keys[i];
      worst.lse =
          std::fmax(worst.lse, share(expected.lse[i], lse[first + i],
                                     tolerance::lse(precision, expected.lse[i], logit, keys)));
      for (std::size_t column = 0; column < static_cast<std::size_t>(s.head_dim); ++column) {
        const std::size_t at = i * static_cast<std::size_t>(s.head_dim) + column;
        const double value = expected.out[at];
        const double allowed =
            tolerance::output(precision, value, expected.value_magnitude[at], logit, keys);
        worst.out = std::fmax(
            worst.out,
            share(value, out[first * static_cast<std::size_t>(s.head_dim) + at], allowed));
      }
    }
  }
  return worst;
}

bool run_case(const Case& c, const Module& module) {
  std::mt19937 random(7);
  const AttentionShape& s = c.shape;
  const Layout layout(s, random);
  const Data d = make_data(c, layout, random);
  const Plan plan(s, layout.requests, c.workers);
  const Buffer q(d.q), k(d.k), v(d.v), mask(d.mask), slopes(d.slopes), sinks(d.sinks);
  Buffer out(d.q.size() * 4), lse(static_cast<std::size_t>(s.tokens() * s.qo_heads) * 4);
  DeviceAttention device(s, layout, plan, q, k, v, out, lse, DType::f32);
  device.params.soft_cap = c.soft_cap;
  if (c.mask) device.params.custom_mask = mask.as<u8>();
  if (c.alibi) device.params.alibi_slopes = slopes.as<float>();
  if (c.sinks) device.params.sinks = sinks.as<float>();
  const Launch launch = attention_launch(module, s, c.workers);
  std::vector<std::vector<float>> outs, lses;
  for (int repeat = 0; repeat < 2; ++repeat) {
    out.poison();
    lse.poison();
    launch(device.params);
    synchronize();
    outs.push_back(out.download<float>());
    lses.push_back(lse.download<float>());
  }
  const bool same = std::memcmp(outs[0].data(), outs[1].data(), out.bytes()) == 0 &&
                    std::memcmp(lses[0].data(), lses[1].data(), lse.bytes()) == 0;
  const Worst worst = compare(c, layout, d, outs[0], lses[0]);
  const bool good = same && worst.out <= 1 && worst.lse <= 1;
  std::printf("%-18s %-40s joins %2zu  of the tolerance: output %.2f lse %.2f%s  %s\n",
              s.kernel().c_str(), c.name, plan.joins.size(), worst.out, worst.lse,
              same ? "" : ", bits differ", good ? "ok" : "WRONG");
  return good;
}

std::vector<Case> cases() {
  constexpr DType bf16 = DType::bf16, f16 = DType::f16;
  const std::vector<i32> one{1, 1, 1}, lengths{1, 300, 77};
  std::vector<Case> list{
      {"group 4, page 16", {one, lengths, 8, 2, 128, 16}},
      {"group 16, page 1", {one, lengths, 16, 1, 128, 1}},
      {"causal, page 64", {{130, 64}, {130, 200}, 4, 2, 128, 64, bf16, false, true}},
      {"mask, bad values, page 3",
       {{9, 40}, {60, 97}, 4, 2, 128, 3, bf16, false},
       3,
       0,
       false,
       false,
       true,
       true},
      {"causal window 20, bad values",
       {{50, 7}, {200, 60}, 3, 1, 128, 16, bf16, false, true, 20},
       5,
       0,
       false,
       false,
       false,
       true},
      {"one token, bad values", {one, lengths, 8, 1, 128, 16}, 6, 0, false, false, false, true},
      {"soft cap, alibi, sinks, group 5",
       {{33}, {97}, 5, 1, 128, 16, bf16, false},
       3,
       8,
       true,
       true},
      {"soft cap, alibi, sinks", {one, lengths, 8, 2, 128, 16}, 7, 8, true, true},
      {"float16, group 8, page 5", {one, lengths, 8, 1, 128, 5, f16}, 11},
      {"float16, causal, mask",
       {{20, 3}, {70, 3}, 6, 2, 128, 16, f16, false, true},
       4,
       0,
       false,
       false,
       true},
      {"empty kv, empty q, short kv", {{5, 0, 5}, {0, 40, 2}, 4, 2, 128, 16, bf16, false, true}},
      {"empty kv", {one, {0, 5, 0}, 4, 2, 128, 16}},
  };
  for (i32 dim : {40, 64, 112, 200, 256}) {
    list.push_back({"ragged, group 3", {{1, 2, 1}, {130, 65, 7}, 6, 2, dim, 0}, 9});
    list.push_back({"ragged, causal", {{70, 2}, {130, 65}, 4, 2, dim, 0, bf16, false, true}, 3});
    list.push_back({"page 7, bad values",
                    {{30}, {90}, 2, 1, dim, 7, bf16, false, true},
                    2,
                    0,
                    false,
                    false,
                    true,
                    true});
  }
  list.push_back({"long, 40 workers", {{1, 1}, {5000, 3001}, 8, 2, 128, 16}, 40});
  list.push_back({"long, group 7", {{2, 1}, {3000, 900}, 7, 1, 128, 16}, 64});
  return list;
}

}  // namespace
}  // namespace wavefire::gpu

int main(int argc, char** argv) {
  using namespace wavefire::gpu;
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: check_attention attention_kernels.cubin [cases]\n");
    return 2;
  }
  const Context context;
  const Module module(argv[1]);
  std::vector<Case> list = cases();
  if (argc == 3)
    list.resize(std::min<std::size_t>(list.size(), std::strtoul(argv[2], nullptr, 10)));
  int wrong = 0;
  for (const Case& c : list) wrong += run_case(c, module) ? 0 : 1;
  std::printf("%zu cases, %d wrong\n", list.size(), wrong);
  return wrong == 0 ? 0 : 1;
}
