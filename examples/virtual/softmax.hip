// The softmax of each row of a matrix, one workgroup a row. Compiled without ROCm, so that what
// HIP's headers would define stands here.
#define THREADS 256

__attribute__((device)) static inline float wave_sum(float x) {
  const unsigned lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  for (int step = 32; step; step /= 2) {
    const int other = __builtin_amdgcn_ds_bpermute((lane ^ step) * 4, __builtin_bit_cast(int, x));
    x += __builtin_bit_cast(float, other);
  }
  return x;
}

extern "C" __attribute__((global))
__attribute__((amdgpu_flat_work_group_size(THREADS, THREADS))) void
softmax(const float* in, float* out, int columns) {
  __attribute__((shared)) static float parts[THREADS / 64];
  const unsigned thread = __builtin_amdgcn_workitem_id_x();
  const long row = __builtin_amdgcn_workgroup_id_x();
  in += row * columns;
  out += row * columns;

  // exp(x) = 2^(x log2(e)); the inputs are small, so no maximum is subtracted.
  constexpr float log2e = 1.44269504f;
  float sum = 0;
  for (int i = thread; i < columns; i += THREADS) sum += __builtin_amdgcn_exp2f(in[i] * log2e);
  sum = wave_sum(sum);
  if (thread % 64 == 0) parts[thread / 64] = sum;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  sum = 0;
  for (float part : parts) sum += part;

  const float scale = 1.0f / sum;
  for (int i = thread; i < columns; i += THREADS) {
    out[i] = __builtin_amdgcn_exp2f(in[i] * log2e) * scale;
  }
}
