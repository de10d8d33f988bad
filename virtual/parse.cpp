// The text of an instruction, as LLVM's AMDGPU printer writes it ("User Guide for AMDGPU Backend",
// "Syntax of AMDGPU Instruction Operands" and "... Modifiers"), into an Instruction.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

#include "virtual/instruction.h"
#include "virtual/opcode.h"
#include "virtual/resolve.h"

namespace instinct {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool eat(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<i64> parse_integer(std::string_view text) {
  const bool negative = eat(text, "-");
  const int base = eat(text, "0x") ? 16 : 10;
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return static_cast<i64>(negative ? 0 - value : value);
}

// Splits at a character outside of brackets.
std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '(') ++depth;
    if (text[i] == ']' || text[i] == ')') --depth;
    if (text[i] == at && depth == 0) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trim(text.substr(begin)));
  std::erase_if(parts, [](std::string_view part) { return part.empty(); });
  return parts;
}

struct NamedScalar {
  std::string_view name;
  u16 first;
  u8 count;
};
constexpr NamedScalar named[] = {
    {"vcc", vcc_register, 2},
    {"vcc_lo", vcc_register, 1},
    {"vcc_hi", vcc_register + 1, 1},
    {"exec", exec_register, 2},
    {"exec_lo", exec_register, 1},
    {"exec_hi", exec_register + 1, 1},
    {"m0", m0_register, 1},
    {"flat_scratch", 102, 2},
    {"flat_scratch_lo", 102, 1},
    {"xnack_mask", 104, 2},
    {"flat_scratch_hi", 103, 1},
    {"xnack_mask_lo", 104, 1},
    {"src_vccz", 251, 1},
    {"xnack_mask_hi", 105, 1},
    {"src_execz", 252, 1},
    {"vccz", 251, 1},
    {"execz", 252, 1},
    {"src_scc", 253, 1},
    {"scc", 253, 1},
};
struct NamedValue {
  std::string_view name;
  u64 value;
};
// Apertures: their limits are never compared by compilers for these targets.
constexpr NamedValue values[] = {
    {"src_shared_base", u64{shared_aperture} << 32},
    {"src_private_base", u64{private_aperture} << 32},
    {"src_shared_limit", u64{shared_aperture} << 32 | 0xffffffff},
    {"src_private_limit", u64{private_aperture} << 32 | 0xffffffff},
    {"src_pops_exiting_wave_id", 0},
};
constexpr NamedValue hardware_registers[] = {
    {"HW_REG_MODE", 1},   {"HW_REG_STATUS", 2},        {"HW_REG_TRAPSTS", 3},
    {"HW_REG_HW_ID", 4},  {"HW_REG_GPR_ALLOC", 5},     {"HW_REG_LDS_ALLOC", 6},
    {"HW_REG_IB_STS", 7}, {"HW_REG_SH_MEM_BASES", 15}, {"HW_REG_XCC_ID", 20},
};

// hwreg(name[, offset, size]) as the 16 bits of the instruction.
u64 parse_hwreg(std::string_view arguments) {
  const auto parts = split(arguments, ',');
  u64 id = 0, offset = 0, size = 32;
  if (!parts.empty()) {
    id = static_cast<u64>(parse_integer(parts[0]).value_or(0));
    for (const auto& known : hardware_registers) {
      if (known.name == parts[0]) id = known.value;
    }
  }
  if (parts.size() == 3) {
    offset = static_cast<u64>(parse_integer(parts[1]).value_or(0));
    size = static_cast<u64>(parse_integer(parts[2]).value_or(32));
  }
  return id | offset << 6 | (size - 1) << 11;
}

u64 parse_gpr_index(std::string_view arguments) {
  u64 value = 0;
  for (std::string_view part : split(arguments, ',')) {
    if (part == "SRC0") value |= 1;
    if (part == "SRC1") value |= 2;
    if (part == "SRC2") value |= 4;
    if (part == "DST") value |= 8;
  }
  return value;
}

