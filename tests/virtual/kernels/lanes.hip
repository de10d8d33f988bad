// Values that move between lanes: DPP, reads of one lane, ballots, permutations, swaps.
#include "device.h"

// `out[row * 64 + lane]`; a lane whose source is missing keeps `1000 + lane`.
template <int control, int rows, int banks, bool bound>
DEVICE inline void dpp(int value, int*& out) {
  out[lane()] = __builtin_amdgcn_update_dpp(1000 + int(lane()), value, control, rows, banks, bound);
  out += 64;
}

GLOBAL_KERNEL THREADS(64) void dpp_moves(const int* in, int* out) {
  const int value = in[thread()];
  dpp<0x1b, 0xf, 0xf, false>(value, out);   // quad_perm:[3,2,1,0]
  dpp<0x4e, 0xf, 0xf, false>(value, out);   // quad_perm:[2,3,0,1]
  dpp<0x103, 0xf, 0xf, false>(value, out);  // row_shl:3
  dpp<0x115, 0xf, 0xf, false>(value, out);  // row_shr:5
  dpp<0x124, 0xf, 0xf, false>(value, out);  // row_ror:4
  dpp<0x140, 0xf, 0xf, false>(value, out);  // row_mirror
  dpp<0x141, 0xf, 0xf, false>(value, out);  // row_half_mirror
  dpp<0x142, 0xf, 0xf, false>(value, out);  // row_bcast:15
  dpp<0x143, 0xf, 0xf, false>(value, out);  // row_bcast:31
  dpp<0x157, 0xf, 0xf, false>(value, out);  // row_newbcast:7
  dpp<0x130, 0xf, 0xf, false>(value, out);  // wave_shl:1
  dpp<0x138, 0xf, 0xf, false>(value, out);  // wave_shr:1
  dpp<0x134, 0xf, 0xf, false>(value, out);  // wave_rol:1
  dpp<0x13c, 0xf, 0xf, false>(value, out);  // wave_ror:1
  dpp<0x115, 0xf, 0xf, true>(value, out);   // row_shr:5 bound_ctrl:0
  dpp<0x115, 0x5, 0xf, false>(value, out);  // row_shr:5 row_mask:0x5
  dpp<0x115, 0xf, 0xa, false>(value, out);  // row_shr:5 bank_mask:0xa
  dpp<0x142, 0xa, 0xf, false>(value, out);  // row_bcast:15 row_mask:0xa
}

// A source lane that EXEC disables does not count.
GLOBAL_KERNEL THREADS(64) void dpp_divergent(const int* in, int* out) {
  const int value = in[thread()];
  int result = -1;
  if (value & 1) result = __builtin_amdgcn_update_dpp(1000, value, 0x1b, 0xf, 0xf, false);
  out[thread()] = result;
}

GLOBAL_KERNEL THREADS(64) void dpp_sum(const float* in, float* out) {
  float sum = in[group() * 64 + thread()];
#define ADD(control, rows, banks) \
  sum += bits<float>(__builtin_amdgcn_update_dpp(0, bits<int>(sum), control, rows, banks, false))
  ADD(0x111, 0xf, 0xf);
  ADD(0x112, 0xf, 0xf);
  ADD(0x114, 0xf, 0xe);
  ADD(0x118, 0xf, 0xc);
  ADD(0x142, 0xa, 0xf);
  ADD(0x143, 0xc, 0xf);
  out[group()] = bits<float>(__builtin_amdgcn_readlane(bits<int>(sum), 63));
}

GLOBAL_KERNEL THREADS(64) void one_lane(const int* in, int* out, int which) {
  const int value = in[thread()];
  out[thread()] = __builtin_amdgcn_readlane(value, which);
  int written = value;
  asm volatile("v_writelane_b32 %0, 42, %1" : "+v"(written) : "s"(which));
  out[64 + thread()] = written;
  int first = -1;
  if (value % 3 == 0) first = __builtin_amdgcn_readfirstlane(value);
  out[128 + thread()] = first;
  out[192 + thread()] = lane();
}

GLOBAL_KERNEL THREADS(64) void ballots(const int* in, ulong* out) {
  const ulong mask = __builtin_amdgcn_ballot_w64(in[thread()] > 0);
  if (thread()) return;
  out[0] = mask;
  out[1] = __builtin_popcountll(mask);
  out[2] = __builtin_ctzll(mask);
  out[3] = __builtin_clzll(mask);
}

GLOBAL_KERNEL THREADS(64) void permutes(const int* in, const int* where, int* out) {
  const int value = in[thread()];
  out[thread()] = __builtin_amdgcn_ds_bpermute(where[thread()] * 4, value);
  out[64 + thread()] = __builtin_amdgcn_ds_permute(where[thread()] * 4, value);
  out[128 + thread()] = __builtin_amdgcn_ds_swizzle(value, 0x401f);  // xor 16
  out[192 + thread()] = __builtin_amdgcn_ds_swizzle(value, 0x0010);  // lane & 16
  out[256 + thread()] = __builtin_amdgcn_ds_swizzle(value, 0x00fe);  // (lane & 30) | 7
  out[320 + thread()] = __builtin_amdgcn_ds_swizzle(value, 0x80b1);  // quads [1,0,3,2]
}

// Disabled lanes give zero.
GLOBAL_KERNEL THREADS(64) void permute_divergent(const int* in, int* out) {
  const int value = in[thread()];
  int result = -1;
  if (value & 1) result = __builtin_amdgcn_ds_bpermute((thread() ^ 1) * 4, value);
  out[thread()] = result;
}

// The compiler's own choice for sums over a wave, by shuffles of LDS.
GLOBAL_KERNEL THREADS(256) void block_sums(const float* in, float* out, int count) {
  SHARED float parts[4];
  const uint at = group() * 256 + thread();
  float sum = at < count ? in[at] : 0.0f;
  for (int step = 32; step; step /= 2) {
    sum += bits<float>(__builtin_amdgcn_ds_bpermute(int(thread() % 64 ^ step) * 4, bits<int>(sum)));
  }
  if (thread() % 64 == 0) parts[thread() / 64] = sum;
  barrier();
  if (thread() == 0) out[group()] = parts[0] + parts[1] + parts[2] + parts[3];
}

#ifdef __gfx950__
GLOBAL_KERNEL THREADS(64) void swaps(const uint* a, const uint* b, uint* out) {
  const auto halves = __builtin_amdgcn_permlane32_swap(a[thread()], b[thread()], false, false);
  const auto rows = __builtin_amdgcn_permlane16_swap(a[thread()], b[thread()], false, false);
  out[thread()] = halves[0];
  out[64 + thread()] = halves[1];
  out[128 + thread()] = rows[0];
  out[192 + thread()] = rows[1];
}
#endif
