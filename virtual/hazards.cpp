// Wait states that the hardware does not insert ("CDNA3 ISA", "Manually inserted wait states";
// LLVM, GCNHazardRecognizer.cpp, whose names the comments give).
#include <algorithm>
#include <string>

#include "virtual/checks.h"
#include "virtual/opcode.h"
#include "virtual/workgroup.h"

namespace instinct {
namespace {

// What an instruction does that others may have to wait for.
enum Producer : u16 {
  vector_result,         // a vector instruction (not matrix) writes vector registers
  vector_scalar_result,  // ... writes scalar registers
  vector_exec_result,    // ... writes EXEC
  transcendental_result,
  partial_result,  // ... writes a part of a register (SDWA, op_sel)
  wide_store,      // a store of more than 8 bytes reads its data late
  dot_product,
  matrix_result,
  scalar_m0,  // a scalar instruction writes M0
  producer_count,
};

// What an instruction is that may have to wait.
enum Consumer : u16 {
  any_vector,  // a vector instruction
  dpp_read,
  lane_read,      // v_readlane, v_readfirstlane
  lane_access,    // those and v_writelane
  memory_access,  // vector memory
  div_fmas,
  matrix_read,
  m0_read,       // LDS DMA, relative scalar registers
  register_use,  // vector, vector memory, LDS: anything that touches vector registers
  permlane,
  consumer_count,
};

bool overlaps(Span a, Span b) { return a.first < b.first + b.count && b.first < a.first + a.count; }

// The register that `a` writes and `b` reads.
bool writes_read(const Instruction& a, const Instruction& b, u32& shared) {
  for (u32 i = 0; i < a.writes; ++i) {
    for (u32 k = 0; k < b.reads; ++k) {
      if (overlaps(a.write[i], b.read[k])) {
        return shared = std::max(a.write[i].first, b.read[k].first), true;
      }
    }
  }
  return false;
}

bool writes_written(const Instruction& a, const Instruction& b, u32& shared) {
  for (u32 i = 0; i < a.writes; ++i) {
    for (u32 k = 0; k < b.writes; ++k) {
      if (overlaps(a.write[i], b.write[k])) {
        return shared = std::max(a.write[i].first, b.write[k].first), true;
      }
    }
  }
  return false;
}

bool scalars_read(const Instruction& a, const Instruction& b) {
  return ((a.scalar_write[0] & b.scalar_read[0]) | (a.scalar_write[1] & b.scalar_read[1])) != 0;
}

constexpr u64 vcc_bits = u64{3} << (vcc_register - 64);
constexpr u64 exec_bits = u64{3} << (exec_register - 64);

// How producer and consumer have to be tied for a rule to hold.
enum class Tie : u8 { result_read, scalar_read, exec, vcc, m0, store_data, lane_select };

struct Rule {
  Producer producer;
  Consumer consumer;
  u8 states;
  Tie tie;
  const char* what;
};

constexpr Rule hazard_rules[] = {
    {vector_result, dpp_read, 2, Tie::result_read, "a vector result to a DPP read"},  // DppVgpr
    {vector_exec_result, dpp_read, 5, Tie::exec,
     "EXEC from a vector instruction to DPP"},               // DppExec
    {vector_scalar_result, any_vector, 2, Tie::scalar_read,  // VDecCoExec
     "a scalar from a vector instruction to another that reads it"},
    {vector_result, lane_read, 1, Tie::result_read, "a vector result to a lane read"},
    {vector_exec_result, lane_access, 4, Tie::exec,
     "EXEC from a vector instruction to a lane access"},
    {vector_scalar_result, lane_access, 4, Tie::lane_select,  // RWLane
     "a scalar from a vector instruction to a lane number"},
    {vector_scalar_result, memory_access, 5, Tie::scalar_read,  // VmemSgpr
     "a scalar from a vector instruction to vector memory"},
    {vector_scalar_result, div_fmas, 4, Tie::vcc, "VCC to v_div_fmas"},  // DivFMas
    {vector_result, matrix_read, 2, Tie::result_read, "a vector result to a matrix instruction"},
    {vector_exec_result, matrix_read, 4, Tie::exec, "EXEC to a matrix instruction"},
    {transcendental_result, any_vector, 1, Tie::result_read,
     "a transcendental result to its reader"},
    {partial_result, any_vector, 1, Tie::result_read, "a part of a register to its reader"},
    {wide_store, any_vector, 2, Tie::store_data, "a wide store to a change of its data"},
    {scalar_m0, m0_read, 1, Tie::m0, "M0 to its reader"},
    {vector_result, permlane, 2, Tie::result_read, "a vector result to a lane exchange"},
};

// The rules of each consumer, for a quick look.
struct RulesOf {
  u8 rule[consumer_count][5];
  u8 count[consumer_count];
};
constexpr RulesOf rules_by_consumer() {
  RulesOf all{};
  for (std::size_t i = 0; i < std::size(hazard_rules); ++i) {
    const u32 consumer = hazard_rules[i].consumer;
    all.rule[consumer][all.count[consumer]++] = static_cast<u8>(i);
  }
  return all;
}
constexpr RulesOf rules_of_consumer = rules_by_consumer();

bool is_vector_unit(const Opcode& opcode) {
  return opcode.unit == Unit::valu || opcode.unit == Unit::transcendental ||
         opcode.unit == Unit::matrix;
}

bool is_lds_dma(const Instruction& in) {
  return in.opcode->unit == Unit::vector_memory && (in.lds || in.opcode->flags & writes_lds);
}

u16 producers_of(const Instruction& in) {
  const Opcode& opcode = *in.opcode;
  u16 bits = 0;
  const auto set = [&](Producer producer) { bits |= static_cast<u16>(1u << producer); };
  const bool matrix = opcode.unit == Unit::matrix;
  if (is_vector_unit(opcode) && !matrix) {
    if (in.writes && !(opcode.flags & is_dot)) set(vector_result);
    if (in.scalar_write[0] | (in.scalar_write[1] & ~exec_bits)) set(vector_scalar_result);
    if (in.scalar_write[1] & exec_bits) set(vector_exec_result);
    if (opcode.unit == Unit::transcendental) set(transcendental_result);
    const bool half = in.op_sel >> in.sources & 1 && !(opcode.flags & is_packed);
    if ((in.sdwa.used && in.sdwa.dst != 6) || half) set(partial_result);
    if (opcode.flags & is_dot) set(dot_product);
  }
  if (matrix) set(matrix_result);
  if (opcode.unit == Unit::salu && in.scalar_write[1] >> (m0_register - 64) & 1) set(scalar_m0);
  if (opcode.unit == Unit::vector_memory && opcode.flags & is_store) {
    const bool buffer = opcode.name.starts_with("buffer");
    const u32 data = buffer ? 0 : 1;
    // A buffer store with a scalar offset has no hazard (createsVALUHazard).
    const bool by_scalar = buffer && in.operand[3].is_scalar();
    if (in.operand[data].count > 2 && !by_scalar) set(wide_store);
  }
  return bits;
}

u16 consumers_of(const Instruction& in) {
  const Opcode& opcode = *in.opcode;
  u16 bits = 0;
  const auto set = [&](Consumer consumer) { bits |= static_cast<u16>(1u << consumer); };
  const bool vector = is_vector_unit(opcode);
  const bool lane_move = opcode.flags & moves_lanes;
  if (vector) set(any_vector);
  if (in.dpp.used) set(dpp_read);
  if (lane_move) {
    set(lane_access);
    if (!opcode.name.starts_with("v_write")) set(lane_read);
  }
  if (opcode.unit == Unit::vector_memory) set(memory_access);
  if (opcode.name.starts_with("v_div_fmas")) set(div_fmas);
  if (opcode.unit == Unit::matrix) set(matrix_read);
  if (is_lds_dma(in) || opcode.name.starts_with("s_movrel")) set(m0_read);
  if (vector || opcode.unit == Unit::vector_memory || opcode.unit == Unit::lds) set(register_use);
  if (opcode.name.starts_with("v_permlane")) set(permlane);
  return bits;
}

bool tied(const Rule& rule, const Instruction& a, const Instruction& b, u32& shared) {
  switch (rule.tie) {
    case Tie::result_read:
      if (rule.consumer == dpp_read) {  // of the moved source only
        for (u32 i = 0; i < a.writes; ++i) {
          const Operand& moved = b.src(0);
          if (overlaps(a.write[i], {moved.first, moved.count})) return shared = moved.first, true;
        }
        return false;
      }
      // Transcendental results do not wait for each other.
      if (rule.producer == transcendental_result && b.opcode->unit == Unit::transcendental)
        return false;
      return writes_read(a, b, shared);
    case Tie::scalar_read: return scalars_read(a, b);
    case Tie::exec: return true;
    case Tie::vcc: return (a.scalar_write[1] & vcc_bits) != 0;
    case Tie::m0: return true;
    case Tie::store_data: {
      const Operand& data = a.operand[a.opcode->name.starts_with("buffer") ? 0 : 1];
      for (u32 i = 0; i < b.writes; ++i) {
        if (overlaps(b.write[i], {data.first, data.count})) return shared = data.first, true;
      }
      return false;
    }
    case Tie::lane_select: {
      if (b.sources < 2 || !b.src(1).is_scalar()) return false;
      const u32 select = b.src(1).first;
      return select < 128 && (a.scalar_write[select >> 6] >> (select & 63) & 1);
    }
  }
  return false;
}

[[noreturn]] void fail_states(Wave& wave, const Instruction& in, const Instruction& before,
                              u64 needed, u64 found, const std::string& what) {
  wave.group->fail(wave, in, Fault::wait_states, -1,
                   what + " needs " + std::to_string(needed) + " wait states, there are " +
                       std::to_string(found) + " after " + wave.group->state.program.text(before));
}

// Matrix instructions: how long until D may be read or written. `passes` are of four cycles.
bool is_xdl(const Opcode& opcode) { return !(opcode.flags & in_f64) && !(opcode.flags & not_xdl); }

// GFX940_XDL_N_PassWriteVgprVALUMemExpRead, ...SrcAB, ...VALUWaw; gfx950 needs one more but for two
// passes.
u32 states_of_result(const Instruction& m, bool gfx950) {
  const bool xdl = is_xdl(*m.opcode);
  return m.passes + (xdl ? 3u : 2u) + (xdl && gfx950 && m.passes != 2 ? 1 : 0);
}

u32 double_states(const Instruction& m, u32 small, u32 large) {
  return m.passes <= 4 ? small : large;
}

// From matrix instruction `a` to matrix instruction `b`, which reads D of a as source `i`.
u32 matrix_to_matrix(const Instruction& a, const Instruction& b, u32 i, bool gfx950) {
  const Opcode &from = *a.opcode, &to = *b.opcode;
  const bool from_double = from.flags & in_f64, to_double = to.flags & in_f64;
  if (i < 2) {
    if (from_double) return double_states(a, 6, gfx950 ? 19 : 11);
    return states_of_result(a, gfx950);
  }
  if (i > 2) return states_of_result(a, gfx950);
  const bool same = a.dst().first == b.src(2).first && a.dst().count == b.src(2).count;
  if (same) {  // forwarded
    if (from_double && to_double && a.passes <= 4 && b.passes <= 4) return 4;
    return a.passes == 2 ? 2 : 0;
  }
  if (from_double) return is_xdl(to) ? 0 : double_states(a, 4, 9);
  if (is_xdl(to) && !is_xdl(from)) return 0;
  if (!is_xdl(from)) return a.passes;
  return a.passes + 1u + (gfx950 && a.passes != 2 ? 1 : 0);
}

// Writing source C of `a` before it was read (…ReadVgprVALUWar).
u32 states_of_source(const Instruction& m) {
  if (!is_xdl(*m.opcode)) return 0;
  return m.passes <= 2 ? 1 : m.passes <= 4 ? 3 : m.passes <= 8 ? 7 : 15;
}

struct Needed {
  u32 states = 0;
  const char* what = "";
};

Needed after_matrix(const Instruction& a, const Instruction& b, bool gfx950) {
  const Opcode& from = *a.opcode;
  const Span d = a.write[0];
  u32 shared = 0;
  Needed needed;
  const auto raise = [&](u32 states, const char* what) {
    if (states > needed.states) needed = {states, what};
  };
  if (b.opcode->unit == Unit::matrix) {
    for (u32 i = 0; i < b.sources; ++i) {
      const Operand& source = b.src(i);
      if (!source.is_vector() || !overlaps(d, {source.first, source.count})) continue;
      raise(matrix_to_matrix(a, b, i, gfx950), "a matrix result to a matrix instruction");
    }
    return needed;
  }
  const bool memory = b.opcode->unit == Unit::vector_memory || b.opcode->unit == Unit::lds;
  if (writes_read(a, b, shared)) {
    const u32 states = !(from.flags & in_f64) ? states_of_result(a, gfx950)
                       : memory               ? double_states(a, 9, 18)
                                              : double_states(a, 6, gfx950 ? 19 : 11);
    raise(states, "a matrix result to its reader");
  }
  if (writes_written(a, b, shared)) {
    const u32 states =
        from.flags & in_f64 ? double_states(a, 6, gfx950 ? 19 : 11) : states_of_result(a, gfx950);
    raise(states, "a matrix result to an overwriting instruction");
  }
  const Operand& c = a.src(2);
  for (u32 i = 0; i < b.writes && c.is_vector(); ++i) {
    if (overlaps(b.write[i], {c.first, c.count})) {
      raise(states_of_source(a), "source C of a matrix instruction to an overwriting one");
    }
  }
  return needed;
}

// DotWriteSameDotReadSrcAB, DotWriteDifferentVALURead, DotWriteDifferentVALUWrite.
Needed after_dot(const Instruction& a, const Instruction& b) {
  u32 shared = 0;
  if (!is_vector_unit(*b.opcode) && b.opcode->unit != Unit::vector_memory &&
      b.opcode->unit != Unit::lds)
    return {};
  if (a.opcode == b.opcode) {
    for (u32 i = 0; i < b.sources && i < 2; ++i) {
      const Operand& source = b.src(i);
      if (source.is_vector() && overlaps(a.write[0], {source.first, source.count})) {
        return {3, "a dot product to the factors of the same"};
      }
    }
    return {};
  }
  if (writes_read(a, b, shared) || writes_written(a, b, shared)) {
    return {3, "a dot product to another instruction"};
  }
  return {};
}

template <class F>
void for_issued(const Wave& wave, u64 reach, F f) {
  const u32 count = std::min(wave.issued_count, Wave::issued_capacity);
  for (u32 i = 0; i < count; ++i) {
    const Issued& before = wave.issued[(wave.issued_count - 1 - i) % Wave::issued_capacity];
    const u64 states = wave.clock - before.clock - 1;
    if (states >= reach) return;
    f(*before.instruction, states);
  }
}

void check_rule(Wave& wave, const Instruction& in, const Rule& rule) {
  for_issued(wave, rule.states, [&](const Instruction& before, u64 states) {
    u32 shared = 0;
    if (before.produces >> rule.producer & 1 && tied(rule, before, in, shared)) {
      fail_states(wave, in, before, rule.states, states, rule.what);
    }
  });
}

}  // namespace

void classify_hazards(Instruction& in) {
  in.produces = producers_of(in);
  in.hazards = consumers_of(in);
}

void check_hazards(Wave& wave, const Instruction& in) {
  for (u32 bits = in.hazards; bits; bits &= bits - 1) {
    const u32 consumer = static_cast<u32>(__builtin_ctz(bits));
    for (u32 i = 0; i < rules_of_consumer.count[consumer]; ++i) {
      const Rule& rule = hazard_rules[rules_of_consumer.rule[consumer][i]];
      if (wave.clock - wave.produced[rule.producer] - 1 < rule.states) check_rule(wave, in, rule);
    }
  }
  if (!(in.hazards >> register_use & 1)) return;
  const bool gfx950 = wave.group->state.target == Target::gfx950;
  if (wave.clock < wave.matrix_until) {
    for_issued(wave, 24, [&](const Instruction& before, u64 states) {
      if (!(before.produces >> matrix_result & 1) || !before.writes) return;
      const Needed needed = after_matrix(before, in, gfx950);
      if (states < needed.states) {
        fail_states(wave, in, before, needed.states, states, needed.what);
      }
    });
  }
  if (wave.clock - wave.produced[dot_product] - 1 < 3) {
    for_issued(wave, 3, [&](const Instruction& before, u64 states) {
      if (!(before.produces >> dot_product & 1)) return;
      const Needed needed = after_dot(before, in);
      if (states < needed.states) {
        fail_states(wave, in, before, needed.states, states, needed.what);
      }
    });
  }
}

void note_issued(Wave& wave, const Instruction& in) {
  wave.issued[wave.issued_count++ % Wave::issued_capacity] = {&in, wave.clock};
  for (u32 bits = in.produces; bits; bits &= bits - 1) {
    wave.produced[__builtin_ctz(bits)] = wave.clock;
  }
  if (in.produces >> matrix_result & 1) {
    wave.matrix_until = std::max(wave.matrix_until, wave.clock + 24);
  }
  ++wave.clock;
}

}  // namespace instinct
