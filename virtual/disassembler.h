// The only place that knows LLVM: its stable C interface (llvm-c/Disassembler.h).
#pragma once

#include <span>
#include <string>

#include "virtual/types.h"

namespace instinct {

class Disassembler {
 public:
  explicit Disassembler(Target target);
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  // Bytes of the instruction at the start of `code`; its text is put into `text`. 0: none there.
  u32 decode(std::span<const u8> code, u64 address, std::string& text);

 private:
  void* context_;
};

}  // namespace instinct
