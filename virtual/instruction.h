// One machine instruction, parsed once from what LLVM's disassembler prints.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "virtual/code_object.h"
#include "virtual/types.h"

namespace instinct {

struct Instruction;
struct Opcode;
struct Wave;

// Scalar registers stand where the machine encodes them ("CDNA3 ISA", table "Scalar operands").
enum ScalarRegister : u16 {
  flat_scratch_register = 102,
  vcc_register = 106,
  m0_register = 124,
  exec_register = 126,
  vccz_register = 251,
  execz_register = 252,
  scc_register = 253,
  scalar_count = 256,
};
inline constexpr u16 first_accumulator = 256;  // a0 is row 256 of the vector registers
inline constexpr u16 vector_count = 512;

// A flat address belongs to LDS or scratch if its upper word is one of these.
inline constexpr u32 shared_aperture = 0x00fe0000;
inline constexpr u32 private_aperture = 0x00fd0000;

struct Operand {
  enum class Kind : u8 {
    none,
    constant,  // `value`, already in the format of the operand
    scalar,    // `count` registers from `first`
    vector,    // likewise; accumulators from first_accumulator on
    off,       // no address register
    special,   // hwreg(...), sendmsg(...): `value`
  };
  Kind kind = Kind::none;
  u8 count = 0;
  bool negate = false;
  bool absolute = false;
  bool sign_extend = false;  // SDWA: sext(...)
  bool floating = false;     // an inline constant such as 1.0, until the opcode is known
  bool literal = false;      // printed as lit(...)
  u16 first = 0;
  u64 value = 0;

  bool is_vector() const { return kind == Kind::vector; }
  bool is_scalar() const { return kind == Kind::scalar; }
};

// How lanes of source 0 are moved before the operation.
struct Dpp {
  bool used = false;
  u16 control = 0;  // "CDNA3 ISA", DPP_CTRL; 0x150 + n is row_newbcast:n
  u8 row_mask = 0xf;
  u8 bank_mask = 0xf;
  bool bound_ctrl = false;
};

// Which part of a word an SDWA instruction reads or writes: 0-3 byte, 4-5 word, 6 all of it.
struct Sdwa {
  bool used = false;
  u8 dst = 6;
  u8 unused = 0;  // 0 pad with zero, 1 sign-extend, 2 preserve
  u8 source[2] = {6, 6};
};

// Registers that an instruction reads or writes as a whole.
struct Span {
  u16 first = 0;
  u16 count = 0;
};

struct Waits {
  u8 vm = 63;
  u8 lgkm = 15;
  u8 exp = 7;
};

struct Instruction {
  static constexpr int operands = 8;
  // What the loop looks at.
  void (*handler)(Wave&, const Instruction&) = nullptr;
  void (*kernel)() = nullptr;  // of the opcode, to be cast by the handler
  const Opcode* opcode = nullptr;
  u32 index = 0;  // in the program
  u8 size = 4;
  u8 destinations = 0;
  u8 operand_count = 0;
  bool plain = true;  // no modifier that changes sources or results
  u8 reads = 0;       // used entries of `read`, `write`
  u8 writes = 0;
  u8 sources = 0;
  u8 passes = 0;  // matrix instructions: of four cycles each
  // hazards.cpp: wait states that it may need before it, and what it makes others wait for.
  u16 hazards = 0;
  u16 produces = 0;
  Span read[6];
  Span write[3];
  u64 scalar_read[2] = {};  // bits 0-127
  u64 scalar_write[2] = {};

  Operand operand[operands];
  // Modifiers.
  i32 offset = 0;
  u8 offset0 = 0, offset1 = 0;  // of the two halves of ds_read2 and the like
  bool clamp = false;
  u8 omod = 0;  // 1: *2, 2: *4, 3: /2
  u8 op_sel = 0;
  u8 op_sel_hi = 0;  // bits in the order of the sources
  u8 neg_lo = 0, neg_hi = 0;
  u8 cbsz = 0, abid = 0, blgp = 0;
  bool sc0 = false, sc1 = false, nt = false;
  bool offen = false, idxen = false, lds = false, gds = false;
  u8 byte_sel = 0;
  u8 bitop3 = 0;
  Dpp dpp;
  Sdwa sdwa;
  Waits waits;
  i64 target = -1;  // index of the instruction that a branch goes to
  u64 address = 0;

  const Operand& dst(u32 i = 0) const { return operand[i]; }
  const Operand& src(u32 i) const { return operand[destinations + i]; }
};

// All instructions of a code object, in the order of their addresses.
class Program {
 public:
  static std::shared_ptr<const Program> decode(const CodeObject& object);

  // From text, for tests: each line is an instruction of four bytes, from address 0 on.
  static std::shared_ptr<const Program> from_text(const std::vector<std::string>& lines,
                                                  Target target);

  const std::vector<Instruction>& instructions() const { return instructions_; }
  // The instruction at an address of the image, or nullptr.
  const Instruction* at(u64 address) const;
  std::string text(const Instruction& instruction) const;  // as the disassembler prints it
  std::string_view mnemonic(const Instruction& instruction) const;
  Target target() const { return target_; }

 private:
  void decode_section(const Segment& text);
  void link();

  struct Section {
    u64 address;
    u64 size;
    std::vector<u32> index;  // of each word; ~0u inside or without an instruction
  };
  Target target_ = Target::gfx942;
  std::vector<Instruction> instructions_;
  std::vector<std::string> text_;
  std::vector<Section> sections_;
};

// `text` as LLVM prints it. Sets everything but what depends on the place in the program. An
// unknown mnemonic or operands that the mnemonic cannot have leave `opcode` empty: an error only if
// it is executed.
Instruction parse_instruction(std::string_view text, Target target);

}  // namespace instinct
