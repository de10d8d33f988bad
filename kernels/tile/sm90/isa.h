// One-instruction wrappers of sm_90a: mbarriers, bulk tensor copies, wgmma, register shares.
#pragma once

#include "tile/sm80/isa.h"

WF_NAMESPACE_BEGIN(tile)

namespace isa {

WF_DEVICE void barrier_init(u32 barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
WF_DEVICE void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
WF_DEVICE void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Waits until the phase of parity `parity` has ended.
WF_DEVICE void barrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra WAIT;\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
/// Shared memory written by ordinary stores becomes visible to wgmma and the copy engine.
WF_DEVICE void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
WF_DEVICE void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// A box of a four-dimensional tensor to shared memory; `map` is a CUtensorMap in parameter space.
WF_DEVICE void copy_tensor(u32 to, const void* map, u32 barrier, i32 c0, i32 c1, i32 c2, i32 c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

/// Four matrices of 8 x 8 words of 16 bits; lane i has the address of row i % 8 of matrix i / 8.
WF_DEVICE void store_matrix_x4(u32 address, const u32 (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

WF_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
WF_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending>
WF_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// Nothing that uses these registers moves across.
template <int n>
WF_DEVICE void fence_registers(float (&r)[n]) {
  WF_UNROLL
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(r[i])::"memory");
}

// One wgmma; the operands are numbered behind the 32 or 64 registers of the sum.
#define WF_WGMMA(shape, type, sum, left, right, keep, transposes)                      \
  "{\n.reg .pred p;\nsetp.ne.b32 p, " keep ", 0;\nwgmma.mma_async.sync.aligned." shape \
  ".f32." type "." type " " sum ", " left ", " right ", p, 1, 1, " transposes ";\n}"
#define WF_SUM_32                                                                               \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define WF_SUM_64                                                                               \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "  \
  "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "  \
  "%56, %57, %58, %59, %60, %61, %62, %63}"
#define WF_IN_OUT_8(d, i)                                                                     \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define WF_IN_OUT_32(d, i) \
  WF_IN_OUT_8(d, i), WF_IN_OUT_8(d, i + 8), WF_IN_OUT_8(d, i + 16), WF_IN_OUT_8(d, i + 24)
#define WF_FROM_REGISTERS(a, b, keep) \
  "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<u32>(keep))

/// d (+)= a b for 64 x n x 16: `a` in registers, `b` described by a shared memory descriptor and
/// stored with its columns contiguous. `keep`: d is added to.
template <DType dtype, int n>
WF_DEVICE void wgmma_ab(float* d, const u32 (&a)[4], u64 b, bool keep) {
  static_assert(n == 64 || n == 128);
  if constexpr (n == 64 && dtype == DType::bf16) {
    asm volatile(WF_WGMMA("m64n64k16", "bf16", WF_SUM_32, "{%32, %33, %34, %35}", "%36", "%37", "1")
                 : WF_IN_OUT_32(d, 0)
                 : WF_FROM_REGISTERS(a, b, keep));
  } else if constexpr (n == 64) {
    asm volatile(WF_WGMMA("m64n64k16", "f16", WF_SUM_32, "{%32, %33, %34, %35}", "%36", "%37", "1")
                 : WF_IN_OUT_32(d, 0)
                 : WF_FROM_REGISTERS(a, b, keep));
  } else if constexpr (dtype == DType::bf16) {
    asm volatile(
        WF_WGMMA("m64n128k16", "bf16", WF_SUM_64, "{%64, %65, %66, %67}", "%68", "%69", "1")
        : WF_IN_OUT_32(d, 0), WF_IN_OUT_32(d, 32)
        : WF_FROM_REGISTERS(a, b, keep));
  } else {
    asm volatile(WF_WGMMA("m64n128k16", "f16", WF_SUM_64, "{%64, %65, %66, %67}", "%68", "%69", "1")
                 : WF_IN_OUT_32(d, 0), WF_IN_OUT_32(d, 32)
                 : WF_FROM_REGISTERS(a, b, keep));
  }
}

/// d (+)= a b^T, both in shared memory, contiguous along the sum.
template <DType dtype, int n>
WF_DEVICE void wgmma_abt(float* d, u64 a, u64 b, bool keep) {
  static_assert(n == 64 || n == 128);
  const u32 kept = keep;
  if constexpr (n == 64 && dtype == DType::bf16) {
    asm volatile(WF_WGMMA("m64n64k16", "bf16", WF_SUM_32, "%32", "%33", "%34", "0, 0")
                 : WF_IN_OUT_32(d, 0)
                 : "l"(a), "l"(b), "r"(kept));
  } else if constexpr (n == 64) {
    asm volatile(WF_WGMMA("m64n64k16", "f16", WF_SUM_32, "%32", "%33", "%34", "0, 0")
                 : WF_IN_OUT_32(d, 0)
                 : "l"(a), "l"(b), "r"(kept));
  } else if constexpr (dtype == DType::bf16) {
    asm volatile(WF_WGMMA("m64n128k16", "bf16", WF_SUM_64, "%64", "%65", "%66", "0, 0")
                 : WF_IN_OUT_32(d, 0), WF_IN_OUT_32(d, 32)
                 : "l"(a), "l"(b), "r"(kept));
  } else {
    asm volatile(WF_WGMMA("m64n128k16", "f16", WF_SUM_64, "%64", "%65", "%66", "0, 0")
                 : WF_IN_OUT_32(d, 0), WF_IN_OUT_32(d, 32)
                 : "l"(a), "l"(b), "r"(kept));
  }
}

#undef WF_WGMMA
#undef WF_SUM_32
#undef WF_SUM_64
#undef WF_IN_OUT_8
#undef WF_IN_OUT_32
#undef WF_FROM_REGISTERS

/// A warpgroup takes registers up to `n` a thread, or gives those above back.
template <int n>
WF_DEVICE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n));
}
template <int n>
WF_DEVICE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n));
}

/// A barrier of one of several groups of threads, each with a number of its own.
template <int threads>
WF_DEVICE void barrier_of(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(threads) : "memory");
}
/// Takes part without waiting.
template <int threads>
WF_DEVICE void barrier_arrive_of(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(threads) : "memory");
}

}  // namespace isa

WF_NAMESPACE_END
