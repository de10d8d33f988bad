// What every kernel header needs to know about the compiler that reads it. Freestanding.
//
// WAVEFIRE_TARGET names the machine a translation unit is compiled for (scalar, avx2, avx512, sm80,
// sm90, gfx942, ...). Everything in kernels/ that has code lives in an inline namespace of that
// name, so that two units with different instruction sets never share a function:
//
//   WF_NAMESPACE_BEGIN(attention)   // namespace wavefire::attention { inline namespace avx2 {
//   WF_NAMESPACE_END
//
// Plain structs (problem.h, params.h) stand outside of it and are the same type everywhere. Host
// units that include the planner's core leave WAVEFIRE_TARGET undefined and get `host`.
#pragma once

#ifndef WAVEFIRE_TARGET
#define WAVEFIRE_TARGET host
#endif

#define WF_NAMESPACE_BEGIN(name) \
  namespace wavefire::name {     \
  inline namespace WAVEFIRE_TARGET {
#define WF_NAMESPACE_END \
  }                      \
  }

// WF_DEVICE: a function that runs on the target. WF_BOTH: the same, and on the host too.
#if defined(__CUDACC__) || defined(__HIP__)
#define WF_DEVICE __attribute__((device)) __attribute__((always_inline)) inline
#define WF_BOTH __attribute__((host)) __attribute__((device)) inline
#define WF_GLOBAL __attribute__((global))
#define WF_SHARED __attribute__((shared))
#else
#define WF_DEVICE __attribute__((always_inline)) inline
#define WF_BOTH inline
#endif

#ifdef __CUDACC_RTC__
// NVRTC has these under their C names only.
#define __builtin_fmaf ::fmaf
#define __builtin_fabsf ::fabsf
#define __builtin_sqrtf ::sqrtf
#define __builtin_rintf ::rintf
#endif

// Loops over the elements of a register fragment must unroll on GPUs, and must not on CPUs, where a
// fragment is memory.
#if defined(__CUDACC__) || defined(__HIP__)
#define WF_UNROLL _Pragma("unroll")
#define WF_NO_UNROLL _Pragma("unroll 1")  // where the registers are needed otherwise
#else
#define WF_UNROLL
#define WF_NO_UNROLL
#endif

namespace wavefire {

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

static_assert(sizeof(i32) == 4 && sizeof(i64) == 8 && sizeof(void*) == 8);

}  // namespace wavefire
