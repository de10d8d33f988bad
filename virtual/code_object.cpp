#include "virtual/code_object.h"

#include <sys/mman.h>

#include <algorithm>

namespace instinct {

u32 Kernel::explicit_bytes() const {
  u32 bytes = 0;
  for (const KernelArgument& argument : arguments) {
    if (argument.is_explicit()) bytes = std::max(bytes, argument.offset + argument.size);
  }
  return bytes;
}

CodeObject::~CodeObject() {
  if (image_) munmap(image_, image_bytes_);
}

const Kernel* CodeObject::find_kernel(std::string_view name) const {
  const auto found = std::ranges::find(kernels_, name, &Kernel::name);
  return found == kernels_.end() ? nullptr : &*found;
}

const Symbol* CodeObject::find_symbol(std::string_view name) const {
  const auto found = std::ranges::find(symbols_, name, &Symbol::name);
  return found == symbols_.end() ? nullptr : &*found;
}

std::string_view CodeObject::function_at(u64 address) const {
  const auto start = [&](u32 symbol) { return symbols_[symbol].address; };
  const auto after = std::ranges::upper_bound(functions_, address, {}, start);
  if (after == functions_.begin()) return {};
  const Symbol& symbol = symbols_[*(after - 1)];
  return address - symbol.address < std::max<u64>(symbol.size, 1) ? symbol.name
                                                                  : std::string_view();
}

std::optional<SourceLine> CodeObject::source_line(u64 address) const {
  return lines_.find(file_address(address));
}

const Program& CodeObject::program(
    const std::function<std::shared_ptr<const Program>(const CodeObject&)>& decode) const {
  std::call_once(decode_once_, [&] { program_ = decode(*this); });
  return *program_;
}

}  // namespace instinct
