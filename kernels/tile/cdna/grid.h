// Workgroups as workers, and what they tell each other.
#pragma once

#include "tile/cdna/wave.h"

WF_NAMESPACE_BEGIN(tile)

/// What gfx942 and gfx950 share of the contract in concepts.h.
template <int waves>
struct CdnaCommon {
  using Element = float;
  using Wide = float;
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
  template <DType dtype>
  WF_DEVICE static void store(char* row, int column, int dims, float value) {
    if (column >= dims) return;
    if constexpr (dtype == DType::f32) {
      reinterpret_cast<float*>(row)[column] = value;
    } else {
      reinterpret_cast<u16*>(row)[column] = isa::round_to_16<dtype>(value);
    }
  }
  WF_DEVICE static float load_first(const float* row, int column, int) {
    return load_shared_result(row + column);
  }
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
