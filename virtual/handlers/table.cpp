// All handlers of a level.
#include "virtual/handlers/define.h"

namespace instinct::INSTINCT_LEVEL {

void register_atomics();
void register_buffer_memory();
void register_control();
void register_cross_lane();
void register_lds();
void register_matrix();
void register_scalar();
void register_scalar_bits();
void register_scalar_memory();
void register_scalar_special();
void register_vector_compare();
void register_vector_convert();
void register_vector_float();
void register_vector_fp6();
void register_vector_fp8();
void register_vector_half();
void register_vector_integer();
void register_vector_memory();
void register_vector_packed();
void register_vector_rare();
void register_lds_rare();

void register_handlers() {
  register_control();
  register_scalar();
  register_scalar_bits();
  register_scalar_special();
  register_scalar_memory();
  register_vector_integer();
  register_vector_float();
  register_vector_half();
  register_vector_packed();
  register_vector_convert();
  register_vector_fp8();
  register_vector_fp6();
  register_vector_rare();
  register_matrix();
  register_vector_compare();
  register_cross_lane();
  register_lds();
  register_lds_rare();
  register_vector_memory();
  register_buffer_memory();
  register_atomics();
}

}  // namespace instinct::INSTINCT_LEVEL
