// Vector floating-point arithmetic ("CDNA3 ISA", VOP1, VOP2, VOP3A, VOP3P).
#include <cmath>

#include "virtual/handlers/define.h"
#include "virtual/handlers/shadow.h"
#include "virtual/semantics/float_formats.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

float quiet(float a) { return a != a ? std::bit_cast<float>(std::bit_cast<u32>(a) | 0x400000) : a; }

// The larger: a number rather than NaN, +0 rather than -0.
float larger(float a, float b) {
  const float zero = std::bit_cast<float>(std::bit_cast<u32>(a) & std::bit_cast<u32>(b));
  const float either = a == b ? zero : b != b ? a : b;
  return quiet(a > b ? a : either);
}
float smaller(float a, float b) {
  const float zero = std::bit_cast<float>(std::bit_cast<u32>(a) | std::bit_cast<u32>(b));
  const float either = a == b ? zero : b != b ? a : b;
  return quiet(a < b ? a : either);
}

}  // namespace

void register_vector_float() {
  register_all(
      vector_op("v_add_f32", [](float a, float b) { return a + b; }),
      vector_op("v_sub_f32", [](float a, float b) { return a - b; }),
      vector_op("v_subrev_f32", [](float a, float b) { return b - a; }),
      vector_op("v_mul_f32", [](float a, float b) { return a * b; }),
      vector_op("v_max_f32", [](float a, float b) { return larger(a, b); }),
      vector_op("v_min_f32", [](float a, float b) { return smaller(a, b); }),
      vector_op("v_fma_f32", [](float a, float b, float c) { return __builtin_fmaf(a, b, c); }));
}

}  // namespace instinct::INSTINCT_LEVEL
