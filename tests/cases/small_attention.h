// Small attention problems whose answers are known, said by formulas, and run along every route: as
// rows or pages, in both layouts, whole or split.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cases/host_tensor.h"
#include "cases/test_device.h"
#include "wavefire/attention.h"

namespace wavefire::cases {

struct Route {
  const char* name;
  int page_size = 0;  // 0: ragged
  KvLayout layout = KvLayout::nhd;
  int workers = 1;
  int fixed_split = 0;
};

inline const std::vector<Route>& all_routes() {
  static const std::vector<Route> routes = {
      {"ragged"},
      {"ragged hnd, 5 workers", 0, KvLayout::hnd, 5},
      {"pages of 1", 1},
      {"pages of 3 hnd, 2 workers", 3, KvLayout::hnd, 2},
      {"pages of 16", 16},
      {"pages of 16, 5 workers", 16, KvLayout::nhd, 5},
      {"pages of 64, splits of 8", 64, KvLayout::nhd, 3, 8},
  };
  return routes;
}

struct SmallResult {
  HostTensor out, lse;
  int joins = 0;

  double at(std::int64_t token, std::int64_t head = 0, std::int64_t d = 0) const {
    return get(out.view(), {token, head, d});
  }
  double lse_at(std::int64_t token, std::int64_t head = 0) const {
    return get(lse.view(), {token, head});
  }
};

struct SmallAttention {
  /// 64 dims, one head, float32 (on GPUs queries and KV bfloat16) and no scale unless told
  /// otherwise.
  explicit SmallAttention(std::vector<std::pair<int, int>> q_and_kv_lengths)
      : lengths(std::move(q_and_kv_lengths)) {
    options.num_qo_heads = options.num_kv_heads = 1;
    options.head_dim_qk = 64;
    options.sm_scale = 1.f;
    options.q_dtype = options.kv_dtype = test_gpu() == nullptr ? DType::f32 : DType::bf16;
    options.o_dtype = DType::f32;
  }

  std::vector<std::pair<int, int>> lengths;  // (q_len, kv_len)
  AttentionOptions options;
  // Of (request, token or key, head, column).
  using Formula = std::function<double(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;
  Formula q = [](auto...) { return 0.0; }, k = q, v = q;
  std::vector<float> sinks, q_head_scale, k_head_scale, v_head_scale, alibi_slopes;
  float q_scale = 1, k_scale = 1, v_scale = 1;
  std::vector<std::uint8_t> mask;  // bools of all requests, or empty

  SmallResult run(const Route& route) const;

 private:
  HostTensor rows(const Route& route, std::int64_t dims, const std::vector<std::int32_t>& first,
                  const std::vector<std::int32_t>& indices, const Formula& formula) const;
  void run_planned(const BatchAttention& attention, const HostTensor& queries,
                   const HostTensor& keys, const HostTensor& values, SmallResult& result) const;
};

}  // namespace wavefire::cases
