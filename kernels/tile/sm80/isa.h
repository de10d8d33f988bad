// One-instruction wrappers of sm_80 and later. Nothing else in the project holds inline PTX for it.
#pragma once

#include "tile/element.h"
#include "tile/float8.h"
#include "tile/several.h"
#include "wavefire/dtype.h"

WF_NAMESPACE_BEGIN(tile)

namespace isa {

inline constexpr int warp_lanes = 32;
using Lanes = u32;  // a bit for each

WF_DEVICE u32 shared_address(const void* p) {
  return static_cast<u32>(__cvta_generic_to_shared(p));
}

WF_DEVICE int thread() {
  int x;
  asm("mov.u32 %0, %%tid.x;" : "=r"(x));
  return x;
}
/// The same, read anew: compilers cannot compute ahead of a loop what depends on it.
WF_DEVICE int thread_anew() {
  int x;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
  __builtin_assume(x >= 0);  // else divisions by powers of two take several instructions
  return x;
}
WF_DEVICE int block() {
  int x;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(x));
  return x;
}

WF_DEVICE float shuffle_xor(float a, int mask) {
  float r;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(r) : "f"(a), "r"(mask));
  return r;
}

/// The word of lane (own ^ mask), and of lane `lane` of the warp.
WF_DEVICE u32 shuffle_xor(u32 a, int mask) {
  u32 r;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(a), "r"(mask));
  return r;
}
WF_DEVICE u32 shuffle(u32 a, int lane) {
  u32 r;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(a), "r"(lane));
  return r;
}

/// `a` of lane `lane` of the warp.
WF_DEVICE i64 shuffle(i64 a, int lane) {
  u32 low, high;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;"
               : "=r"(low)
               : "r"(static_cast<u32>(a)), "r"(lane));
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;"
               : "=r"(high)
               : "r"(static_cast<u32>(a >> 32)), "r"(lane));
  return static_cast<i64>(static_cast<u64>(high) << 32 | low);
}
WF_DEVICE float shuffle(float a, int lane) {
  float r;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(r) : "f"(a), "r"(lane));
  return r;
}
/// Bit i: lane i of the warp has `condition`.
WF_DEVICE u32 ballot(bool condition) {
  u32 r;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %1, 0;\n"
      "vote.sync.ballot.b32 %0, p, 0xffffffff;\n"
      "}\n"
      : "=r"(r)
      : "r"(static_cast<u32>(condition)));
  return r;
}
WF_DEVICE int count_bits(u32 a) {
  int r;
  asm("popc.b32 %0, %1;" : "=r"(r) : "r"(a));
  return r;
}
/// The number of the highest bit that is set; -1 without any.
WF_DEVICE int last_bit(u32 a) {
  int r;
  asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(a));
  return r;
}
WF_DEVICE void warp_barrier() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

template <int id, int threads>
WF_DEVICE void barrier() {
  asm volatile("barrier.sync %0, %1;" ::"n"(id), "n"(threads) : "memory");
}
/// A barrier that tells every thread whether any of them had `condition`.
template <int id, int threads>
WF_DEVICE bool barrier_any(bool condition) {
  u32 result;
  asm volatile(
      "{\n"
      ".reg .pred p, q;\n"
      "setp.ne.u32 p, %3, 0;\n"
      "barrier.red.or.pred q, %1, %2, p;\n"
      "selp.u32 %0, 1, 0, q;\n"
      "}\n"
      : "=r"(result)
      : "n"(id), "n"(threads), "r"(static_cast<u32>(condition))
      : "memory");
  return result != 0;
}

/// To a number in shared memory.
WF_DEVICE void add_shared(u32* p, u32 a) {
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(shared_address(p)), "r"(a) : "memory");
}

// Instructions under a condition, which compilers would turn into branches or selections.

