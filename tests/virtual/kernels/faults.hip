// Kernels with a fault each, and beside some of them the same without it. The line of a fault
// carries the comment FAULT: reports have to name it.
#include "device.h"

// --- Memory
// ---------------------------------------------------------------------------------------

GLOBAL_KERNEL THREADS(64) void load_beyond_end(const int* in, int* out) {
  out[thread()] = in[thread() + 1];  // FAULT
}

GLOBAL_KERNEL THREADS(64) void store_before_start(const int* in, int* out) {
  const int value = in[thread()];
  (out - 1)[thread()] = value;  // FAULT
}

GLOBAL_KERNEL THREADS(64) void store_to_constant(const int* in, int* out) {
  out[thread()] = in[thread()];  // FAULT
}

GLOBAL_KERNEL THREADS(64) void scalar_load_beyond_end(const int* in, int* out, int at) {
  out[thread()] = in[at];  // FAULT
}

GLOBAL_KERNEL THREADS(64) void atomic_beyond_end(int* out, int at) {
  __hip_atomic_fetch_add(out + at, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  // FAULT
}

// The descriptor covers more than there is.
GLOBAL_KERNEL THREADS(64) void buffer_beyond_allocation(const int* in, int* out, int bytes) {
  out[thread()] =
      __builtin_amdgcn_raw_buffer_load_b32(buffer(in, bytes), thread() * 8, 0, 0);  // FAULT
}

GLOBAL_KERNEL THREADS(64) void lds_beyond_end(const int* in, int* out, int at) {
  SHARED int tile[64];
  tile[thread()] = in[thread()];
  barrier();
  out[thread()] = tile[thread() + at];  // FAULT
}

GLOBAL_KERNEL THREADS(64) void dma_beyond_end(const int* in, int* out) {
  SHARED int tile[64];
  __builtin_amdgcn_global_load_lds(global(in + thread() * 2), lds(tile), 4, 0, 0);  // FAULT
  __builtin_amdgcn_s_waitcnt(0);
  barrier();
  out[thread()] = tile[thread()];
}

// --- Races in LDS
// ---------------------------------------------------------------------------------

GLOBAL_KERNEL THREADS(128) void race_write_read(const int* in, int* out) {
  SHARED int tile[128];
  tile[thread()] = 0;
  barrier();
  tile[thread()] = in[thread()];         // FAULT: no barrier; here, if the other wave was first
  out[thread()] = tile[127 - thread()];  // FAULT
}

GLOBAL_KERNEL THREADS(128) void race_write_write(const int* in, int* out) {
  SHARED int tile[64];
  tile[thread() % 64] = in[thread()];  // FAULT: both waves
  barrier();
  out[thread()] = tile[thread() % 64];
}

// The tile is filled again while the other wave may still read it.
GLOBAL_KERNEL THREADS(128) void race_read_write(const int* in, int* out) {
  SHARED int tile[128];
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    tile[thread()] = in[thread()] + i;  // FAULT: no barrier at the end of the loop
    barrier();
    sum += tile[127 - thread()];  // FAULT: or here, if the other wave was first
  }
  out[thread()] = sum;
}

GLOBAL_KERNEL THREADS(128) void no_race(const int* in, int* out) {
  SHARED int tile[128];
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    tile[thread()] = in[thread()] + i;
    barrier();
    sum += tile[127 - thread()];
    barrier();
  }
  out[thread()] = sum;
}

// --- Values that nothing wrote
// --------------------------------------------------------------------

GLOBAL_KERNEL THREADS(64) void undefined_lds(int* out) {
  SHARED int tile[64];
  if (thread() < 32) tile[thread()] = thread();
  barrier();
  out[thread()] = tile[thread()];  // FAULT: in the upper lanes
}

GLOBAL_KERNEL THREADS(64) void undefined_memory(const int* in, int* out) {
  out[thread()] = in[thread()] + 1;  // FAULT: if `in` was not filled
}

GLOBAL_KERNEL THREADS(64) void undefined_branch(const int* in, int* out) {
  int steps = 0;
#pragma clang loop unroll(disable)
  for (uint left = in [thread()]; left; left /= 3) {  // FAULT: if `in` was not filled
    ++steps;
  }
  out[thread()] = steps;
}

GLOBAL_KERNEL THREADS(64) void undefined_address(const int* where, int* out) {
  out[where[thread()] & 63] = 1;  // FAULT: if `where` was not filled
}

GLOBAL_KERNEL THREADS(64) void undefined_register(int* out) {
  int value;
  asm volatile("v_add_u32 %0, 1, v77" : "=v"(value)::"v77");
  out[thread()] = value;  // FAULT: nothing wrote v77
}

// Undefined values that decide nothing are fine: masked away, or in lanes that are not stored.
GLOBAL_KERNEL THREADS(64) void undefined_but_unused(const int* in, int* out) {
  int value = in[thread()];
  asm volatile("v_and_b32 %0, 0, %0" : "+v"(value));
  out[thread()] = value;
  int sum = in[64 + thread()] * 3;
  asm volatile("" : "+v"(sum));
  if (thread() < 16) out[thread()] = sum;
}

// --- Waits
// ----------------------------------------------------------------------------------------

GLOBAL_KERNEL THREADS(64) void load_not_waited_for(const int* in, int* out) {
  int value;
  const int* from = in + thread();
  asm volatile("global_load_dword %0, %1, off" : "=v"(value) : "v"(from) : "memory");
  asm volatile("v_add_u32 %0, 1, %0" : "+v"(value));  // FAULT
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  out[thread()] = value;
}

