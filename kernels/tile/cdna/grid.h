// Workgroups as workers, and what they tell each other.
#pragma once

#include "tile/cdna/wave.h"

WF_NAMESPACE_BEGIN(tile)

/// What gfx942 and gfx950 share of the contract in concepts.h.
template <int waves>
struct CdnaCommon {
  using Element = float;
  using Wide = Floats<4>;
  using Wave = CdnaWave<waves>;
  static constexpr int team_lanes = Wave::team;
  static constexpr int block_threads = team_lanes;

  WF_DEVICE static int worker() { return isa::block(); }
  WF_DEVICE static bool computes() { return true; }

  template <class E>
  WF_DEVICE static E exp2(E a) {
    return isa::exp2(a);
  }
  static constexpr bool branches_by_row = false;  // a row may skip work that others do
  static constexpr bool rounds_weights = false;   // before they are summed
  WF_DEVICE static float log2(float a) { return isa::log2(a); }
  WF_DEVICE static float tanh(float a) {  // 1 - 2 / (exp(2a) + 1), exact at both ends
    return 1.f - 2.f * isa::reciprocal(isa::exp2(a * 2.88539008177792681f) + 1.f);
  }
  WF_DEVICE static bool lanes_from_bits(u32 bits) { return (bits & 1) != 0; }

  template <class F>
  WF_DEVICE static void with_output_dtype(DType dtype, F&& f) {
    if (dtype == DType::bf16) return f.template operator()<DType::bf16>();
    if (dtype == DType::f16) return f.template operator()<DType::f16>();
    return f.template operator()<DType::f32>();
  }
  /// Four neighbours; rows begin anywhere, and have a multiple of four columns.
  template <DType dtype>
  WF_DEVICE static void store(char* row, int column, int dims, Wide value) {
    if (column >= dims) return;
    char* to = row + i64{column} * size_of(dtype);
    if constexpr (dtype == DType::f32) {
      isa::store_anywhere(to, Float4{value.e[0], value.e[1], value.e[2], value.e[3]});
    } else {
      isa::store_anywhere(to, Word2{isa::pack<dtype>(value.e[0], value.e[1]),
                                    isa::pack<dtype>(value.e[2], value.e[3])});
    }
  }
  WF_DEVICE static Wide load_first(const float* row, int column, int) {
    Wide r;
    WF_UNROLL
    for (int i = 0; i < 4; ++i) r.e[i] = load_shared_result(row + column + i);
    return r;
  }
  WF_DEVICE static bool any_of_wave(bool condition) { return isa::ballot(condition) != 0; }

  // Turns of the halves of a team (schedule/ping_pong.h).
  WF_DEVICE static bool is_late_half() { return isa::wave_of_block() >= waves / 2; }
  /// What was stored to LDS is there behind it. Nothing moves across.
  WF_DEVICE static void end_turn() { isa::shared_barrier(); }
  WF_DEVICE static void begin_products() { isa::set_priority<1>(); }
  WF_DEVICE static void end_products() { isa::set_priority<0>(); }

  /// What the team's lanes have written is visible to the others.
  WF_DEVICE static void team_sync() {
    if constexpr (waves == 1) return isa::warp_barrier();
    isa::barrier();
  }
  /// Partial results come from other compute units, whose writes the L1 does not see.
  WF_DEVICE static float load_shared_result(const float* p) {
    return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }

  /// True in every lane of the last of `parts` teams; what the teams wrote before is then visible.
  WF_DEVICE static bool arrive_last(i32* counter, i32 parts) {
    __attribute__((shared)) static i32 last;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    isa::barrier();
    if (Wave::lane() == 0) {
      const i32 before =
          __hip_atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
      last = before == parts - 1;
      if (last != 0) *counter = 0;
    }
    isa::barrier();
    const bool result = last != 0;
    isa::barrier();
    if (result) __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    return result;
  }
};

WF_NAMESPACE_END
