// Instructions between lanes, or between lanes and scalars ("CDNA3 ISA": V_READLANE_B32 and the
// like; "CDNA4 ISA": V_PERMLANE16_SWAP_B32, V_PERMLANE32_SWAP_B32).
#include <bit>
#include <cstring>

#include "virtual/handlers/define.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

constexpr u8 gfx950_bit = 2;

// A vector source of a scalar result; LLVM also prints a scalar there.
u32 read_lane(Wave& w, const Operand& source, u32 lane) {
  return source.is_vector() ? row(w, source.first)[lane] : read_scalar(w, source);
}

u32 undefined_lane(Wave& w, const Operand& source, u32 lane) {
  if (!source.is_vector()) return undefined_scalar(w, source);
  return w.dirty.test(source.first) ? undefined_row(w, source.first)[lane] : 0;
}

u32 lane_of(Wave& w, const Instruction& in, const Operand& select) {
  if (w.track && undefined_scalar(w, select)) {
    use_scalar(w, in, select.first, ~0u, "a lane number");
  }
  return read_scalar(w, select) & 63;
}

void run_readlane(Wave& w, const Instruction& in) {
  const u32 lane = lane_of(w, in, in.src(1));
  write_scalar(w, in.dst(), read_lane(w, in.src(0), lane));
  if (w.track) set_undefined_scalar(w, in.dst(), undefined_lane(w, in.src(0), lane));
}

// The first active lane, or lane 0 if there is none.
void run_readfirstlane(Wave& w, const Instruction& in) {
  const u32 lane = w.exec() ? static_cast<u32>(std::countr_zero(w.exec())) : 0;
  write_scalar(w, in.dst(), read_lane(w, in.src(0), lane));
  if (w.track) set_undefined_scalar(w, in.dst(), undefined_lane(w, in.src(0), lane));
}

void run_writelane(Wave& w, const Instruction& in) {
  const u32 lane = lane_of(w, in, in.src(1));
  const u32 dst = in.dst().first;
  row(w, dst)[lane] = read_scalar(w, in.src(0));
  if (!w.track) return;
  Row undefined = {};
  undefined.lane[lane] = undefined_scalar(w, in.src(0));
  set_undefined(w, dst, 1, u64{1} << lane, undefined.lane);
}

// The number of set bits of the mask below this lane, plus source 1.
template <bool high>
void run_mbcnt(Wave& w, const Instruction& in) {
  Sources s;
  s.dirty = any_undefined(w, in);
  load_sources(w, in, s);
  Row result, undefined;
  for (u32 lane = 0; lane < 64; ++lane) {
    const u32 bits = high ? (lane > 32 ? lane - 32 : 0) : (lane < 32 ? lane : 32);
    const u32 below = bits >= 32 ? ~0u : (1u << bits) - 1;
    result.lane[lane] = static_cast<u32>(std::popcount(s.row[0][lane] & below)) + s.row[1][lane];
    if (s.dirty) {
      const bool bad = (s.undefined[0][lane] & below) || s.undefined[1][lane];
      undefined.lane[lane] = bad ? ~0u : 0;
    }
  }
  store_result(w, in, in.dst(), 1, &result, s.dirty ? undefined.lane : nullptr, s.mask);
}

// Exchanges words of d and s: `first` of d with `second` of s in each pair of groups.
void swap_groups(u32* d, u32* s, u32 size, u64 exec) {
  for (u32 base = 0; base < 64; base += 2 * size) {
    for (u32 i = 0; i < size; ++i) {
      const u32 upper = base + size + i, lower = base + i;
      // Both sides have to be active, as each side's lane receives the other's word.
      const u32 a = d[upper], b = s[lower];
      if (exec >> upper & 1) d[upper] = b;
      if (exec >> lower & 1) s[lower] = a;
    }
  }
}

template <u32 swapped_lanes>
void run_permlane_swap(Wave& w, const Instruction& in) {
  const u32 d = in.operand[0].first, s = in.operand[1].first;
  swap_groups(row(w, d), row(w, s), swapped_lanes, w.exec());
  if (!w.track || (!w.dirty.test(d) && !w.dirty.test(s))) return;
  for (const u32 r : {d, s}) {
    if (!w.dirty.test(r)) std::memset(undefined_row(w, r), 0, sizeof(Row));
  }
  swap_groups(undefined_row(w, d), undefined_row(w, s), swapped_lanes, w.exec());
  for (const u32 r : {d, s}) {
    if (nonzero_mask(undefined_row(w, r)))
      w.dirty.set(r);
    else
      w.dirty.reset(r);
  }
}

// V_SWAP_B32: both registers, in active lanes.
void run_swap(Wave& w, const Instruction& in) {
  const u32 d = in.operand[0].first, s = in.operand[1].first;
  Row old;
  std::memcpy(old.lane, row(w, d), sizeof(Row));
  blend(row(w, d), row(w, s), w.exec());
  blend(row(w, s), old.lane, w.exec());
  if (!w.track) return;
  Row d_bits = {}, s_bits = {};
  if (w.dirty.test(d)) d_bits = w.undefined[d];
  if (w.dirty.test(s)) s_bits = w.undefined[s];
  set_undefined(w, d, 1, w.exec(), s_bits.lane);
  set_undefined(w, s, 1, w.exec(), d_bits.lane);
}

}  // namespace

void register_cross_lane() {
  register_opcode(handler_op("v_readlane_b32", &run_readlane, Unit::valu, 1, moves_lanes));
  register_opcode(
      handler_op("v_readfirstlane_b32", &run_readfirstlane, Unit::valu, 1, moves_lanes));
  register_opcode(
      handler_op("v_writelane_b32", &run_writelane, Unit::valu, 1, moves_lanes | reads_dst));
  register_opcode(handler_op("v_mbcnt_lo_u32_b32", &run_mbcnt<false>, Unit::valu));
  register_opcode(handler_op("v_mbcnt_hi_u32_b32", &run_mbcnt<true>, Unit::valu));
  register_opcode(handler_op("v_swap_b32", &run_swap, Unit::valu, 2, reads_dst));
  Opcode swap =
      handler_op("v_permlane16_swap_b32", &run_permlane_swap<16>, Unit::valu, 2, reads_dst);
  swap.targets = gfx950_bit;
  register_opcode(swap);
  swap.name = "v_permlane32_swap_b32";
  swap.handler = &run_permlane_swap<32>;
  register_opcode(swap);
}

}  // namespace instinct::INSTINCT_LEVEL
