#include "virtual/disassembler.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

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
  char buffer[512];
  const size_t size = LLVMDisasmInstruction(context_, const_cast<u8*>(code.data()), code.size(),
                                            address, buffer, sizeof(buffer));
  text = size ? buffer : "";
  return static_cast<u32>(size);
}

}  // namespace instinct
