#include "virtual/instruction.h"

#include <cstring>

#include "virtual/checks.h"
#include "virtual/disassembler.h"
#include "virtual/opcode.h"

namespace instinct {
namespace {

constexpr u32 no_register = ~0u;

bool is_relative_branch(std::string_view text) {
  return text.starts_with("s_cbranch_") || text.starts_with("s_branch") ||
         text.starts_with("s_call_b64");
}

std::string_view trim_left(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

}  // namespace

std::shared_ptr<const Program> Program::decode(const CodeObject& object) {
  auto program = std::make_shared<Program>();
  program->target_ = object.target();
  for (const Segment& text : object.text()) program->decode_section(text);
  program->link();
  return program;
}

std::shared_ptr<const Program> Program::from_text(const std::vector<std::string>& lines,
                                                  Target target) {
  auto program = std::make_shared<Program>();
  program->target_ = target;
  Section section{0, 4 * lines.size(), {}};
  for (const std::string& line : lines) {
    Instruction in = parse_instruction(line, target);
    in.index = static_cast<u32>(program->instructions_.size());
    in.address = 4 * in.index;
    in.size = 4;
    section.index.push_back(in.index);
    program->instructions_.push_back(in);
    program->text_.push_back(line);
  }
  program->sections_.push_back(std::move(section));
  program->link();
  return program;
}

void Program::decode_section(const Segment& text) {
  Disassembler disassembler(target_);
  Section section{text.address, text.size, std::vector<u32>(text.size / 4, no_register)};
  const u8* bytes = reinterpret_cast<const u8*>(text.address);
  std::string printed;
  for (u64 at = 0; at + 4 <= text.size;) {
    const u32 size = disassembler.decode({bytes + at, text.size - at}, text.address + at, printed);
    Instruction in = size ? parse_instruction(printed, target_) : Instruction{};
    in.size = static_cast<u8>(size ? size : 4);
    in.address = text.address + at;
    in.index = static_cast<u32>(instructions_.size());
    section.index[at / 4] = in.index;
    instructions_.push_back(in);
    text_.emplace_back(size ? trim_left(printed) : "(not an instruction)");
    at += in.size;
  }
  sections_.push_back(std::move(section));
  // A wave that runs past the end of the code stops here.
  Instruction end;
  end.index = static_cast<u32>(instructions_.size());
  end.address = text.address + text.size;
  instructions_.push_back(end);
  text_.emplace_back("(end of the code)");
}

void Program::link() {
  for (Instruction& in : instructions_) {
    if (!in.opcode) in.handler = &stop_at_unknown;
    if (in.opcode) classify_hazards(in);
    if (!is_relative_branch(text_[in.index])) continue;
    // "CDNA3 ISA", S_BRANCH: PC = PC + 4 + SIMM16 * 4, of the instruction's own PC.
    const Operand& distance = in.operand[in.operand_count - 1];
    const u64 to = in.address + 4 + static_cast<u64>(i64{static_cast<i16>(distance.value)} * 4);
    const Instruction* target = at(to);
    in.target = target ? static_cast<i64>(target->index) : -1;
  }
}

const Instruction* Program::at(u64 address) const {
  for (const Section& section : sections_) {
    if (address < section.address || address - section.address >= section.size) continue;
    const u64 offset = address - section.address;
    if (offset % 4 || offset / 4 >= section.index.size()) return nullptr;
    const u32 index = section.index[offset / 4];
    return index == no_register ? nullptr : &instructions_[index];
  }
  return nullptr;
}

std::string Program::text(const Instruction& instruction) const { return text_[instruction.index]; }

std::string_view Program::mnemonic(const Instruction& instruction) const {
  const std::string_view text = text_[instruction.index];
  return text.substr(0, text.find_first_of(" \t"));
}

}  // namespace instinct
