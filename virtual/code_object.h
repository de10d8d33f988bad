// An AMDGPU code object (ELF64) loaded into memory: kernels, symbols and source lines.
// After "User Guide for AMDGPU Backend" (LLVM), sections "ELF Code Object", "Kernel Descriptor" and
// "Code Object V5 Metadata".
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "virtual/line_table.h"
#include "virtual/types.h"

namespace instinct {

class Program;  // the decoded instructions, kept with the code object (instruction.h)

struct KernelArgument {
  // `hidden_*` in the metadata; `other` is a hidden one that is left zero.
  enum class Kind : u8 {
    by_value,
    global_buffer,
    dynamic_shared_pointer,
    hidden_block_count_x,
    hidden_block_count_y,
    hidden_block_count_z,
    hidden_group_size_x,
    hidden_group_size_y,
    hidden_group_size_z,
    hidden_remainder_x,
    hidden_remainder_y,
    hidden_remainder_z,
    hidden_global_offset_x,
    hidden_global_offset_y,
    hidden_global_offset_z,
    hidden_grid_dims,
    hidden_dynamic_lds_size,
    hidden_private_base,
    hidden_shared_base,
    other,
  };
  Kind kind = Kind::by_value;
  std::string name;
  std::string value_kind;  // as in the metadata
  u32 offset = 0;
  u32 size = 0;

  // A user's argument, not one that the runtime fills in.
  bool is_explicit() const { return kind <= Kind::dynamic_shared_pointer; }
};

// The fields of the kernel descriptor that decide the state of a wave at its start.
struct KernelDescriptor {
  u32 lds_bytes = 0;      // group_segment_fixed_size
  u32 scratch_bytes = 0;  // private_segment_fixed_size, for each lane
  u32 kernarg_bytes = 0;
  i64 entry_offset = 0;  // from the descriptor to the code
  u32 compute_pgm_rsrc1 = 0;
  u32 compute_pgm_rsrc2 = 0;
  u32 compute_pgm_rsrc3 = 0;
  u16 properties = 0;
  u16 kernarg_preload = 0;

  u32 accum_offset() const { return ((compute_pgm_rsrc3 & 0x3f) + 1) * 4; }  // first AGPR
  bool tg_split() const { return compute_pgm_rsrc3 >> 16 & 1; }
  u32 vgprs() const { return ((compute_pgm_rsrc1 & 0x3f) + 1) * 8; }  // with AGPRs
  u32 sgprs() const { return ((compute_pgm_rsrc1 >> 6 & 0xf) / 2 + 1) * 16; }
  // As in the MODE register: round[3:0] and denormals[7:4].
  u32 float_mode() const { return compute_pgm_rsrc1 >> 12 & 0xff; }
  bool dx10_clamp() const { return compute_pgm_rsrc1 >> 21 & 1; }
  bool ieee_mode() const { return compute_pgm_rsrc1 >> 23 & 1; }
  bool has_scratch() const {
    return compute_pgm_rsrc2 & 1;
  }  // wave offset in an SGPR (unused here)
  u32 user_sgprs() const { return compute_pgm_rsrc2 >> 1 & 0x1f; }
  bool workgroup_id_x() const { return compute_pgm_rsrc2 >> 7 & 1; }
  bool workgroup_id_y() const { return compute_pgm_rsrc2 >> 8 & 1; }
  bool workgroup_id_z() const { return compute_pgm_rsrc2 >> 9 & 1; }
  bool workgroup_info() const { return compute_pgm_rsrc2 >> 10 & 1; }
  u32 workitem_ids() const { return compute_pgm_rsrc2 >> 11 & 3; }  // 0: x, 1: x y, 2: x y z

  // User SGPRs, in the order in which they are given out.
  bool private_segment_buffer() const { return properties & 1; }     // 4 SGPRs
  bool dispatch_ptr() const { return properties >> 1 & 1; }          // 2
  bool queue_ptr() const { return properties >> 2 & 1; }             // 2
  bool kernarg_segment_ptr() const { return properties >> 3 & 1; }   // 2
  bool dispatch_id() const { return properties >> 4 & 1; }           // 2
  bool flat_scratch_init() const { return properties >> 5 & 1; }     // 2
  bool private_segment_size() const { return properties >> 6 & 1; }  // 1
  bool uses_dynamic_stack() const { return properties >> 11 & 1; }
  // Words of the kernarg segment that are loaded into user SGPRs before the wave starts. The code
  // then begins 256 bytes after the entry.
  u32 preload_length() const { return kernarg_preload & 0x7f; }
  u32 preload_offset() const { return kernarg_preload >> 7 & 0x1ff; }
};

struct Kernel {
  std::string name;
  KernelDescriptor descriptor;
  u64 entry = 0;  // address of its first instruction in the loaded image
  u32 max_threads = 1024;
  u32 required_block[3] = {0, 0, 0};  // reqd_workgroup_size, or zero
  u32 vgprs = 0;
  u32 agprs = 0;
  u32 sgprs = 0;
  u32 vgpr_spills = 0;
  u32 sgpr_spills = 0;
  bool uniform_blocks = false;  // the grid must be a multiple of the block
  std::vector<KernelArgument> arguments;

  // Bytes of the explicit arguments: what a caller provides.
  u32 explicit_bytes() const;
};

struct Symbol {
  enum class Kind : u8 { object, function, kernel_descriptor };
  std::string name;
  Kind kind = Kind::object;
  u64 address = 0;  // in the loaded image
  u64 size = 0;
};

// A loaded segment.
struct Segment {
  u64 address = 0;
  u64 size = 0;
  bool writable = false;
  bool executable = false;
};

class CodeObject {
 public:
  // Parses, places and relocates a copy of the file: an ELF file, or a clang offload bundle (the
  // entry for `wanted`, or its only one for a target that we know). Throws Error.
  static std::shared_ptr<const CodeObject> load(std::span<const std::byte> file,
                                                std::optional<Target> wanted = std::nullopt);
  ~CodeObject();
  CodeObject(const CodeObject&) = delete;
  CodeObject& operator=(const CodeObject&) = delete;

  Target target() const { return target_; }
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const Kernel* find_kernel(std::string_view name) const;
  const Symbol* find_symbol(std::string_view name) const;
  const std::vector<Segment>& segments() const { return segments_; }

  // Machine code, at its host address (as the program counter sees it).
  std::span<const Segment> text() const { return text_; }
  // The function that contains an address, with the kernel's name for a kernel; empty if unknown.
  std::string_view function_at(u64 address) const;
  // From .debug_line; empty without -gline-tables-only.
  std::optional<SourceLine> source_line(u64 address) const;
  // The offset as objdump prints it.
  u64 file_address(u64 address) const { return address - bias_; }

  // Decoded once, on first use, by the function given.
  const Program& program(
      const std::function<std::shared_ptr<const Program>(const CodeObject&)>& decode) const;

 private:
  friend class CodeObjectLoader;
  CodeObject() = default;
  const std::byte* at(u64 address) const { return reinterpret_cast<const std::byte*>(address); }

  Target target_ = Target::gfx942;
  void* image_ = nullptr;
  u64 image_bytes_ = 0;
  u64 bias_ = 0;  // address in the image - address in the file
  std::vector<Segment> segments_;
  std::vector<Segment> text_;
  std::vector<Kernel> kernels_;
  std::vector<Symbol> symbols_;
  std::vector<u32> functions_;  // those among the symbols, by address
  LineTable lines_;
  mutable std::once_flag decode_once_;
  mutable std::shared_ptr<const Program> program_;
};

}  // namespace instinct