GLOBAL_KERNEL THREADS(64) void load_waited_for(const int* in, int* out) {
  int value;
  const int* from = in + thread();
  asm volatile("global_load_dword %0, %1, off\ns_waitcnt vmcnt(0)"
               : "=v"(value)
               : "v"(from)
               : "memory");
  asm volatile("v_add_u32 %0, 1, %0" : "+v"(value));
  out[thread()] = value;
}

GLOBAL_KERNEL THREADS(64) void scalar_not_waited_for(const int* in, int* out) {
  int value;
  asm volatile(
      "s_load_dword %0, %1, 0x0\n"
      "s_add_u32 %0, %0, 1\n"  // FAULT: reported on the line of the asm statement
      "s_waitcnt lgkmcnt(0)"
      : "=&s"(value)
      : "s"(in)
      : "memory");
  out[thread()] = value;
}

GLOBAL_KERNEL THREADS(64) void lds_not_waited_for(const int* in, int* out) {
  SHARED int tile[64];
  tile[thread()] = in[thread()];
  barrier();
  int value;
  const uint at = (uint)(unsigned long)lds(tile + (thread() ^ 1));
  asm volatile("ds_read_b32 %0, %1" : "=v"(value) : "v"(at) : "memory");
  asm volatile("v_add_u32 %0, 1, %0" : "+v"(value));  // FAULT
  asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
  out[thread()] = value;
}

GLOBAL_KERNEL THREADS(64) void dma_not_waited_for(const int* in, int* out) {
  SHARED int tile[64];
  const uint at = (uint)(unsigned long)lds(tile);
  const int* from = in + thread();
  int value;
  const uint mine = at + thread() * 4;
  asm volatile(
      "s_mov_b32 m0, %1\n"
      "s_nop 0\n"
      "global_load_lds_dword %2, off\n"
      "ds_read_b32 %0, %3\n"  // FAULT: reported on the line of the asm statement
      "s_waitcnt vmcnt(0) lgkmcnt(0)"
      : "=&v"(value)
      : "s"(at), "v"(from), "v"(mine)
      : "memory");
  out[thread()] = value;
}

// --- Wait states
// ----------------------------------------------------------------------------------

using Half4 = __attribute__((__vector_size__(8))) _Float16;
using Float4 = __attribute__((__vector_size__(16))) float;

// The compiler does not know that the assembly needs wait states after it.
GLOBAL_KERNEL THREADS(64) void matrix_read_too_soon(const Half4* a, const Half4* b, Float4* out) {
  Float4 sum;
  Half4 x = a[thread()], y = b[thread()];
  asm volatile("v_mfma_f32_16x16x16_f16 %0, %1, %2, 0" : "=&v"(sum) : "v"(x), "v"(y));
  out[thread()] = sum * 2.0f;  // FAULT
}

GLOBAL_KERNEL THREADS(64) void matrix_read_in_time(const Half4* a, const Half4* b, Float4* out) {
  Float4 sum;
  Half4 x = a[thread()], y = b[thread()];
  asm volatile("v_mfma_f32_16x16x16_f16 %0, %1, %2, 0\ns_nop 9" : "=&v"(sum) : "v"(x), "v"(y));
  out[thread()] = sum * 2.0f;
}

GLOBAL_KERNEL THREADS(64) void dpp_too_soon(const int* in, int* out) {
  int value = in[thread()], moved = 0;
  asm volatile(
      "v_add_u32 %0, 1, %0\n"
      "v_mov_b32_dpp %1, %0 row_shr:1 row_mask:0xf bank_mask:0xf"  // FAULT: two wait states
      : "+v"(value), "+v"(moved));
  out[thread()] = moved;
}

GLOBAL_KERNEL THREADS(64) void dpp_in_time(const int* in, int* out) {
  int value = in[thread()], moved = 0;
  asm volatile(
      "v_add_u32 %0, 1, %0\n"
      "s_nop 1\n"
      "v_mov_b32_dpp %1, %0 row_shr:1 row_mask:0xf bank_mask:0xf"
      : "+v"(value), "+v"(moved));
  out[thread()] = moved;
}

GLOBAL_KERNEL THREADS(64) void lane_select_too_soon(const int* in, int* out) {
  int value = in[thread()], which, result;
  asm volatile(
      "v_readfirstlane_b32 %1, %2\n"
      "s_nop 0\n"
      "v_readlane_b32 %0, %2, %1"  // FAULT: four wait states
      : "=&s"(result), "=&s"(which)
      : "v"(value & 63));
  out[thread()] = result;
}

// --- Barriers
// -------------------------------------------------------------------------------------

GLOBAL_KERNEL THREADS(128) void barrier_in_one_wave(const int* in, int* out) {
  int value = in[thread()];
  if (thread() < 64) {
    barrier();  // FAULT: the other wave ends without it
    value += 1;
  }
  out[thread()] = value;
}

GLOBAL_KERNEL THREADS(64) void never_ends(const int* in, int* out) {
  while (__hip_atomic_load(in, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) {  // FAULT
    __builtin_amdgcn_s_sleep(1);
  }
  out[thread()] = 1;
}

// --- Unknown code
// ---------------------------------------------------------------------------------

GLOBAL_KERNEL THREADS(64) void no_instruction(int* out) {
  asm volatile(".long 0xffffffff");  // FAULT
  out[thread()] = 1;
}
