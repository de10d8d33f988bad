// Compiler builtins of CDNA. Vector and matrix instructions come through builtins only: the
// compiler inserts the wait states that the hardware needs, and inserts none for inline assembly.
#pragma once

#include "tile/element.h"
#include "tile/several.h"
#include "wavefire/dtype.h"

WF_NAMESPACE_BEGIN(tile)

/// Sixteen bytes.
typedef u32 Chunk __attribute__((vector_size(16)));
// What matrix instructions take and give.
typedef short Short4 __attribute__((vector_size(8)));
typedef short Short8 __attribute__((vector_size(16)));
typedef _Float16 Half4 __attribute__((vector_size(8)));
typedef _Float16 Half8 __attribute__((vector_size(16)));
typedef __bf16 Bfloat8 __attribute__((vector_size(16)));
typedef float Float4 __attribute__((vector_size(16)));
typedef float Float16 __attribute__((vector_size(64)));
typedef u32 Word2 __attribute__((vector_size(8)));

namespace isa {

inline constexpr int warp_lanes = 64;
using Lanes = u64;  // a bit for each

WF_DEVICE int thread() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
/// The same, read anew: compilers cannot compute ahead of a loop what depends on it.
WF_DEVICE int thread_anew() {
  int x = thread();
  asm volatile("" : "+v"(x));  // no instruction
  return x;
}
/// Keeps a compiler from putting off what gives `a`.
template <class Vector>
WF_DEVICE void compute_now(Vector& a) {
  asm volatile("" : "+v"(a));  // no instruction
}
WF_DEVICE int block() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }

/// Until all that this wave asked of LDS is done. (Part of a release; but clang 22 has left it out
/// in front of a barrier at the head of a loop, behind a store at its end.)
WF_DEVICE void wait_for_lds() {
  constexpr int lgkmcnt_0 = 0xc07f;
  __builtin_amdgcn_s_waitcnt(lgkmcnt_0);
}
WF_DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  wait_for_lds();
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
/// A barrier that orders LDS only: loads and stores of memory go on. Nothing moves across.
WF_DEVICE void shared_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_sched_barrier(0);
  wait_for_lds();
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_sched_barrier(0);
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
/// A compiler moves no instruction across.
WF_DEVICE void keep_order() { __builtin_amdgcn_sched_barrier(0); }
/// Of this wave, against others of its SIMD.
template <int priority>
WF_DEVICE void set_priority() {
  __builtin_amdgcn_s_setprio(priority);
}
/// The number of this wave, known to be the same in all lanes.
WF_DEVICE int wave_of_block() { return __builtin_amdgcn_readfirstlane(thread() / 64); }
/// The hardware has one barrier, for all threads of the workgroup.
template <int id, int threads>
WF_DEVICE void barrier() {
  static_assert(id == 0);
  barrier();
}
/// A wave's lanes go in step; what they stored to LDS is to be seen by each other.
WF_DEVICE void warp_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

/// The value of lane `lane` of the wave.
WF_DEVICE u32 shuffle(u32 a, int lane) {
  return static_cast<u32>(__builtin_amdgcn_ds_bpermute(lane << 2, static_cast<int>(a)));
}
WF_DEVICE float shuffle(float a, int lane) {
  return __builtin_bit_cast(float, shuffle(__builtin_bit_cast(u32, a), lane));
}

WF_DEVICE i64 shuffle(i64 a, int lane) {
  const u64 high = shuffle(static_cast<u32>(a >> 32), lane);
  return static_cast<i64>(high << 32 | shuffle(static_cast<u32>(a), lane));
}

/// Bit mode of ds_swizzle: within 32 lanes, the value of lane `lane ^ mask`.
template <int mask>
WF_DEVICE int swizzle_xor(int a) {
  return __builtin_amdgcn_ds_swizzle(a, mask << 10 | 0x1f);
}
/// The value of the lane of the same four whose number is in bits 2 l and 2 l + 1 of `lanes`.
template <int lanes>
WF_DEVICE int permute_quad(int a) {
  return __builtin_amdgcn_update_dpp(a, a, lanes, 0xf, 0xf, false);
}

/// The value of lane `lane ^ mask` of the wave; `mask` is a constant where it matters.
WF_DEVICE u32 shuffle_xor(u32 a, int mask) {
  const int bits = static_cast<int>(a);
  switch (mask) {
    case 1: return static_cast<u32>(permute_quad<0b10110001>(bits));
    case 2: return static_cast<u32>(permute_quad<0b01001110>(bits));
    case 4: return static_cast<u32>(swizzle_xor<4>(bits));
    case 8: return static_cast<u32>(swizzle_xor<8>(bits));
    case 16: return static_cast<u32>(swizzle_xor<16>(bits));
    default: return shuffle(a, (thread() & 63) ^ mask);
  }
}
WF_DEVICE float shuffle_xor(float a, int mask) {
  return __builtin_bit_cast(float, shuffle_xor(__builtin_bit_cast(u32, a), mask));
}
/// a + a of the lane that `control` (DPP) names, in the rows of sixteen lanes of `rows`.
template <int control, int rows = 0xf>
WF_DEVICE i32 add_moved(i32 a) {
  return a + __builtin_amdgcn_update_dpp(0, a, control, rows, 0xf, false);
}
/// The sum over the lanes up to this one.
WF_DEVICE i32 sum_to_lane(i32 a) {
  constexpr int row_shift = 0x110, last_of_row = 0x142, last_of_lower_half = 0x143;
  a = add_moved<row_shift + 1>(a);
  a = add_moved<row_shift + 2>(a);
  a = add_moved<row_shift + 4>(a);
  a = add_moved<row_shift + 8>(a);
  a = add_moved<last_of_row, 0b1010>(a);
  return add_moved<last_of_lower_half, 0b1100>(a);
}
/// Bit i: lane i of the wave has `condition`.
WF_DEVICE Lanes ballot(bool condition) { return __builtin_amdgcn_ballot_w64(condition); }
WF_DEVICE int count_bits(u64 a) { return __builtin_popcountll(a); }
/// The number of the highest bit that is set; -1 without any.
WF_DEVICE int last_bit(u64 a) { return a != 0 ? 63 - __builtin_clzll(a) : -1; }

