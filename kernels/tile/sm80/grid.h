// Blocks as workers, and what they tell each other.
#pragma once

#include "math/sincos.h"
#include "tile/sm80/wave.h"

WF_NAMESPACE_BEGIN(tile)

/// What all NVIDIA architectures share of the contract in concepts.h.
template <int warps>
struct NvidiaCommon {
  using Element = float;
  using Wide = Floats<4>;  // what a lane loads with one instruction
  using Wave = NvidiaWave<warps>;
  static constexpr int team_lanes = Wave::team;
  static constexpr int team_barrier = 1;

  WF_DEVICE static int worker() { return isa::block(); }
  WF_DEVICE static void team_sync() {
    if constexpr (warps == 1) return isa::warp_barrier();
    isa::barrier<team_barrier, team_lanes>();
  }

  template <class E>
  WF_DEVICE static E exp2(E a) {
    return isa::exp2(a);
  }
  static constexpr bool branches_by_row = false;  // a row may skip work that others do
  static constexpr bool rounds_weights = true;    // before they are summed
  template <DType dtype>
  WF_DEVICE static float round_weight(float a) {
    return isa::round_to<dtype>(a);
  }
  WF_DEVICE static float log2(float a) { return isa::log2(a); }
  WF_DEVICE static float tanh(float a) {  // 1 - 2 / (exp(2a) + 1), exact at both ends
    return 1.f - 2.f * isa::reciprocal(isa::exp2(a * 2.88539008177792681f) + 1.f);
  }
  WF_DEVICE static void sincos_product(float a, float b, float& sine, float& cosine) {
    math::sincos_product(a, b, sine, cosine);
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
      reinterpret_cast<u16*>(row)[column] = static_cast<u16>(isa::pack<dtype>(value, 0.f));
    }
  }
  template <DType dtype, int n>
  WF_DEVICE static void store(char* row, int column, int dims, Floats<n> value) {
    WF_UNROLL
    for (int i = 0; i < n; ++i) store<dtype>(row, column + i, dims, value.e[i]);
  }
  /// Rows are multiples of sixteen bytes.
  WF_DEVICE static Wide load_first(const float* row, int column, int) {
    return isa::load_coherent_4(row + column);
  }
  WF_DEVICE static float load_shared_result(const float* p) { return isa::load_coherent(p); }

  /// True in every lane of the last of `parts` teams; what the teams wrote before is then visible.
  WF_DEVICE static bool arrive_last(i32* counter, i32 parts) {
    isa::fence_device();
    team_sync();
    bool last = false;
    if (Wave::lane() == 0) {
      last = isa::add_device(counter, 1) == parts - 1;
      if (last) *counter = 0;
    }
    last = isa::barrier_any<team_barrier, team_lanes>(last);
    if (last) isa::fence_device();
    return last;
  }
};

WF_NAMESPACE_END
