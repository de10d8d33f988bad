// global_*, flat_* and scratch_* loads, stores and loads to LDS ("CDNA3 ISA", "Flat memory
// instructions").
#include "virtual/handlers/define.h"
#include "virtual/handlers/lds_dma.h"
#include "virtual/handlers/memory.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

void count_access(Wave& w, const Instruction& in, InFlight entry) {
  entry.instruction = &in;
  const char kind = in.opcode->name[0];
  push_vm(w, entry);
  if (kind == 'f') {
    entry.kind = InFlight::Kind::flat;
    push_lgkm(w, entry);
  }
}

template <class S>
void run_load(Wave& w, const Instruction& in) {
  Places places;
  place_vector_memory(w, in, 1, 2, S::bytes, Access::load, places);
  const u32 first = in.dst().first;
  load_lanes<S>(w, first, places);
  count_access(
      w, in, {.kind = InFlight::Kind::vector_load, .vectors = {static_cast<u16>(first), S::words}});
}

template <class S>
void run_store(Wave& w, const Instruction& in) {
  Places places;
  place_vector_memory(w, in, 0, 2, S::bytes, Access::store, places);
  const Operand& data = in.operand[1];
  use_data(w, in, data, S::words, S::stored_bits(), places);
  store_lanes<S>(w, data.first, places);
  count_access(w, in, {.kind = InFlight::Kind::store});
}

// Global memory to LDS, without registers.
template <class S>
void run_load_lds(Wave& w, const Instruction& in) {
  Places places;
  place_vector_memory(w, in, 0, 1, S::bytes, Access::load, places);
  copy_to_lds(w, in, places, S::bytes);
}

template <class S>
void add_load(std::string_view global, std::string_view flat, std::string_view scratch,
              u16 flags = 0) {
  for (const std::string_view name : {global, flat, scratch}) {
    register_opcode(handler_op(name, &run_load<S>, Unit::vector_memory, 1, flags));
  }
}

template <class S>
void add_store(std::string_view global, std::string_view flat, std::string_view scratch) {
  for (const std::string_view name : {global, flat, scratch}) {
    register_opcode(handler_op(name, &run_store<S>, Unit::vector_memory, 0, is_store));
  }
}

}  // namespace

void register_vector_memory() {
  add_load<Shape<4>>("global_load_dword", "flat_load_dword", "scratch_load_dword");
  add_load<Shape<8>>("global_load_dwordx2", "flat_load_dwordx2", "scratch_load_dwordx2");
  add_load<Shape<12>>("global_load_dwordx3", "flat_load_dwordx3", "scratch_load_dwordx3");
  add_load<Shape<16>>("global_load_dwordx4", "flat_load_dwordx4", "scratch_load_dwordx4");
  add_load<Shape<1>>("global_load_ubyte", "flat_load_ubyte", "scratch_load_ubyte");
  add_load<Shape<1, true>>("global_load_sbyte", "flat_load_sbyte", "scratch_load_sbyte");
  add_load<Shape<2>>("global_load_ushort", "flat_load_ushort", "scratch_load_ushort");
  add_load<Shape<2, true>>("global_load_sshort", "flat_load_sshort", "scratch_load_sshort");
  add_load<Shape<1, false, 1>>("global_load_ubyte_d16", "flat_load_ubyte_d16",
                               "scratch_load_ubyte_d16", reads_dst);
  add_load<Shape<1, false, 2>>("global_load_ubyte_d16_hi", "flat_load_ubyte_d16_hi",
                               "scratch_load_ubyte_d16_hi", reads_dst);
  add_load<Shape<1, true, 1>>("global_load_sbyte_d16", "flat_load_sbyte_d16",
                              "scratch_load_sbyte_d16", reads_dst);
  add_load<Shape<1, true, 2>>("global_load_sbyte_d16_hi", "flat_load_sbyte_d16_hi",
                              "scratch_load_sbyte_d16_hi", reads_dst);
  add_load<Shape<2, false, 1>>("global_load_short_d16", "flat_load_short_d16",
                               "scratch_load_short_d16", reads_dst);
  add_load<Shape<2, false, 2>>("global_load_short_d16_hi", "flat_load_short_d16_hi",
                               "scratch_load_short_d16_hi", reads_dst);
  add_store<Shape<4>>("global_store_dword", "flat_store_dword", "scratch_store_dword");
  add_store<Shape<8>>("global_store_dwordx2", "flat_store_dwordx2", "scratch_store_dwordx2");
  add_store<Shape<12>>("global_store_dwordx3", "flat_store_dwordx3", "scratch_store_dwordx3");
  add_store<Shape<16>>("global_store_dwordx4", "flat_store_dwordx4", "scratch_store_dwordx4");
  add_store<Shape<1>>("global_store_byte", "flat_store_byte", "scratch_store_byte");
  add_store<Shape<2>>("global_store_short", "flat_store_short", "scratch_store_short");
  add_store<Shape<1, false, 2>>("global_store_byte_d16_hi", "flat_store_byte_d16_hi",
                                "scratch_store_byte_d16_hi");
  add_store<Shape<2, false, 2>>("global_store_short_d16_hi", "flat_store_short_d16_hi",
                                "scratch_store_short_d16_hi");
  const auto add_dma = [](std::string_view name, Handler handler, u8 targets = 3) {
    Opcode opcode = handler_op(name, handler, Unit::vector_memory, 0);
    opcode.targets = targets;
    opcode.flags = writes_lds;
    register_opcode(opcode);
  };
  add_dma("global_load_lds_dword", &run_load_lds<Shape<4>>);
  add_dma("global_load_lds_ubyte", &run_load_lds<Shape<1>>);
  add_dma("global_load_lds_sbyte", &run_load_lds<Shape<1, true>>);
  add_dma("global_load_lds_ushort", &run_load_lds<Shape<2>>);
  add_dma("global_load_lds_sshort", &run_load_lds<Shape<2, true>>);
  add_dma("global_load_lds_dwordx3", &run_load_lds<Shape<12>>, 2);
  add_dma("global_load_lds_dwordx4", &run_load_lds<Shape<16>>, 2);
}

}  // namespace instinct::INSTINCT_LEVEL