// v7, v[2:3], a0, s[4:5], ttmp1.
bool parse_register(std::string_view text, Operand& operand) {
  const char kind = text.empty() ? ' ' : text[0];
  if (kind != 'v' && kind != 's' && kind != 'a') return false;
  std::string_view rest = text.substr(1);
  i64 first, last;
  if (eat(rest, "[") && !rest.empty() && rest.back() == ']') {
    rest.remove_suffix(1);
    const size_t colon = rest.find(':');
    const auto from = parse_integer(rest.substr(0, colon));
    const auto to = colon == std::string_view::npos ? from : parse_integer(rest.substr(colon + 1));
    if (!from || !to || *to < *from) return false;
    first = *from;
    last = *to;
  } else {
    if (rest.empty() || rest[0] < '0' || rest[0] > '9') return false;
    const auto number = parse_integer(rest);
    if (!number) return false;
    first = last = *number;
  }
  if (last >= (kind == 's' ? 102 : 256)) return false;
  operand.kind = kind == 's' ? Operand::Kind::scalar : Operand::Kind::vector;
  operand.first = static_cast<u16>(first + (kind == 'a' ? first_accumulator : 0));
  operand.count = static_cast<u8>(last - first + 1);
  return true;
}

// Removes -, |...|, abs(...), neg(...), sext(...) around an operand.
std::string_view strip_modifiers(std::string_view text, Operand& operand) {
  const auto unwrap = [&](std::string_view open, std::string_view close) {
    if (!text.starts_with(open) || !text.ends_with(close) ||
        text.size() < open.size() + close.size())
      return false;
    text = text.substr(open.size(), text.size() - open.size() - close.size());
    return true;
  };
  // A minus before a digit is part of a number.
  const bool sign = text.size() > 1 && text[0] == '-' && (text[1] < '0' || text[1] > '9');
  if (sign) {
    operand.negate = true;
    text.remove_prefix(1);
  }
  if (unwrap("neg(", ")")) operand.negate = true;
  if (unwrap("|", "|") || unwrap("abs(", ")")) operand.absolute = true;
  if (unwrap("sext(", ")")) operand.sign_extend = true;
  return text;
}

bool parse_named(std::string_view text, Operand& operand) {
  for (const auto& known : named) {
    if (known.name != text) continue;
    operand.kind = Operand::Kind::scalar;
    operand.first = known.first;
    operand.count = known.count;
    return true;
  }
  for (const auto& known : values) {
    if (known.name != text) continue;
    operand.kind = Operand::Kind::constant;
    operand.value = known.value;
    return true;
  }
  return false;
}

Operand parse_operand(std::string_view text) {
  Operand operand;
  text = strip_modifiers(text, operand);
  if (parse_register(text, operand) || parse_named(text, operand)) return operand;
  if (text == "off" || text == "null") {
    operand.kind = Operand::Kind::off;
    return operand;
  }
  const size_t open = text.find('(');
  if (open != std::string_view::npos && text.back() == ')') {
    const std::string_view name = text.substr(0, open);
    const std::string_view arguments = text.substr(open + 1, text.size() - open - 2);
    if (name == "lit" || name == "lit64") {  // a literal that could have been an inline constant
      const auto literal = parse_integer(arguments);
      operand.kind = Operand::Kind::constant;
      operand.literal = name == "lit";
      operand.value = static_cast<u64>(literal.value_or(0));
      return operand;
    }
    operand.kind = Operand::Kind::special;
    if (name == "hwreg") operand.value = parse_hwreg(arguments);
    if (name == "gpr_idx") operand.value = parse_gpr_index(arguments);
    return operand;
  }
  if (const auto integer = parse_integer(text)) {
    operand.kind = Operand::Kind::constant;
    operand.value = static_cast<u64>(*integer);
    return operand;
  }
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() + copy.size() && !copy.empty()) {
    operand.kind = Operand::Kind::constant;
    operand.floating = true;
    operand.value = std::bit_cast<u64>(number);
    return operand;
  }
  operand.kind = Operand::Kind::special;
  return operand;
}

u8 parse_bit_list(std::string_view text) {
  eat(text, "[");
  u8 bits = 0;
  int i = 0;
  for (const char c : text) {
    if (c == '0' || c == '1') bits |= static_cast<u8>((c - '0') << i++);
  }
  return bits;
}

u8 parse_select(std::string_view text) {
  constexpr std::string_view names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                        "WORD_0", "WORD_1", "DWORD"};
  return static_cast<u8>(std::ranges::find(names, text) - std::begin(names));
}

