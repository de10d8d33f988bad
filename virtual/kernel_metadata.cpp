#include "virtual/kernel_metadata.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <utility>

#include "virtual/message_pack.h"

namespace instinct {
namespace {

constexpr u32 note_metadata = 32;  // NT_AMDGPU_METADATA

// 13 bits of KiB for a wave (COMPUTE_TMPRING_SIZE.WAVESIZE).
constexpr u32 max_scratch_bytes = 8191 * 1024 / wave_lanes;
constexpr u32 max_kernarg_bytes = 1 << 16;
constexpr u32 block_limit = 1024;

constexpr u32 max_lds(Target target) { return (target == Target::gfx942 ? 64 : 160) * 1024; }

using Kind = KernelArgument::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 19> value_kinds = {{
    {"by_value", Kind::by_value},
    {"global_buffer", Kind::global_buffer},
    {"dynamic_shared_pointer", Kind::dynamic_shared_pointer},
    {"hidden_block_count_x", Kind::hidden_block_count_x},
    {"hidden_block_count_y", Kind::hidden_block_count_y},
    {"hidden_block_count_z", Kind::hidden_block_count_z},
    {"hidden_group_size_x", Kind::hidden_group_size_x},
    {"hidden_group_size_y", Kind::hidden_group_size_y},
    {"hidden_group_size_z", Kind::hidden_group_size_z},
    {"hidden_remainder_x", Kind::hidden_remainder_x},
    {"hidden_remainder_y", Kind::hidden_remainder_y},
    {"hidden_remainder_z", Kind::hidden_remainder_z},
    {"hidden_global_offset_x", Kind::hidden_global_offset_x},
    {"hidden_global_offset_y", Kind::hidden_global_offset_y},
    {"hidden_global_offset_z", Kind::hidden_global_offset_z},
    {"hidden_grid_dims", Kind::hidden_grid_dims},
    {"hidden_dynamic_lds_size", Kind::hidden_dynamic_lds_size},
    {"hidden_private_base", Kind::hidden_private_base},
    {"hidden_shared_base", Kind::hidden_shared_base},
}};

Kind kind_of(std::string_view value_kind) {
  for (const auto& [name, kind] : value_kinds) {
    if (name == value_kind) return kind;
  }
  return value_kind.starts_with("hidden_") ? Kind::other : Kind::by_value;
}

// The description of the note of AMDGPU metadata.
MessagePack find_metadata(const Bytes& notes) {
  const auto padded = [](u64 bytes) { return (bytes + 3) / 4 * 4; };
  Cursor cursor(notes);
  while (cursor.left() >= sizeof(Elf64_Nhdr)) {
    const auto header = cursor.next<Elf64_Nhdr>();
    const Bytes owner = cursor.take(padded(header.n_namesz));
    const Bytes content = cursor.take(std::min(padded(header.n_descsz), cursor.left()));
    if (header.n_type != note_metadata || header.n_namesz != sizeof("AMDGPU") ||
        owner.text(0) != "AMDGPU") {
      continue;
    }
    return MessagePack::parse(content.slice(0, header.n_descsz).named("code object metadata"));
  }
  notes.fail("no AMDGPU metadata (code object version 3 or newer)");
}

KernelDescriptor parse_descriptor(const Bytes& bytes) {
  KernelDescriptor descriptor;
  descriptor.lds_bytes = bytes.read<u32>(0);
  descriptor.scratch_bytes = bytes.read<u32>(4);
  descriptor.kernarg_bytes = bytes.read<u32>(8);
  descriptor.entry_offset = bytes.read<i64>(16);
  descriptor.compute_pgm_rsrc3 = bytes.read<u32>(44);
  descriptor.compute_pgm_rsrc1 = bytes.read<u32>(48);
  descriptor.compute_pgm_rsrc2 = bytes.read<u32>(52);
  descriptor.properties = bytes.read<u16>(56);
  descriptor.kernarg_preload = bytes.read<u16>(58);
  return descriptor;
}

class KernelReader {
 public:
  KernelReader(Kernel& kernel, const MessagePack& metadata) : kernel_(kernel), metadata_(metadata) {
    kernel_.name = metadata[".name"].text();
  }

  void read(Target target, const KernelPlaces& places) {
    read_counts();
    read_arguments();
    read_descriptor(places);
    check(target);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(Error::Kind::invalid_image,
                "code object: kernel '" + kernel_.name.substr(0, 200) + "': " + why);
  }

