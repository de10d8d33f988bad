// Vector arithmetic of all types; NumPy says what it should give.
#include "device.h"

using double2 = Vector<double, 2>;
using long2 = Vector<long, 2>;

GLOBAL_KERNEL THREADS(64) void floats(const float* a, const float* b, const float* c, float* out) {
  const float x = a[thread()], y = b[thread()], z = c[thread()];
  out += thread() * 16;
  out[0] = x + y;
  out[1] = x - y;
  out[2] = x * y;
  out[3] = __builtin_fmaf(x, y, z);
  out[4] = x / y;
  out[5] = __builtin_fminf(x, y);
  out[6] = __builtin_fmaxf(x, y);
  out[7] = __builtin_amdgcn_fmed3f(x, y, z);
  out[8] = __builtin_floorf(x);
  out[9] = __builtin_ceilf(x);
  out[10] = __builtin_truncf(x);
  out[11] = __builtin_rintf(x);
  out[12] = __builtin_amdgcn_ldexpf(x, int(z));
  out[13] = __builtin_amdgcn_frexp_mantf(x);
  out[14] = __builtin_amdgcn_frexp_expf(x);
  out[15] = __builtin_fabsf(x) < y ? -x : __builtin_copysignf(z, x);
}

GLOBAL_KERNEL THREADS(64) void transcendental(const float* in, float* out) {
  const float x = in[thread()];
  out += thread() * 7;
  out[0] = __builtin_amdgcn_exp2f(x);
  out[1] = __builtin_amdgcn_logf(__builtin_fabsf(x));  // base 2
  out[2] = __builtin_amdgcn_rcpf(x);
  out[3] = __builtin_amdgcn_rsqf(__builtin_fabsf(x));
  out[4] = __builtin_amdgcn_sqrtf(__builtin_fabsf(x));
  out[5] = __builtin_amdgcn_sinf(x / 8);  // of whole turns
  out[6] = __builtin_amdgcn_cosf(x / 8);
}

GLOBAL_KERNEL THREADS(64) void packed(const float2* a, const float2* b, float2* out) {
  const float2 x = a[thread()], y = b[thread()];
  out[3 * thread()] = x + y;
  out[3 * thread() + 1] = x * y;
  out[3 * thread() + 2] = __builtin_elementwise_fma(x, y, -x);
}

GLOBAL_KERNEL THREADS(64) void halves(const half2* a, const half2* b, half2* out) {
  const half2 x = a[thread()], y = b[thread()];
  out += 6 * thread();
  out[0] = x + y;
  out[1] = x * y;
  out[2] = __builtin_elementwise_fma(x, y, y);
  out[3] = __builtin_elementwise_max(x, y);
  out[4] = __builtin_elementwise_min(x, y);
  out[5] = half2{x[1], -y[0]};
}

GLOBAL_KERNEL THREADS(64) void shorts(const short2* a, const short2* b, short2* out) {
  const short2 x = a[thread()], y = b[thread()];
  out += 6 * thread();
  out[0] = x + y;
  out[1] = x - y;
  out[2] = x * y;
  out[3] = __builtin_elementwise_max(x, y);
  out[4] = __builtin_elementwise_min(x, y);
  out[5] = x >> short2{3, 1};
}

GLOBAL_KERNEL THREADS(64) void doubles(const double* a, const double* b, double* out) {
  const double x = a[thread()], y = b[thread()];
  out += 7 * thread();
  out[0] = x + y;
  out[1] = x * y;
  out[2] = __builtin_fma(x, y, -x);
  out[3] = x / y;
  out[4] = __builtin_sqrt(__builtin_fabs(x));
  out[5] = __builtin_fmax(x, y);
  out[6] = __builtin_floor(x);
}

GLOBAL_KERNEL THREADS(64) void words(const uint* a, const uint* b, uint* out) {
  const uint x = a[thread()], y = b[thread()];
  out += 20 * thread();
  out[0] = x * y;
  out[1] = ulong(x) * y >> 32;
  out[2] = long(int(x)) * int(y) >> 32;
  out[3] = x << (y & 31);
  out[4] = x >> (y & 31);
  out[5] = int(x) >> (y & 31);
  out[6] = __builtin_amdgcn_ubfe(x, 5, 11);
  out[7] = __builtin_amdgcn_sbfe(int(x), 7, 9);
  out[8] = (x & y) | (~x & 0x12345678);
  out[9] = __builtin_amdgcn_alignbit(x, y, 13);
  out[10] = __builtin_amdgcn_perm(x, y, 0x0c050102);
  out[11] = __builtin_popcount(x);
  out[12] = x ? __builtin_clz(x) : 99;
  out[13] = x ? __builtin_ctz(x) : 99;
  out[14] = __builtin_bitreverse32(x);
  out[15] = __builtin_amdgcn_sad_u8(x, y, 17);
  out[16] = int(x) < int(y) ? x : y;
  out[17] = x / (y | 1);
  out[18] = int(x) % int(y | 1);
  out[19] = (x & 0xffffff) * (y & 0xffffff) + 3;
}