/// If a is at least `bound`: sum += wide, and counts it.
WF_DEVICE void add_at_least(double& sum, i32& count, float a, double wide, float bound) {
  asm("{\n"
      ".reg .pred p;\n"
      "setp.ge.f32 p, %2, %4;\n"
      "@p add.f64 %0, %0, %3;\n"
      "@p add.s32 %1, %1, 1;\n"
      "}\n"
      : "+d"(sum), "+r"(count)
      : "f"(a), "d"(wide), "f"(bound));
}
WF_DEVICE void count_equal(i32& count, float a, float b) {
  asm("{\n"
      ".reg .pred p;\n"
      "setp.eq.f32 p, %1, %2;\n"
      "@p add.s32 %0, %0, 1;\n"
      "}\n"
      : "+r"(count)
      : "f"(a), "f"(b));
}
/// Sets `bit` if a is between the two, neither of them.
template <u32 bit>
WF_DEVICE void mark_between(u32& marks, float a, float low, float high) {
  asm("{\n"
      ".reg .pred p;\n"
      "setp.gt.f32 p, %1, %2;\n"
      "setp.lt.and.f32 p, %1, %3, p;\n"
      "@p or.b32 %0, %0, %4;\n"
      "}\n"
      : "+r"(marks)
      : "f"(a), "f"(low), "f"(high), "n"(bit));
}
/// If `bit` is set: a goes to `address` in shared memory, which moves on.
template <u32 bit>
WF_DEVICE void append_marked(u32& address, u32 marks, float a) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      ".reg .u32 r;\n"
      "and.b32 r, %1, %3;\n"
      "setp.ne.u32 p, r, 0;\n"
      "@p st.shared.f32 [%0], %2;\n"
      "@p add.u32 %0, %0, 4;\n"
      "}\n"
      : "+r"(address)
      : "r"(marks), "f"(a), "n"(bit)
      : "memory");
}
/// a += a of the lane `distance` below, if there is one.
template <int distance>
WF_DEVICE void add_lower_lane(i32& a) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      ".reg .u32 r;\n"
      "shfl.sync.up.b32 r|p, %0, %1, 0, 0xffffffff;\n"
      "@p add.s32 %0, %0, r;\n"
      "}\n"
      : "+r"(a)
      : "n"(distance));
}

/// The sum over the lanes up to this one.
WF_DEVICE i32 sum_to_lane(i32 a) {
  add_lower_lane<1>(a);
  add_lower_lane<2>(a);
  add_lower_lane<4>(a);
  add_lower_lane<8>(a);
  add_lower_lane<16>(a);
  return a;
}

WF_DEVICE void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
WF_DEVICE i32 add_device(i32* p, i32 a) {
  i32 r;
  asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], %2;"
               : "=r"(r)
               : "l"(p), "r"(a)
               : "memory");
  return r;
}
/// Reads past the L1, which is not coherent.
WF_DEVICE float load_coherent(const float* p) {
  float r;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(r) : "l"(p) : "memory");
  return r;
}

WF_DEVICE Floats<4> load_coherent_4(const float* p) {
  Floats<4> r;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(r.e[0]), "=f"(r.e[1]), "=f"(r.e[2]), "=f"(r.e[3])
               : "l"(p)
               : "memory");
  return r;
}

/// Into the L2.
WF_DEVICE void prefetch(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

/// Sixteen bytes from global to shared memory, asynchronously; zeros unless `valid`.
WF_DEVICE void copy_async_16(u32 to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(valid ? 16 : 0)
               : "memory");
}
/// Eight, of which the first `bytes` are there and the others become zero.
WF_DEVICE void copy_async_8(u32 to, const void* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}
WF_DEVICE void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
WF_DEVICE void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

