#include "virtual/disassembler.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

namespace instinct {
namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
}

// LLVM 22 crashes at some words that are no instruction, so it is not asked about them. In an
// operand that is encoded as a literal, it reads one even where the encoding has none; where no
// bytes are left, its complaint goes to a null stream. It takes the registers of a matrix operand
// that is a constant, and names reserved selections of SDWA. The fields are those of "CDNA3 ISA"
// and "CDNA4 ISA", "Microcode Formats".
constexpr u32 literal = 255;
constexpr u32 longest_instruction = 16;

using Words = std::array<u32, longest_instruction / 4>;

constexpr u32 field(u32 word, u32 first, u32 bits) { return (word >> first) & ((1u << bits) - 1); }

// The second word of VOP3, VOP3P and VOP3P-MAI.
constexpr bool has_literal_source(u32 word) {
  return field(word, 0, 9) == literal || field(word, 9, 9) == literal ||
         field(word, 18, 9) == literal;
}

constexpr bool is_matrix_operation_of_constants(u32 first, u32 second) {
  const u32 opcode = first >> 16;  // v_mfma_f32_16x16x128_f8f6f4 and v_mfma_f32_32x32x64_f8f6f4
  const bool both_are_vectors = field(second, 8, 1) && field(second, 17, 1);
  return (opcode == 0xd3ad || opcode == 0xd3ae) && !both_are_vectors;
}

constexpr bool is_malformed_vop3(const Words& words) {
  const u32 opcode = field(words[0], 16, 10);
  const bool writes_scalar = opcode < 0x100 || opcode == 0x289;  // comparisons, v_readlane_b32
  if (writes_scalar && field(words[0], 0, 8) == literal) return true;
  if (has_literal_source(words[1]) || is_matrix_operation_of_constants(words[0], words[1])) {
    return true;
  }
  const bool is_scaled = opcode == 0x3ac;  // the scales; the matrix operation follows
  return is_scaled &&
         (has_literal_source(words[3]) || is_matrix_operation_of_constants(words[2], words[3]));
}

constexpr bool is_malformed_sdwa(const Words& words) {
  const u32 reserved_select = 7, reserved_unused = 3;
  if (field(words[1], 16, 3) == reserved_select || field(words[1], 24, 3) == reserved_select) {
    return true;
  }
  const bool is_compare = words[0] >> 25 == 0x3e;  // has a scalar destination in these bits
  return !is_compare &&
         (field(words[1], 8, 3) == reserved_select || field(words[1], 11, 2) == reserved_unused);
}

constexpr bool is_malformed(const Words& words) {
  const u32 encoding = words[0] >> 26;
  if (encoding == 0x34) return is_malformed_vop3(words);
  const bool is_buffer = encoding == 0x38 || encoding == 0x3a;  // MUBUF, MTBUF
  if (is_buffer) return field(words[1], 24, 8) == literal;      // the offset
  const bool is_sdwa = words[0] >> 31 == 0 && field(words[0], 0, 9) == 0xf9;
  return is_sdwa && is_malformed_sdwa(words);
}

}  // namespace

Disassembler::Disassembler(Target target) {
  initialize_llvm();
  context_ = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", name_of(target), "", nullptr, 0,
                                         nullptr, nullptr);
  if (!context_) {
    throw Error(Error::Kind::not_supported,
                std::string("LLVM has no disassembler for ") + name_of(target));
  }
  LLVMSetDisasmOptions(context_, LLVMDisassembler_Option_PrintImmHex);
}

Disassembler::~Disassembler() { LLVMDisasmDispose(context_); }

u32 Disassembler::decode(std::span<const u8> code, u64 address, std::string& text) {
  // Zeros behind the end of the code: the words of an instruction are all there.
  Words words = {};
  std::memcpy(words.data(), code.data(), std::min<size_t>(code.size(), longest_instruction));
  text.clear();
  if (is_malformed(words)) return 0;
  char buffer[512];
  const size_t size = LLVMDisasmInstruction(context_, reinterpret_cast<u8*>(words.data()),
                                            longest_instruction, address, buffer, sizeof(buffer));
  if (size == 0 || size > code.size()) return 0;
  text = buffer;
  return static_cast<u32>(size);
}

}  // namespace instinct