GLOBAL_KERNEL THREADS(64) void longs(const long* a, const long* b, long* out) {
  const long x = a[thread()], y = b[thread()];
  out += 8 * thread();
  out[0] = x + y;
  out[1] = x - y;
  out[2] = x * y;
  out[3] = x << (y & 63);
  out[4] = x >> (y & 63);
  out[5] = ulong(x) >> (y & 63);
  out[6] = x / (y | 1);
  out[7] = x < y ? x : y;
}

GLOBAL_KERNEL THREADS(64) void conversions(const float* in, int* out) {
  const float x = in[thread()];
  out += 10 * thread();
  out[0] = int(x * 100);
  out[1] = uint(__builtin_fabsf(x) * 1000);
  out[2] = bits<int>(float(int(x * 1e7f)));
  out[3] = bits<int>(float(uint(__builtin_fabsf(x) * 1e8f)));
  out[4] = bits<ushort>(_Float16(x));
  out[5] = bits<ushort>(__bf16(x));
  out[6] = bits<int>(float(_Float16(x)));
  out[7] = bits<int>(float(double(x) * 3));
  out[8] = bits<int>(float(uchar(int(x * 20))));
  out[9] = __builtin_amdgcn_cvt_pk_u8_f32(__builtin_fabsf(x) * 16, 1, 0xaabbccdd);
}

GLOBAL_KERNEL THREADS(64) void pack_halves(const float* in, uint* out) {
  using Half2 = __attribute__((__vector_size__(4))) __fp16;
  const Half2 pair = __builtin_amdgcn_cvt_pkrtz(in[2 * thread()], in[2 * thread() + 1]);
  out[thread()] = bits<uint>(pair);
}

GLOBAL_KERNEL THREADS(64) void dots(const uint* a, const uint* b, float* real, int* whole) {
  const uint x = a[thread()], y = b[thread()];
  using Half2 = __attribute__((__vector_size__(4))) _Float16;
  real[thread()] =
      __builtin_amdgcn_fdot2(bits<Half2>(x & 0xbfffbfff), bits<Half2>(y & 0xbfffbfff), 0.5f, false);
  whole[3 * thread()] = __builtin_amdgcn_sdot4(x, y, 5, false);
  whole[3 * thread() + 1] = __builtin_amdgcn_sdot8(x, y, -5, false);
  whole[3 * thread() + 2] = __builtin_amdgcn_udot4(x, y, 9, false);
}

// Every fp8 and bf8 to f32.
GLOBAL_KERNEL THREADS(256) void from_fp8(const uchar* in, float* out) {
  const uint value = in[thread()];
  out[thread()] = __builtin_amdgcn_cvt_f32_fp8(value << 16, 2);
  out[256 + thread()] = __builtin_amdgcn_cvt_f32_bf8(value << 24, 3);
  using Float2 = __attribute__((__vector_size__(8))) float;
  const Float2 pair = __builtin_amdgcn_cvt_pk_f32_fp8(value << 8 | 1, false);
  out[512 + thread()] = pair[1];
}

GLOBAL_KERNEL THREADS(64) void to_fp8(const float* in, uint* out) {
  const float x = in[2 * thread()], y = in[2 * thread() + 1];
  int value = __builtin_amdgcn_cvt_pk_fp8_f32(x, y, 0x5a5a0000, false);
  out[2 * thread()] = __builtin_amdgcn_cvt_pk_fp8_f32(y, x, value, true);
  out[2 * thread() + 1] = __builtin_amdgcn_cvt_pk_bf8_f32(x, y, 0x5a5a0000, false);
}

#ifdef __gfx950__
GLOBAL_KERNEL THREADS(64) void to_bf16(const float2* in, bhalf2* out) {
  out[thread()] = __builtin_convertvector(in[thread()], bhalf2);
}

GLOBAL_KERNEL THREADS(64) void bitop3(const uint* a, const uint* b, const uint* c, uint* out) {
  const uint x = a[thread()], y = b[thread()], z = c[thread()];
  out[3 * thread()] = __builtin_amdgcn_bitop3_b32(x, y, z, 0x96);      // x ^ y ^ z
  out[3 * thread() + 1] = __builtin_amdgcn_bitop3_b32(x, y, z, 0xca);  // x ? y : z
  out[3 * thread() + 2] = __builtin_amdgcn_bitop3_b32(x, y, z, 0xe8);  // majority
}

GLOBAL_KERNEL THREADS(64) void from_fp4(const uint* in, float2* out) {
  using Float2 = __attribute__((__vector_size__(8))) float;
  const Float2 pair = __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(in[thread()], 4.0f, 1);
  out[thread()] = bits<float2>(pair);
}
#endif
