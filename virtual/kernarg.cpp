#include "virtual/kernarg.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace instinct {
namespace {

using Kind = KernelArgument::Kind;

[[noreturn]] void fail(const Kernel& kernel, const std::string& why) {
  throw Error(Error::Kind::invalid_value, "kernel '" + kernel.name + "': " + why);
}

std::string text_of(Dim3 dim) {
  return std::to_string(dim.x) + " x " + std::to_string(dim.y) + " x " + std::to_string(dim.z);
}

// "Code Object V5 Metadata": what each hidden argument holds. Grids are whole workgroups here, so
// that remainders are zero.
u64 hidden_value(Kind kind, Dim3 grid, Dim3 block, u32 dynamic_lds) {
  switch (kind) {
    case Kind::hidden_block_count_x: return grid.x;
    case Kind::hidden_block_count_y: return grid.y;
    case Kind::hidden_block_count_z: return grid.z;
    case Kind::hidden_group_size_x: return block.x;
    case Kind::hidden_group_size_y: return block.y;
    case Kind::hidden_group_size_z: return block.z;
    case Kind::hidden_grid_dims: return grid.z * block.z > 1 ? 3 : grid.y * block.y > 1 ? 2 : 1;
    case Kind::hidden_dynamic_lds_size: return dynamic_lds;
    default: return 0;
  }
}

}  // namespace

std::vector<std::byte> make_kernarg(const Kernel& kernel, std::span<const std::byte> arguments,
                                    Dim3 grid, Dim3 block, u32 dynamic_lds) {
  const u32 needed = kernel.explicit_bytes();
  const u32 segment = kernel.descriptor.kernarg_bytes;
  if (arguments.size() < needed || arguments.size() > std::max((needed + 15) / 16 * 16, segment)) {
    fail(kernel, "its arguments have " + std::to_string(needed) + " bytes, given are " +
                     std::to_string(arguments.size()));
  }
  std::vector<std::byte> bytes(segment);
  if (!arguments.empty()) {
    std::memcpy(bytes.data(), arguments.data(), std::min<std::size_t>(arguments.size(), segment));
  }
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.is_explicit()) continue;
    const u64 value = hidden_value(argument.kind, grid, block, dynamic_lds);
    std::memset(bytes.data() + argument.offset, 0, argument.size);
    std::memcpy(bytes.data() + argument.offset, &value, std::min<u32>(argument.size, 8));
  }
  return bytes;
}

std::vector<std::byte> pack_arguments(const Kernel& kernel, void* const* pointers) {
  std::vector<std::byte> bytes(kernel.explicit_bytes());
  u32 index = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (!argument.is_explicit()) continue;
    if (!pointers || !pointers[index]) {
      fail(kernel, "argument " + std::to_string(index) + " is missing");
    }
    std::memcpy(bytes.data() + argument.offset, pointers[index], argument.size);
    ++index;
  }
  return bytes;
}

void check_launch(const CodeObject& object, const Kernel& kernel, Dim3 grid, Dim3 block,
                  u32 dynamic_lds) {
  if (grid.count() == 0 || block.count() == 0) {
    fail(kernel, "an empty grid (" + text_of(grid) + ") or block (" + text_of(block) + ")");
  }
  const u64 limit = 0xffffffff;  // the packet counts work items in 32 bits
  if (u64{grid.x} * block.x > limit || u64{grid.y} * block.y > limit ||
      u64{grid.z} * block.z > limit) {
    fail(kernel, "a grid of " + text_of(grid) + " workgroups has 2^32 work items or more");
  }
  if (block.x > 1024 || block.y > 1024 || block.z > 1024 || block.count() > kernel.max_threads) {
    fail(kernel, "a block of " + text_of(block) + " work items; it is compiled for at most " +
                     std::to_string(kernel.max_threads));
  }
  const auto& required = kernel.required_block;
  if (required[0] && (block.x != required[0] || block.y != required[1] || block.z != required[2])) {
    fail(kernel, "a block of " + text_of(block) + " work items; it is compiled for " +
                     text_of({required[0], required[1], required[2]}));
  }
  const u64 lds = u64{kernel.descriptor.lds_bytes} + dynamic_lds;
  if (lds > lds_limit(object.target())) {
    fail(kernel, std::to_string(lds) + " bytes of LDS (" + std::to_string(dynamic_lds) +
                     " of them dynamic); " + name_of(object.target()) + " has " +
                     std::to_string(lds_limit(object.target())));
  }
}

}  // namespace instinct
