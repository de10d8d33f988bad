// Buffers with their bounds, LDS, loads that go straight to LDS, scratch, variables, atomics.
#include "device.h"

using uint3 = Vector<uint, 3>;

// Lanes beyond the end of a buffer read zero ...
#define BUFFER_LOAD(name, type, builtin)                                            \
  GLOBAL_KERNEL THREADS(64) void name(const type* in, type* out, int bytes) {       \
    out[thread()] = builtin(buffer(in, bytes), thread() * int(sizeof(type)), 0, 0); \
  }
BUFFER_LOAD(buffer_load_b8, uchar, __builtin_amdgcn_raw_buffer_load_b8)
BUFFER_LOAD(buffer_load_b16, ushort, __builtin_amdgcn_raw_buffer_load_b16)
BUFFER_LOAD(buffer_load_b32, uint, __builtin_amdgcn_raw_buffer_load_b32)
BUFFER_LOAD(buffer_load_b64, uint2, __builtin_amdgcn_raw_buffer_load_b64)
BUFFER_LOAD(buffer_load_b128, uint4, __builtin_amdgcn_raw_buffer_load_b128)

// ... and what they store is dropped.
#define BUFFER_STORE(name, type, builtin)                                          \
  GLOBAL_KERNEL THREADS(64) void name(const type* in, type* out, int bytes) {      \
    builtin(in[thread()], buffer(out, bytes), thread() * int(sizeof(type)), 0, 0); \
  }
BUFFER_STORE(buffer_store_b8, uchar, __builtin_amdgcn_raw_buffer_store_b8)
BUFFER_STORE(buffer_store_b16, ushort, __builtin_amdgcn_raw_buffer_store_b16)
BUFFER_STORE(buffer_store_b32, uint, __builtin_amdgcn_raw_buffer_store_b32)
BUFFER_STORE(buffer_store_b64, uint2, __builtin_amdgcn_raw_buffer_store_b64)
BUFFER_STORE(buffer_store_b128, uint4, __builtin_amdgcn_raw_buffer_store_b128)