// ds_swizzle's offset:swizzle(MODE, ...) as its 16 bits ("CDNA3 ISA", DS_SWIZZLE_B32).
i32 parse_swizzle(std::string_view arguments) {
  const auto parts = split(arguments, ',');
  const auto number = [&](size_t i) {
    return i < parts.size() ? static_cast<i32>(parse_integer(parts[i]).value_or(0)) : 0;
  };
  if (parts.empty()) return 0;
  if (parts[0] == "QUAD_PERM") {
    return 0x8000 | number(1) | number(2) << 2 | number(3) << 4 | number(4) << 6;
  }
  if (parts[0] == "SWAP") return 0x1f | number(1) << 10;
  if (parts[0] == "REVERSE") return 0x1f | (number(1) - 1) << 10;
  if (parts[0] == "BROADCAST") return (0x20 - number(1)) | number(2) << 5;
  if (parts[0] == "BITMASK_PERM" && parts.size() == 2 && parts[1].size() >= 5) {
    std::string_view mask = parts[1];
    if (mask.front() == '"') mask = mask.substr(1, 5);
    i32 and_mask = 0, or_mask = 0, xor_mask = 0;
    for (int bit = 0; bit < 5; ++bit) {
      const char c = mask[4 - bit];
      if (c == '1') or_mask |= 1 << bit;
      if (c == 'p' || c == 'i') and_mask |= 1 << bit;
      if (c == 'i') xor_mask |= 1 << bit;
    }
    return and_mask | or_mask << 5 | xor_mask << 10;
  }
  return 0;
}

struct DppName {
  std::string_view name;
  u16 base;
};
// "CDNA3 ISA", table of DPP_CTRL encodings.
constexpr DppName dpp_shifts[] = {
    {"row_shl:", 0x100}, {"row_shr:", 0x110}, {"row_ror:", 0x120}, {"row_newbcast:", 0x150}};
constexpr DppName dpp_whole[] = {{"wave_shl:1", 0x130},   {"wave_rol:1", 0x134},
                                 {"wave_shr:1", 0x138},   {"wave_ror:1", 0x13c},
                                 {"row_mirror", 0x140},   {"row_half_mirror", 0x141},
                                 {"row_bcast:15", 0x142}, {"row_bcast:31", 0x143}};

bool parse_dpp(std::string_view token, Instruction& in) {
  for (const auto& known : dpp_whole) {
    if (known.name == token) {
      in.dpp.used = true;
      in.dpp.control = known.base;
      return true;
    }
  }
  for (const auto& known : dpp_shifts) {
    std::string_view rest = token;
    if (!eat(rest, known.name)) continue;
    in.dpp.used = true;
    in.dpp.control = static_cast<u16>(known.base + parse_integer(rest).value_or(0));
    return true;
  }
  if (eat(token, "quad_perm:[")) {
    in.dpp.used = true;
    int shift = 0;
    for (const char c : token) {
      if (c >= '0' && c <= '3') in.dpp.control |= static_cast<u16>((c - '0') << shift), shift += 2;
    }
    return true;
  }
  const auto number = [&] { return static_cast<u8>(parse_integer(token).value_or(0)); };
  if (eat(token, "row_mask:")) return in.dpp.row_mask = number(), true;
  if (eat(token, "bank_mask:")) return in.dpp.bank_mask = number(), true;
  // LLVM prints bound_ctrl:1 (older ones :0) if the bit is set.
  if (eat(token, "bound_ctrl:")) return in.dpp.bound_ctrl = true, true;
  return false;
}

bool parse_sdwa(std::string_view token, Instruction& in) {
  if (eat(token, "dst_sel:")) return in.sdwa.dst = parse_select(token), true;
  if (eat(token, "src0_sel:")) return in.sdwa.source[0] = parse_select(token), true;
  if (eat(token, "src1_sel:")) return in.sdwa.source[1] = parse_select(token), true;
  if (eat(token, "dst_unused:")) {
    in.sdwa.unused = token == "UNUSED_SEXT" ? 1 : token == "UNUSED_PRESERVE" ? 2 : 0;
    return true;
  }
  return false;
}

bool parse_flag(std::string_view token, Instruction& in) {
  const std::pair<std::string_view, bool*> flags[] = {
      {"clamp", &in.clamp}, {"offen", &in.offen}, {"idxen", &in.idxen}, {"lds", &in.lds},
      {"gds", &in.gds},     {"sc0", &in.sc0},     {"sc1", &in.sc1},     {"nt", &in.nt},
      {"glc", &in.sc0},     {"slc", &in.nt},      {"scc", &in.sc1}};
  for (const auto& [name, flag] : flags) {
    if (name == token) return *flag = true, true;
  }
  return false;
}