  u32 number(std::string_view key, u32 otherwise = 0) const {
    const i64 value = metadata_[key].integer(otherwise);
    if (value < 0 || value > 0x7fffffff) fail(std::string(key) + " is out of range");
    return static_cast<u32>(value);
  }

  void read_counts() {
    kernel_.max_threads = number(".max_flat_workgroup_size", block_limit);
    kernel_.vgprs = number(".vgpr_count");
    kernel_.agprs = number(".agpr_count");
    kernel_.sgprs = number(".sgpr_count");
    kernel_.vgpr_spills = number(".vgpr_spill_count");
    kernel_.sgpr_spills = number(".sgpr_spill_count");
    kernel_.uniform_blocks = number(".uniform_work_group_size") != 0;
    const auto& required = metadata_[".reqd_workgroup_size"].elements();
    for (u32 i = 0; i < 3 && required.size() == 3; ++i) {
      kernel_.required_block[i] = static_cast<u32>(std::clamp<i64>(required[i].integer(), 0, 1024));
    }
    if (number(".wavefront_size", 64) != wave_lanes) fail("waves are not of 64 lanes");
  }

  void read_arguments() {
    for (const MessagePack& entry : metadata_[".args"].elements()) {
      KernelArgument& argument = kernel_.arguments.emplace_back();
      argument.name = entry[".name"].text();
      argument.value_kind = entry[".value_kind"].text();
      argument.kind = kind_of(argument.value_kind);
      const i64 offset = entry[".offset"].integer(-1);
      const i64 size = entry[".size"].integer(-1);
      if (offset < 0 || size < 0 || offset > max_kernarg_bytes || size > max_kernarg_bytes) {
        fail("an argument is out of range");
      }
      argument.offset = static_cast<u32>(offset);
      argument.size = static_cast<u32>(size);
    }
  }

  void read_descriptor(const KernelPlaces& places) {
    const std::string& symbol = metadata_[".symbol"].text();
    const std::optional<u64> address = places.address(symbol);
    if (!address) fail("its descriptor '" + symbol.substr(0, 200) + "' is missing");
    kernel_.descriptor = parse_descriptor(places.content(*address, 64));
    const u64 entry = *address + static_cast<u64>(kernel_.descriptor.entry_offset);
    if (entry % 4 != 0 || !places.is_code(entry)) fail("its code begins outside of the text");
    kernel_.entry = entry + places.bias;
  }

  void check(Target target) {
    KernelDescriptor& descriptor = kernel_.descriptor;
    if (descriptor.kernarg_bytes == 0) {
      descriptor.kernarg_bytes = number(".kernarg_segment_size");
    }
    if (descriptor.kernarg_bytes > max_kernarg_bytes) fail("its argument segment is too large");
    for (const KernelArgument& argument : kernel_.arguments) {
      if (argument.offset + argument.size > descriptor.kernarg_bytes) {
        fail("argument " + argument.name.substr(0, 200) + " at " + std::to_string(argument.offset) +
             " is beyond the segment's " + std::to_string(descriptor.kernarg_bytes) + " bytes");
      }
    }
    if (descriptor.lds_bytes > max_lds(target)) {
      fail("needs " + std::to_string(descriptor.lds_bytes) + " bytes of LDS; " + name_of(target) +
           " has " + std::to_string(max_lds(target)));
    }
    if (descriptor.scratch_bytes > max_scratch_bytes) fail("its scratch is too large");
    if (kernel_.max_threads == 0 || kernel_.max_threads > block_limit) {
      fail("its largest block is " + std::to_string(kernel_.max_threads) + " threads");
    }
    if (descriptor.preload_offset() + descriptor.preload_length() > max_kernarg_bytes / 4) {
      fail("its preloaded arguments are out of range");
    }
  }

  Kernel& kernel_;
  const MessagePack& metadata_;
};

}  // namespace

std::vector<Kernel> read_kernels(const Bytes& notes, Target target, const KernelPlaces& places) {
  const MessagePack metadata = find_metadata(notes);
  std::vector<Kernel> kernels;
  for (const MessagePack& entry : metadata["amdhsa.kernels"].elements()) {
    Kernel& kernel = kernels.emplace_back();
    KernelReader(kernel, entry).read(target, places);
  }
  return kernels;
}

}  // namespace instinct
