// LDS instructions that compilers seldom choose ("CDNA3 ISA", DS_ADDTID, DS_APPEND, DS_CONSUME).
#include <bit>

#include "virtual/handlers/define.h"
#include "virtual/handlers/memory.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

void use_m0(Wave& w, const Instruction& in) {
  use_address(w, in, Operand{.kind = Operand::Kind::scalar, .count = 1, .first = m0_register}, 1);
}

// Lane i's word at M0 + offset + 4 i.
void lane_addresses(Wave& w, const Instruction& in, u32* address) {
  use_m0(w, in);
  for (u32 i = 0; i < 64; ++i) {
    address[i] = (w.scalar[m0_register] & 0xffff) + static_cast<u32>(in.offset) + 4 * i;
  }
}

void run_read_addtid(Wave& w, const Instruction& in) {
  u32 address[64];
  lane_addresses(w, in, address);
  Places places;
  place_lds(w, in, address, w.exec(), 4, Access::load, places);
  const u32 first = in.dst().first;
  load_lanes<Shape<4>>(w, first, places);
  push_lgkm(
      w,
      {.kind = InFlight::Kind::lds, .vectors = {static_cast<u16>(first), 1}, .instruction = &in});
}

void run_write_addtid(Wave& w, const Instruction& in) {
  u32 address[64];
  lane_addresses(w, in, address);
  Places places;
  place_lds(w, in, address, w.exec(), 4, Access::store, places);
  store_lanes<Shape<4>>(w, in.operand[0].first, places);
  push_lgkm(w, {.kind = InFlight::Kind::lds, .instruction = &in});
}

// Adds or subtracts the number of active lanes to the word at M0[31:16] + offset; every lane gets
// what was there.
template <bool append>
void run_append(Wave& w, const Instruction& in) {
  if (in.gds) unsupported(w, in, "GDS");
  use_m0(w, in);
  u32 address[64] = {};
  address[0] = (w.scalar[m0_register] >> 16) + static_cast<u32>(in.offset);
  Places places;
  place_lds(w, in, address, 1, 4, Access::atomic, places);
  u32 old = 0;
  std::memcpy(&old, places.data[0], 4);
  const u32 count = static_cast<u32>(std::popcount(w.exec()));
  const u32 now = append ? old + count : old - count;
  std::memcpy(places.data[0], &now, 4);
  Row result;
  for (u32& word : result.lane) word = old;
  blend(row(w, in.dst().first), result.lane, w.exec());
  if (w.track) {
    if (any_undefined_byte<4>(places)) {
      w.group->fail(w, in, Fault::undefined_value, -1, "a counter in LDS that nothing wrote");
    }
    set_undefined(w, in.dst().first, 1, w.exec(), nullptr);
  }
  push_lgkm(w, {.kind = InFlight::Kind::lds, .vectors = {in.dst().first, 1}, .instruction = &in});
}

void run_nop(Wave&, const Instruction&) {}

}  // namespace

void register_lds_rare() {
  register_opcode(handler_op("ds_read_addtid_b32", &run_read_addtid, Unit::lds));
  register_opcode(handler_op("ds_write_addtid_b32", &run_write_addtid, Unit::lds, 0, is_store));
  register_opcode(handler_op("ds_append", &run_append<true>, Unit::lds));
  register_opcode(handler_op("ds_consume", &run_append<false>, Unit::lds));
  register_opcode(handler_op("ds_nop", &run_nop, Unit::lds, 0));
}

}  // namespace instinct::INSTINCT_LEVEL