bool parse_number_modifier(std::string_view token, Instruction& in) {
  const auto number = [&] { return parse_integer(token).value_or(0); };
  if (eat(token, "offset:swizzle(")) {
    return in.offset = parse_swizzle(token.substr(0, token.size() - 1)), true;
  }
  if (eat(token, "offset:")) return in.offset = static_cast<i32>(number()), true;
  if (eat(token, "offset0:")) return in.offset0 = static_cast<u8>(number()), true;
  if (eat(token, "offset1:")) return in.offset1 = static_cast<u8>(number()), true;
  if (eat(token, "op_sel:")) return in.op_sel = parse_bit_list(token), true;
  if (eat(token, "op_sel_hi:")) return in.op_sel_hi = parse_bit_list(token), true;
  if (eat(token, "neg_lo:")) return in.neg_lo = parse_bit_list(token), true;
  if (eat(token, "neg_hi:")) return in.neg_hi = parse_bit_list(token), true;
  if (eat(token, "cbsz:")) return in.cbsz = static_cast<u8>(number()), true;
  if (eat(token, "abid:")) return in.abid = static_cast<u8>(number()), true;
  if (eat(token, "blgp:")) return in.blgp = static_cast<u8>(number()), true;
  if (eat(token, "bitop3:")) return in.bitop3 = static_cast<u8>(number()), true;
  if (eat(token, "byte_sel:")) return in.byte_sel = static_cast<u8>(number()), true;
  if (eat(token, "neg:")) return in.blgp = parse_bit_list(token), true;  // f64 MFMA: neg:[a,b,c]
  if (token == "mul:2") return in.omod = 1, true;
  if (token == "mul:4") return in.omod = 2, true;
  if (token == "div:2") return in.omod = 3, true;
  return false;
}

bool parse_modifier(std::string_view token, Instruction& in) {
  return parse_flag(token, in) || parse_number_modifier(token, in) || parse_dpp(token, in) ||
         parse_sdwa(token, in);
}

Waits parse_waits(std::string_view text) {
  Waits waits;
  if (const auto raw = parse_integer(text)) {  // "CDNA3 ISA", S_WAITCNT: vm in 3:0 and 15:14
    waits.vm = static_cast<u8>((*raw & 0xf) | (*raw >> 14 & 3) << 4);
    waits.exp = *raw >> 4 & 7;
    waits.lgkm = *raw >> 8 & 0xf;
    return waits;
  }
  const std::pair<std::string_view, u8*> counters[] = {
      {"vmcnt(", &waits.vm}, {"expcnt(", &waits.exp}, {"lgkmcnt(", &waits.lgkm}};
  for (std::string_view part : split(text, ' ')) {
    for (const auto& [name, counter] : counters) {
      std::string_view rest = part;
      if (eat(rest, name) && !rest.empty()) {
        *counter = static_cast<u8>(parse_integer(rest.substr(0, rest.size() - 1)).value_or(0));
      }
    }
  }
  return waits;
}

std::string_view strip_suffix(std::string_view mnemonic, Instruction& in) {
  const auto strip = [&](std::string_view suffix) {
    if (!mnemonic.ends_with(suffix)) return false;
    mnemonic.remove_suffix(suffix.size());
    return true;
  };
  if (strip("_sdwa"))
    in.sdwa.used = true;
  else if (strip("_dpp"))
    in.dpp.used = true;
  if (!strip("_e32")) strip("_e64");
  return mnemonic;
}

}  // namespace

Instruction parse_instruction(std::string_view text, Target target) {
  Instruction in;
  in.op_sel_hi = op_sel_not_printed;
  text = trim(text.substr(0, text.find("//")));
  // LLVM decodes some words that are no instruction and says so: "a[2:3]/*Invalid register, ...*/".
  if (text.find("/*") != std::string_view::npos) return in;
  const size_t space = text.find_first_of(" \t");
  const std::string_view mnemonic = strip_suffix(text.substr(0, space), in);
  std::string_view rest =
      space == std::string_view::npos ? std::string_view{} : trim(text.substr(space));
  if (mnemonic == "s_waitcnt") {
    in.waits = parse_waits(rest);
    rest = {};
  }
  for (std::string_view part : split(rest, ',')) {
    bool first = true;
    for (std::string_view token : split(part, ' ')) {
      const bool modifier = parse_modifier(token, in);
      if (!modifier && first && in.operand_count < Instruction::operands) {
        in.operand[in.operand_count++] = parse_operand(token);
      }
      first = false;
    }
  }
  in.opcode = find_opcode(mnemonic, target);
  if (in.opcode) apply_opcode(in);
  return in;
}

}  // namespace instinct