WF_DEVICE float exp2(float a) { return __builtin_amdgcn_exp2f(a); }
WF_DEVICE float log2(float a) { return __builtin_amdgcn_logf(a); }
/// One instruction; a NaN only if both are.
WF_DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
WF_DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
WF_DEVICE float reciprocal(float a) { return __builtin_amdgcn_rcpf(a); }
WF_DEVICE float reciprocal_sqrt(float a) { return __builtin_amdgcn_rsqf(a); }

/// Rounded to nearest even; NaN stays NaN. gfx950 has an instruction for bf16.
template <DType dtype>
WF_DEVICE u16 round_to_16(float a) {
  if constexpr (dtype == DType::bf16) {
    const __bf16 rounded = static_cast<__bf16>(a);
    return __builtin_bit_cast(u16, rounded);
  } else {
    const _Float16 rounded = static_cast<_Float16>(a);
    return __builtin_bit_cast(u16, rounded);
  }
}
/// Two floats, `low` in the low half.
template <DType dtype>
WF_DEVICE u32 pack(float low, float high) {
  typedef float Float2 __attribute__((vector_size(8)));
  const Float2 both = {low, high};
  if constexpr (dtype == DType::bf16) {
    typedef __bf16 Bfloat2 __attribute__((vector_size(4)));
    return __builtin_bit_cast(u32, __builtin_convertvector(both, Bfloat2));
  } else {
    typedef _Float16 Half2 __attribute__((vector_size(4)));
    return __builtin_bit_cast(u32, __builtin_convertvector(both, Half2));
  }
}
/// Half `half` (0: low) of a pair of f16 or bf16.
template <DType dtype>
WF_DEVICE float unpack(u32 pair, int half) {
  if constexpr (dtype == DType::bf16) {
    return __builtin_bit_cast(float, half == 0 ? pair << 16 : pair & 0xffff0000u);
  } else {
    return static_cast<float>(
        __builtin_bit_cast(_Float16, static_cast<u16>(half == 0 ? pair : pair >> 16)));
  }
}

/// Element `index` of an array of `dtype`, as float32.
template <DType dtype>
WF_DEVICE float load_as(const void* p, int index) {
  if constexpr (dtype == DType::f32) {
    return static_cast<const float*>(p)[index];
  } else {
    return unpack<dtype>(static_cast<const u16*>(p)[index], 0);
  }
}
template <DType dtype>
WF_DEVICE void store_as(void* p, int index, float a) {
  if constexpr (dtype == DType::f32) {
    static_cast<float*>(p)[index] = a;
  } else {
    static_cast<u16*>(p)[index] = round_to_16<dtype>(a);
  }
}

/// Stores a vector to memory at any multiple of two bytes: the hardware does without alignment.
template <class Vector>
WF_DEVICE void store_anywhere(void* p, Vector a) {
  struct __attribute__((packed, aligned(2))) Anywhere {
    Vector a;
  };
  static_cast<Anywhere*>(p)->a = a;
}

// To LDS, which an address of its own kind names.
typedef __attribute__((address_space(3))) float* SharedFloats;

WF_DEVICE SharedFloats shared_address(float* p) { return (SharedFloats)p; }
WF_DEVICE void add_shared(u32* p, u32 a) {
  __hip_atomic_fetch_add(p, a, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}

/// If a is at least `bound`: sum += wide, and counts it.
WF_DEVICE void add_at_least(double& sum, i32& count, float a, double wide, float bound) {
  sum += a >= bound ? wide : 0.0;
  count += a >= bound ? 1 : 0;
}
WF_DEVICE void count_equal(i32& count, float a, float b) { count += a == b ? 1 : 0; }
/// Sets `bit` if a is between the two, neither of them.
template <u32 bit>
WF_DEVICE void mark_between(u32& marks, float a, float low, float high) {
  marks |= a > low && a < high ? bit : 0;
}
/// If `bit` is set: a goes to `to`, which moves on.
template <u32 bit>
WF_DEVICE void append_marked(SharedFloats& to, u32 marks, float a) {
  if ((marks & bit) != 0) *to++ = a;
}

/// There is no instruction for it.
WF_DEVICE void prefetch(const void*) {}

/// Sixteen aligned bytes.
WF_DEVICE void load_16(const void* p, u32* to) {
  const Chunk chunk = *static_cast<const Chunk*>(p);
  WF_UNROLL
  for (int i = 0; i < 4; ++i) to[i] = chunk[i];
}
/// `stream`: they leave the caches first.
template <bool stream>
WF_DEVICE void store_16(void* p, const u32* from) {
  const Chunk chunk = {from[0], from[1], from[2], from[3]};
  if constexpr (stream) {
    __builtin_nontemporal_store(chunk, static_cast<Chunk*>(p));
  } else {
    *static_cast<Chunk*>(p) = chunk;
  }
}

}  // namespace isa

WF_NAMESPACE_END