WF_DEVICE void load_matrix_x4(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
WF_DEVICE void load_matrix_x4_transposed(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

/// d += a b, 16 x 8 x 16.
template <DType dtype>
WF_DEVICE void mma_16x8x16(float* d, const u32 (&a)[4], u32 b0, u32 b1) {
  if constexpr (dtype == DType::bf16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// Two floats rounded to nearest even, `low` in the low half.
template <DType dtype>
WF_DEVICE u32 pack(float low, float high) {
  u32 r;
  if constexpr (dtype == DType::bf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  }
  return r;
}

/// Half `half` (0: low) of a pair of f16 or bf16.
template <DType dtype>
WF_DEVICE float unpack(u32 pair, int half) {
  if constexpr (dtype == DType::bf16) {
    return __builtin_bit_cast(float, half == 0 ? pair << 16 : pair & 0xffff0000u);
  } else {
    const u16 bits = static_cast<u16>(half == 0 ? pair : pair >> 16);
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(bits));
    return r;
  }
}

/// `a` as it is after a round trip through `dtype`, f16 or bf16.
template <DType dtype>
WF_DEVICE float round_to(float a) {
  return unpack<dtype>(pack<dtype>(0.f, a), 1);
}

/// Bytes of `a` by the four digits of `selector`.
template <u32 selector>
WF_DEVICE u32 permute(u32 a) {
  u32 r;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(r) : "r"(a), "n"(selector));
  return r;
}

/// Two float8 numbers as a pair of float16. Exact.
template <DType dtype>
WF_DEVICE u32 widen_pair(u16 bytes) {
  if constexpr (dtype == DType::e5m2) return permute<0x1404>(bytes);  // the upper half of float16
  if constexpr (dtype == DType::e4m3fn) {
    u32 r;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(bytes));
#else
    // Exponents differ by 8: numbers, subnormal ones too, by a factor. NaN becomes 480 by that.
    const u32 halves = permute<0x4140>(bytes);
    const u32 magnitude = halves & 0x007f007fu;
    const u32 is_nan = (magnitude + 0x00010001u) & 0x00800080u;
    constexpr u32 two_to_8 = 0x5c005c00u;
    asm("mul.rn.f16x2 %0, %1, %2;"
        : "=r"(r)
        : "r"(magnitude << 7 | (halves & 0x00800080u) << 8), "r"(two_to_8));
    r |= is_nan * 0xf8u;
#endif
    return r;
  }
  const i32 low = bytes & 0xff, high = bytes >> 8;
  return pack<DType::f16>(decode_float8<float, dtype>(low), decode_float8<float, dtype>(high));
}

/// Four float8 numbers as two pairs of float16.
template <DType dtype>
WF_DEVICE void widen(u32 bytes, u32 (&pair)[2]) {
  u16 low, high;  // not shifted: instructions take either half of a register
  asm("mov.b32 {%0, %1}, %2;" : "=h"(low), "=h"(high) : "r"(bytes));
  pair[0] = widen_pair<dtype>(low);
  pair[1] = widen_pair<dtype>(high);
}

/// Element `index` of an array of `dtype`, as float32.
template <DType dtype>
WF_DEVICE float load_as(const void* p, int index) {
  if constexpr (dtype == DType::f32) return static_cast<const float*>(p)[index];
  return unpack<dtype == DType::f32 ? DType::f16 : dtype>(static_cast<const u16*>(p)[index], 0);
}
template <DType dtype>
WF_DEVICE void store_as(void* p, int index, float a) {
  if constexpr (dtype == DType::f32) {
    static_cast<float*>(p)[index] = a;
  } else {
    static_cast<u16*>(p)[index] = static_cast<u16>(pack<dtype>(a, 0.f));
  }
}

/// Sixteen aligned bytes.
WF_DEVICE void load_16(const void* p, u32* to) {
  const Words words = *static_cast<const Words*>(p);
  WF_UNROLL
  for (int i = 0; i < 4; ++i) to[i] = words.word[i];
}
/// `stream`: they leave the caches first.
template <bool stream>
WF_DEVICE void store_16(void* p, const u32* from) {
  if constexpr (stream) {
    asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(from[0]), "r"(from[1]),
                 "r"(from[2]), "r"(from[3])
                 : "memory");
  } else {
    *static_cast<Words*>(p) = Words{from[0], from[1], from[2], from[3]};
  }
}

WF_DEVICE float exp2(float a) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
/// One instruction; a NaN only if both are.
WF_DEVICE float max(float a, float b) {
  float r;
  asm("max.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
WF_DEVICE float min(float a, float b) {
  float r;
  asm("min.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
WF_DEVICE float reciprocal(float a) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
WF_DEVICE float reciprocal_sqrt(float a) {
  float r;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
WF_DEVICE float log2(float a) {
  float r;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}

}  // namespace isa

WF_NAMESPACE_END
