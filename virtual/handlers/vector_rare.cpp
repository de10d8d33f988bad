// Vector instructions that compilers seldom choose ("CDNA3 ISA", VOP1, VOP3A).
#include <cmath>

#include "virtual/handlers/define.h"
#include "virtual/handlers/shadow.h"
#include "virtual/semantics/convert.h"
#include "virtual/semantics/divide.h"
#include "virtual/semantics/transcendental.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

constexpr u8 gfx950_bit = 2;

u32 byte(u64 word, u32 i) { return static_cast<u32>(word >> 8 * i & 0xff); }

// Sum of absolute differences of four bytes; `masked`: where the reference is not 0.
u32 sad4(u32 a, u32 reference, bool masked) {
  u32 sum = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 x = byte(a, i), y = byte(reference, i);
    if (!masked || y) sum += x > y ? x - y : y - x;
  }
  return sum;
}

// Four windows of a, a byte apart, against four bytes; 16-bit sums.
u64 quad_sad(u64 a, u32 reference, u64 c, bool masked) {
  u64 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 sum = sad4(static_cast<u32>(a >> 8 * i), reference, masked) +
                    static_cast<u32>(c >> 16 * i & 0xffff);
    result |= u64{sum & 0xffff} << 16 * i;
  }
  return result;
}

// The same with 32-bit sums, in four registers.
void run_mqsad_u32(Wave& w, const Instruction& in) {
  if (any_undefined(w, in)) {
    use_vector(w, in, in.src(0).first, w.exec(), "part of a sum of differences");
  }
  Row scratch[2];
  const u32* a = row(w, in.src(0).first);
  const u32* reference = source_rows(w, in.src(1), 1, scratch);
  const u32* c = row(w, in.src(2).first);
  Row result[4];
  for (u32 i = 0; i < 64; ++i) {
    const u64 window = a[i] | u64{a[64 + i]} << 32;
    for (u32 k = 0; k < 4; ++k) {
      result[k].lane[i] =
          sad4(static_cast<u32>(window >> 8 * k), reference[i], true) + c[64 * k + i];
    }
  }
  const u32 d = in.dst().first;
  for (u32 k = 0; k < 4; ++k) blend(row(w, d + k), result[k].lane, w.exec());
  if (w.track) set_undefined(w, d, 4, w.exec(), nullptr);
}

void bitop3_halves(u32* d, const u32* const* s, const LaneContext& c) {
  for (u32 i = 0; i < 64; ++i) {
    u32 bits = 0;
    for (u32 k = 0; k < 8; ++k) {
      const u32 term = (k & 4 ? s[0][i] : ~s[0][i]) & (k & 2 ? s[1][i] : ~s[1][i]) &
                       (k & 1 ? s[2][i] : ~s[2][i]);
      bits |= c.in.bitop3 >> k & 1 ? term : 0;
    }
    d[i] = bits & 0xffff;
  }
}

// The axis with the largest magnitude, a later one if two are equal ("CDNA3 ISA", V_CUBEID_F32).
int major_axis(float x, float y, float z) {
  x = std::fabs(x), y = std::fabs(y), z = std::fabs(z);
  return z >= x && z >= y ? 2 : y >= x ? 1 : 0;
}
float major_value(float x, float y, float z) {
  const int axis = major_axis(x, y, z);
  return axis == 2 ? z : axis == 1 ? y : x;
}
float cube_face(float x, float y, float z) {
  return static_cast<float>(2 * major_axis(x, y, z) + (major_value(x, y, z) < 0.0f));
}
float cube_s(float x, float y, float z) {
  const bool negative = major_value(x, y, z) < 0.0f;
  switch (major_axis(x, y, z)) {
    case 2: return negative ? -x : x;
    case 1: return x;
    default: return negative ? z : -z;
  }
}
float cube_t(float x, float y, float z) {
  if (major_axis(x, y, z) != 1) return -y;
  return y < 0.0f ? -z : z;
}

Opcode transcendental(Opcode opcode) {
  opcode.unit = Unit::transcendental;
  return opcode;
}

}  // namespace

void register_vector_rare() {
  Opcode bitop3 = vector_op(
      "v_bitop3_b16", [](u16 a, u16 b, u16 c) { return static_cast<u16>(a ^ b ^ c); }, keeps_high,
      shadow_low16);
  bitop3.kernel = reinterpret_cast<void (*)()>(static_cast<LaneKernel>(&bitop3_halves));
  bitop3.targets = gfx950_bit;
  register_all(
      bitop3, vector_op("v_mad_u32_u16", [](u16 a, u16 b, u32 c) { return u32{a} * b + c; }),
      vector_op("v_mad_i32_i16",
                [](i16 a, i16 b, u32 c) { return static_cast<u32>(i32{a} * b) + c; }),
      vector_op("v_cubeid_f32", [](float x, float y, float z) { return cube_face(x, y, z); }),
      vector_op("v_cubesc_f32", [](float x, float y, float z) { return cube_s(x, y, z); }),
      vector_op("v_cubetc_f32", [](float x, float y, float z) { return cube_t(x, y, z); }),
      vector_op("v_cubema_f32",
                [](float x, float y, float z) { return 2.0f * major_value(x, y, z); }),
      vector_op("v_trig_preop_f64", [](double a, u32 b) { return v_trig_preop_f64(a, b); }),
      transcendental(vector_op("v_exp_legacy_f32", [](float a) { return v_exp_f32(a); })),
      transcendental(vector_op("v_log_legacy_f32", [](float a) { return v_log_f32(a); })),
      vector_op("v_qsad_pk_u16_u8", [](u64 a, u32 b, u64 c) { return quad_sad(a, b, c, false); }),
      vector_op("v_mqsad_pk_u16_u8", [](u64 a, u32 b, u64 c) { return quad_sad(a, b, c, true); }),
      vector_op(
          "v_cvt_pkaccum_u8_f32",
          [](float a, u32 b, u32 old) { return v_cvt_pk_u8_f32(a, b, old); }, reads_dst));
  Opcode mqsad = handler_op("v_mqsad_u32_u8", &run_mqsad_u32, Unit::valu);
  mqsad.dst_words = 4;
  register_opcode(mqsad);
}

}  // namespace instinct::INSTINCT_LEVEL
