// What HIP's headers would provide: the kernels of these tests are compiled without ROCm.
#pragma once

#define GLOBAL_KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define CONSTANT __attribute__((constant))
#define SHARED __attribute__((shared))
// Sizes of blocks that a kernel is compiled for.
#define THREADS(n) __attribute__((amdgpu_flat_work_group_size(n, n)))

template <class T, int N>
using Vector [[clang::ext_vector_type(N)]] = T;

using uint = unsigned;
using uchar = unsigned char;
using ushort = unsigned short;
using ulong = unsigned long;
using int4 = Vector<int, 4>;
using uint2 = Vector<uint, 2>;
using uint4 = Vector<uint, 4>;
using float2 = Vector<float, 2>;
using float4 = Vector<float, 4>;
using float16 = Vector<float, 16>;
using half2 = Vector<_Float16, 2>;
using half4 = Vector<_Float16, 4>;
using half8 = Vector<_Float16, 8>;
using short2 = Vector<short, 2>;
using short4 = Vector<short, 4>;
using bhalf2 = Vector<__bf16, 2>;
using bhalf4 = Vector<__bf16, 4>;
using bhalf8 = Vector<__bf16, 8>;
using int8 = Vector<int, 8>;

DEVICE inline uint thread() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE inline uint group() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE inline uint lane() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

DEVICE inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#define LDS __attribute__((address_space(3)))
#define GLOBAL __attribute__((address_space(1)))

template <class T>
DEVICE inline LDS void* lds(T* pointer) {
  return (LDS void*)pointer;
}
template <class T>
DEVICE inline GLOBAL void* global(T* pointer) {
  return (GLOBAL void*)pointer;
}

// Of raw buffers: 32-bit data format, no swizzle.
DEVICE inline __amdgpu_buffer_rsrc_t buffer(const void* base, int bytes) {
  return __builtin_amdgcn_make_buffer_rsrc((void*)base, 0, bytes, 0x00020000);
}

template <class To, class From>
DEVICE inline To bits(From value) {
  return __builtin_bit_cast(To, value);
}
