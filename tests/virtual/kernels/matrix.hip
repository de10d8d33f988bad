// Matrix instructions: one wave, registers as in memory. `c` holds the accumulator's start.
#include "device.h"

template <class T, int N>
using Registers = __attribute__((__vector_size__(N * sizeof(T)))) T;

// The kernel is named like the instruction.
#define MATRIX(builtin, in_type, out_type)                                                         \
  GLOBAL_KERNEL THREADS(64) void builtin(const in_type* a, const in_type* b, const out_type* c,    \
                                         out_type* d) {                                            \
    d[thread()] = __builtin_amdgcn_mfma_##builtin(a[thread()], b[thread()], c[thread()], 0, 0, 0); \
  }

using Half4 = Registers<_Float16, 4>;
using Half8 = Registers<_Float16, 8>;
using Short4 = Registers<short, 4>;
using Bhalf8 = Registers<__bf16, 8>;
using Float2 = Registers<float, 2>;
using Float4 = Registers<float, 4>;
using Float16 = Registers<float, 16>;
using Float32 = Registers<float, 32>;
using Int4 = Registers<int, 4>;
using Int8 = Registers<int, 8>;
using Int16 = Registers<int, 16>;
using Double4 = Registers<double, 4>;

MATRIX(f32_32x32x8f16, Half4, Float16)
MATRIX(f32_16x16x16f16, Half4, Float4)
MATRIX(f32_32x32x4f16, Half4, Float32)
MATRIX(f32_16x16x4f16, Half4, Float16)
MATRIX(f32_4x4x4f16, Half4, Float4)
MATRIX(f32_32x32x8bf16_1k, Short4, Float16)
MATRIX(f32_16x16x16bf16_1k, Short4, Float4)
MATRIX(f32_32x32x4bf16_1k, Short4, Float32)
MATRIX(f32_16x16x4bf16_1k, Short4, Float16)
MATRIX(f32_4x4x4bf16_1k, Short4, Float4)
MATRIX(f32_32x32x2f32, float, Float16)
MATRIX(f32_16x16x4f32, float, Float4)
MATRIX(f32_32x32x1f32, float, Float32)
MATRIX(f32_16x16x1f32, float, Float16)
MATRIX(f32_4x4x1f32, float, Float4)
MATRIX(i32_32x32x16_i8, long, Int16)
MATRIX(i32_16x16x32_i8, long, Int4)
MATRIX(f32_16x16x32_fp8_fp8, long, Float4)
MATRIX(f32_16x16x32_fp8_bf8, long, Float4)
MATRIX(f32_16x16x32_bf8_fp8, long, Float4)
MATRIX(f32_16x16x32_bf8_bf8, long, Float4)
MATRIX(f32_32x32x16_fp8_fp8, long, Float16)
MATRIX(f32_32x32x16_bf8_bf8, long, Float16)
MATRIX(f64_16x16x4f64, double, Double4)

#ifdef __gfx942__
MATRIX(f32_16x16x8_xf32, Float2, Float4)
MATRIX(f32_32x32x4_xf32, Float2, Float16)
#endif

#ifdef __gfx950__
MATRIX(f32_16x16x32_f16, Half8, Float4)
MATRIX(f32_32x32x16_f16, Half8, Float16)
MATRIX(f32_16x16x32_bf16, Bhalf8, Float4)
MATRIX(f32_32x32x16_bf16, Bhalf8, Float16)
MATRIX(i32_16x16x64_i8, Int4, Int4)
MATRIX(i32_32x32x32_i8, Int4, Int16)

// Formats of the operands: 0 fp8, 1 bf8, 2 fp6, 3 bf6, 4 fp4.
#define SCALED(name, builtin, out_type, format_a, format_b)                                       \
  GLOBAL_KERNEL THREADS(64) void name(const Int8* a, const Int8* b, const out_type* c,            \
                                      out_type* d, const int* scale_a, const int* scale_b) {      \
    d[thread()] = __builtin_amdgcn_mfma_scale_##builtin(a[thread()], b[thread()], c[thread()],    \
                                                        format_a, format_b, 0, scale_a[thread()], \
                                                        0, scale_b[thread()]);                    \
  }
SCALED(scaled_16x16x128_fp8, f32_16x16x128_f8f6f4, Float4, 0, 0)
SCALED(scaled_16x16x128_bf8_fp4, f32_16x16x128_f8f6f4, Float4, 1, 4)
SCALED(scaled_16x16x128_fp6, f32_16x16x128_f8f6f4, Float4, 2, 2)
SCALED(scaled_16x16x128_bf6, f32_16x16x128_f8f6f4, Float4, 3, 3)
SCALED(scaled_16x16x128_fp4, f32_16x16x128_f8f6f4, Float4, 4, 4)
SCALED(scaled_32x32x64_fp8, f32_32x32x64_f8f6f4, Float16, 0, 0)
SCALED(scaled_32x32x64_fp4, f32_32x32x64_f8f6f4, Float16, 4, 4)
#endif

// The accumulator of one is an operand of the next, and a chain of several adds up: the compiler
// puts the waits in between.
GLOBAL_KERNEL THREADS(64) void chained(const Half4* a, const Half4* b, Float16* d, int count) {
  Float16 sum = {};
  for (int i = 0; i < count; ++i) {
    sum = __builtin_amdgcn_mfma_f32_32x32x8f16(a[i * 64 + thread()], b[i * 64 + thread()], sum, 0,
                                               0, 0);
  }
  d[thread()] = sum * 0.5f;
}

// Operands and accumulator in AGPRs.
GLOBAL_KERNEL THREADS(64) void in_agprs(const Short4* a, const Short4* b, Float16* d) {
  Float16 sum;
  Short4 x = a[thread()], y = b[thread()];
  asm volatile(
      "v_mfma_f32_32x32x8_bf16 %0, %1, %2, 0\n"
      "s_nop 15\n"
      "s_nop 3"
      : "=&a"(sum)
      : "a"(x), "a"(y));
  d[thread()] = sum;
}

GLOBAL_KERNEL THREADS(64) void agpr_moves(const Float4* in, Float4* out) {
  Float4 value;
  const Float4* from = in + thread();
  Float4* to = out + 63 - thread();
  asm volatile(
      "global_load_dwordx4 %0, %1, off\n"
      "s_waitcnt vmcnt(0)\n"
      "global_store_dwordx4 %2, %0, off\n"
      "s_waitcnt vmcnt(0)"
      : "=&a"(value)
      : "v"(from), "v"(to)
      : "memory");
}