GLOBAL_KERNEL THREADS(64) void buffer_b96(const uint* in, uint* out, int bytes) {
  const uint3 value = __builtin_amdgcn_raw_buffer_load_b96(buffer(in, bytes), thread() * 12, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b96(value, buffer(out, 64 * 12 - 8), thread() * 12, 0, 0);
}

// The sum of an offset in a VGPR, one in an SGPR, and one in the instruction.
GLOBAL_KERNEL THREADS(64) void buffer_offsets(const uint* in, uint* out, int bytes, int scalar) {
  const auto source = buffer(in, bytes);
  out[thread()] = __builtin_amdgcn_raw_buffer_load_b32(source, thread() * 4, scalar, 0);
  out[64 + thread()] = __builtin_amdgcn_raw_buffer_load_b32(source, thread() * 4 + 256, scalar, 0);
}

GLOBAL_KERNEL THREADS(256) void dma_to_lds(const uint* in, uint* out) {
  SHARED uint tile[256];
  uint* const wave_tile = tile + thread() / 64 * 64;
  __builtin_amdgcn_global_load_lds(global(in + thread()), lds(wave_tile), 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  barrier();
  out[thread()] = tile[255 - thread()];
}

// Each lane fetches what a swizzled tile holds at its place.
GLOBAL_KERNEL THREADS(256) void dma_swizzled(const uint* in, uint* out) {
  SHARED uint tile[256];
  uint* const wave_tile = tile + thread() / 64 * 64;
  __builtin_amdgcn_global_load_lds(global(in + (thread() ^ 21)), lds(wave_tile), 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  barrier();
  out[thread()] = tile[thread() ^ 21];
}

GLOBAL_KERNEL THREADS(256) void dma_from_buffer(const uint* in, uint* out, int bytes) {
  SHARED uint tile[256];
  tile[thread()] = 77;
  barrier();
  uint* const wave_tile = tile + thread() / 64 * 64;
  __builtin_amdgcn_raw_ptr_buffer_load_lds(buffer(in, bytes), lds(wave_tile), 4, thread() * 4, 0, 0,
                                           0);
  __builtin_amdgcn_s_waitcnt(0);
  barrier();
  out[thread()] = tile[thread()];
}

#ifdef __gfx950__
GLOBAL_KERNEL THREADS(128) void dma_b128(const uint4* in, uint4* out) {
  SHARED uint4 tile[128];
  uint4* const wave_tile = tile + thread() / 64 * 64;
  __builtin_amdgcn_global_load_lds(global(in + thread()), lds(wave_tile), 16, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  barrier();
  out[thread()] = tile[127 - thread()];
}

GLOBAL_KERNEL THREADS(64) void dma_b96(const uint* in, uint* out) {
  SHARED uint tile[192];
  __builtin_amdgcn_global_load_lds(global(in + 3 * thread()), lds(tile), 12, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  barrier();
  for (int i = 0; i < 3; ++i) out[3 * thread() + i] = tile[3 * (63 - thread()) + i];
}
#endif

GLOBAL_KERNEL THREADS(256) void lds_bytes(const uchar* in, uchar* out) {
  SHARED uchar tile[256];
  tile[thread()] = in[thread()];
  barrier();
  out[thread()] = tile[thread() * 7 & 255];
}

GLOBAL_KERNEL THREADS(256) void lds_halves(const short* in, int* out) {
  SHARED short tile[256];
  tile[thread()] = in[thread()];
  barrier();
  const short2 pair = {tile[thread() * 3 & 255], tile[thread() * 5 & 255]};  // low and high half
  out[thread()] = bits<int>(pair);
}

GLOBAL_KERNEL THREADS(64) void lds_wide(const uint* in, uint* out) {
  SHARED uint4 tile[64];
  SHARED uint single[64 * 9];
  const uint4* wide = (const uint4*)in;
  tile[thread()] = wide[thread()];
  for (int i = 0; i < 9; ++i) single[thread() * 9 + i] = in[(thread() + 29 * i) & 255];
  barrier();
  const uint4 value = tile[63 - thread()];
  uint sum = 0;
  for (int i = 0; i < 9; ++i) sum = sum * 3 + single[(thread() ^ 5) * 9 + i];
  for (int i = 0; i < 4; ++i) out[thread() * 5 + i] = value[i];
  out[thread() * 5 + 4] = sum;
}

GLOBAL_KERNEL THREADS(256) void lds_histogram(const uint* in, uint* out) {
  SHARED uint counts[16];
  if (thread() < 16) counts[thread()] = 0;
  barrier();
  __hip_atomic_fetch_add(&counts[in[thread()] % 16], 1u, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  if (thread() < 16) out[thread()] = counts[thread()];
}

GLOBAL_KERNEL THREADS(64) void lds_atomics(const int* in, int* out) {
  SHARED int place[6];
  SHARED float real;
  if (thread() < 6) place[thread()] = thread() == 2 ? -1 : thread() == 1 ? 1 << 30 : 0;
  if (thread() == 0) real = 0.5f;
  barrier();
  const int value = in[thread()];
  const auto scope = __HIP_MEMORY_SCOPE_WORKGROUP;
  __hip_atomic_fetch_max(&place[0], value, __ATOMIC_RELAXED, scope);
  __hip_atomic_fetch_min(&place[1], value, __ATOMIC_RELAXED, scope);
  __hip_atomic_fetch_and(&place[2], value | 15, __ATOMIC_RELAXED, scope);
  __hip_atomic_fetch_or(&place[3], value, __ATOMIC_RELAXED, scope);
  __hip_atomic_fetch_xor(&place[4], value, __ATOMIC_RELAXED, scope);
  const int ticket = __hip_atomic_fetch_add(&place[5], 1, __ATOMIC_RELAXED, scope);
  __hip_atomic_fetch_add(&real, 0.25f, __ATOMIC_RELAXED, scope);
  out[8 + ticket] = 1;
  barrier();
  if (thread() < 6) out[thread()] = place[thread()];
  if (thread() == 0) out[6] = real * 4;
}

#ifdef __gfx950__
using LdsShort4 = LDS Vector<short, 4>;
GLOBAL_KERNEL THREADS(64) void lds_transposed_b16(const uint2* in, short4* out) {
  SHARED uint2 tile[64];
  tile[thread()] = in[thread()];
  barrier();
  using Short4 = __attribute__((__vector_size__(8))) short;
  out[thread()] =
      bits<short4>(__builtin_amdgcn_ds_read_tr16_b64_v4i16((LDS Short4*)(tile + thread())));
}

GLOBAL_KERNEL THREADS(64) void lds_transposed_b8(const uint2* in, uint2* out) {
  SHARED uint2 tile[64];
  tile[thread()] = in[thread()];
  barrier();
  using Int2 = __attribute__((__vector_size__(8))) int;
  out[thread()] = bits<uint2>(__builtin_amdgcn_ds_read_tr8_b64_v2i32((LDS Int2*)(tile + thread())));
}
#endif

// An array that is indexed by values: it lies in scratch, of each lane of each wave.
GLOBAL_KERNEL THREADS(128) void scratch(const uint* in, uint* out) {
  uint table[24];
  for (int i = 0; i < 24; ++i) table[i] = in[(thread() + i) % 128] + i;
  uint sum = 0;
#pragma clang loop unroll(disable)
  for (int i = 0; i < 12; ++i) {
    const uint at = in[(thread() * 3 + i) % 128] % 24;
    sum = sum * 5 + table[at];
    table[(at + i) % 24] ^= sum;
  }
  barrier();
  out[thread()] = sum + table[in[thread()] % 24];
}

DEVICE uint table[8] = {2, 3, 5, 7, 11, 13, 17, 19};
CONSTANT float factors[4] = {1.0f, 0.5f, 0.25f, -2.0f};
DEVICE uint counter = 100;
GLOBAL_KERNEL THREADS(64) void variables(const uint* in, float* out) {
  out[thread()] = table[in[thread()] % 8] * factors[in[thread()] / 8 % 4];
  if (thread() == 0) counter += 1;
}

GLOBAL_KERNEL THREADS(64) void global_atomics(const int* in, int* place, ulong* wide, float* real,
                                              double* precise, int* order) {
  const int value = in[group() * 64 + thread()];
  const auto scope = __HIP_MEMORY_SCOPE_AGENT;
  __hip_atomic_fetch_max(&place[0], value, __ATOMIC_RELAXED, scope);
  __hip_atomic_fetch_min(&place[1], value, __ATOMIC_RELAXED, scope);
  __hip_atomic_fetch_and(&place[2], value | 255, __ATOMIC_RELAXED, scope);
  __hip_atomic_fetch_or(&place[3], value, __ATOMIC_RELAXED, scope);
  __hip_atomic_fetch_xor(&place[4], value, __ATOMIC_RELAXED, scope);
  const int ticket = __hip_atomic_fetch_add(&place[5], 1, __ATOMIC_RELAXED, scope);
  order[ticket] += 1;
  __hip_atomic_fetch_add(wide, ulong(uint(value)) << 20, __ATOMIC_RELAXED, scope);
  __hip_atomic_fetch_add(real, 0.5f, __ATOMIC_RELAXED, scope);
  __hip_atomic_fetch_add(precise, 0.125, __ATOMIC_RELAXED, scope);
}

// Workgroups exclude each other by comparing and swapping.
GLOBAL_KERNEL THREADS(64) void compare_and_swap(uint* place) {
  if (thread() % 16) return;
  uint seen = __hip_atomic_load(place, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (!__hip_atomic_compare_exchange_strong(place, &seen, seen * 3 + 1, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
  }
}

// The last workgroup to finish adds up what all have left.
GLOBAL_KERNEL THREADS(64) void last_workgroup(const uint* in, uint* parts, uint* count, uint* out) {
  SHARED bool last;
  uint sum = in[group() * 64 + thread()];
  for (int step = 1; step < 64; step *= 2) {
    sum += __builtin_amdgcn_ds_bpermute((thread() ^ step) * 4, sum);
  }
  const uint groups = __builtin_amdgcn_grid_size_x() / 64;
  if (thread() == 0) {
    __hip_atomic_store(&parts[group()], sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    last =
        __hip_atomic_fetch_add(count, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) == groups - 1;
  }
  barrier();
  if (!last || thread() != 0) return;
  uint total = 0;
  for (uint i = 0; i < groups; ++i) {
    total += __hip_atomic_load(&parts[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  *out = total;
}

GLOBAL_KERNEL THREADS(64) void packed_atomics(bhalf2* brain, half2* half) {
  using Short2 = __attribute__((__vector_size__(4))) short;
  const bhalf2 one = {(__bf16)1.0f, (__bf16)2.0f};
  __builtin_amdgcn_global_atomic_fadd_v2bf16((GLOBAL Short2*)(brain + thread() % 4),
                                             bits<Short2>(one));
  using Half2 = __attribute__((__vector_size__(4))) _Float16;
  const half2 two = {(_Float16)0.5f, (_Float16)-1.0f};
  __builtin_amdgcn_global_atomic_fadd_v2f16((GLOBAL Half2*)(half + thread() % 8), bits<Half2>(two));
}
