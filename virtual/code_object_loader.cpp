// Places the segments of an ELF file in memory and reads what stands in them.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "virtual/bundle.h"
#include "virtual/bytes.h"
#include "virtual/code_object.h"
#include "virtual/elf.h"
#include "virtual/kernel_metadata.h"

namespace instinct {
namespace {

constexpr u64 page_size = 4096;
constexpr u64 max_image = 1ull << 30;

// The flags of the header (EF_AMDGPU_MACH).
constexpr u32 machine_mask = 0xff;
constexpr u32 machine_gfx942 = 0x4c;
constexpr u32 machine_gfx950 = 0x4f;
constexpr u32 machine_gfx9_4_generic = 0x5f;
constexpr u8 abi_v4 = 2;  // versions 4, 5 and 6 are 2, 3 and 4
constexpr u8 abi_v6 = 4;

// Relocation types ("Relocation Records").
enum Relocation : u32 {
  none_type = 0,
  abs32_low = 1,
  abs32_high = 2,
  abs64 = 3,
  rel32 = 4,
  rel64 = 5,
  abs32 = 6,
  rel32_low = 10,
  rel32_high = 11,
  relative64 = 13,
};

u64 page_down(u64 address) { return address / page_size * page_size; }
u64 page_up(u64 address) { return page_down(address + page_size - 1); }

Target target_of(const Elf64_Ehdr& header, std::optional<Target> wanted) {
  const u32 machine = header.e_flags & machine_mask;
  if (machine == machine_gfx9_4_generic) return wanted.value_or(Target::gfx942);
  if (machine != machine_gfx942 && machine != machine_gfx950) {
    throw Error(Error::Kind::wrong_target,
                "code object: made for machine " + std::to_string(machine) +
                    " (EF_AMDGPU_MACH), which is neither gfx942 (76) nor gfx950 (79)");
  }
  const Target target = machine == machine_gfx942 ? Target::gfx942 : Target::gfx950;
  if (wanted && *wanted != target) {
    throw Error(Error::Kind::wrong_target, std::string("code object: made for ") + name_of(target) +
                                               "; the device is " + name_of(*wanted));
  }
  return target;
}

}  // namespace

class CodeObjectLoader {
 public:
  CodeObjectLoader(std::span<const std::byte> file, std::optional<Target> wanted)
      : elf_(file), object_(new CodeObject) {
    const u8 version = elf_.header().e_ident[EI_ABIVERSION];
    if (version < abi_v4 || version > abi_v6) {
      elf_.bytes().fail("ABI version " + std::to_string(version) +
                        "; accepted are 2, 3 and 4 (-mcode-object-version=4, 5 or 6)");
    }
    object_->target_ = target_of(elf_.header(), wanted);
  }

  std::shared_ptr<const CodeObject> load() {
    place();
    read_symbols();
    relocate();
    read_text();
    read_kernels();
    read_lines();
    return object_;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { elf_.bytes().fail(why); }

  void place() {
    u64 begin = ~0ull;
    u64 end = 0;
    for (const Elf64_Phdr& segment : elf_.segments()) {
      if (segment.p_type != PT_LOAD) continue;
      if (segment.p_memsz > max_image || segment.p_vaddr > max_image ||
          segment.p_filesz > segment.p_memsz) {
        fail("a segment is out of range");
      }
      begin = std::min(begin, page_down(segment.p_vaddr));
      end = std::max(end, page_up(segment.p_vaddr + segment.p_memsz));
    }
    if (begin >= end) fail("nothing to load");
    void* image = mmap(nullptr, end - begin, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (image == MAP_FAILED) {
      throw Error(Error::Kind::out_of_memory,
                  "code object: no memory for " + std::to_string(end - begin) + " bytes");
    }
    object_->image_ = image;
    object_->image_bytes_ = end - begin;
    object_->bias_ = reinterpret_cast<u64>(image) - begin;
    for (const Elf64_Phdr& segment : elf_.segments()) {
      if (segment.p_type == PT_LOAD && segment.p_memsz != 0) copy(segment);
    }
  }

  void copy(const Elf64_Phdr& header) {
    const Segment segment = {header.p_vaddr + object_->bias_, header.p_memsz,
                             (header.p_flags & PF_W) != 0, (header.p_flags & PF_X) != 0};
    const auto overlaps = [&](const Segment& other) {
      return segment.address < other.address + other.size &&
             other.address < segment.address + segment.size;
    };
    if (std::ranges::any_of(object_->segments_, overlaps)) fail("its segments overlap");
    object_->segments_.push_back(segment);
    const Bytes content = elf_.bytes().slice(header.p_offset, header.p_filesz);
    if (content.size()) {
      std::memcpy(reinterpret_cast<void*>(segment.address), content.data(), content.size());
    }
  }

  // Bytes in memory by their address in the file; `bytes` lie in one segment.
  std::byte* place_of(u64 address, u64 bytes) const {
    const u64 place = address + object_->bias_;
    for (const Segment& segment : object_->segments_) {
      if (place >= segment.address && bytes <= segment.size &&
          place - segment.address <= segment.size - bytes) {
        return reinterpret_cast<std::byte*>(place);
      }
    }
    return nullptr;
  }

  const ElfFile::Section* symbol_table() const {
    const ElfFile::Section* table = elf_.find_section(SHT_SYMTAB);
    return table ? table : elf_.find_section(SHT_DYNSYM);
  }

  void read_symbols() {
    const ElfFile::Section* table = symbol_table();
    if (!table) fail("no symbols");
    for (const auto& [name, symbol] : elf_.symbols(*table)) {
      const u8 type = ELF64_ST_TYPE(symbol.st_info);
      const bool defined = symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE;
      if (name.empty() || !defined || (type != STT_OBJECT && type != STT_FUNC)) continue;
      if (!place_of(symbol.st_value, symbol.st_size)) fail("a symbol lies outside of its segments");
      const Symbol::Kind kind = type == STT_FUNC        ? Symbol::Kind::function
                                : name.ends_with(".kd") ? Symbol::Kind::kernel_descriptor
                                                        : Symbol::Kind::object;
      object_->symbols_.push_back(
          {std::string(name), kind, symbol.st_value + object_->bias_, symbol.st_size});
      if (kind == Symbol::Kind::function) {
        object_->functions_.push_back(static_cast<u32>(object_->symbols_.size() - 1));
      }
    }
    std::ranges::sort(object_->functions_, {},
                      [&](u32 index) { return object_->symbols_[index].address; });
  }

  void relocate() {
    for (const ElfFile::Section& section : elf_.sections()) {
      const Elf64_Shdr& header = section.header;
      if (header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC)) continue;
      if (header.sh_link >= elf_.sections().size()) fail("relocations without symbols");
      const auto symbols = elf_.symbols(elf_.sections()[header.sh_link]);
      const Bytes records = elf_.content(section);
      for (u64 at = 0; at + sizeof(Elf64_Rela) <= records.size(); at += sizeof(Elf64_Rela)) {
        apply(records.read<Elf64_Rela>(at), symbols);
      }
    }
  }

  u64 value_of(const Elf64_Rela& record, const std::vector<ElfFile::NamedSymbol>& symbols) const {
    const u64 addend = static_cast<u64>(record.r_addend);
    const u32 index = ELF64_R_SYM(record.r_info);
    if (index == 0) return addend + object_->bias_;
    if (index >= symbols.size()) fail("a relocation names no symbol");
    const auto& [name, symbol] = symbols[index];
    if (symbol.st_shndx == SHN_UNDEF) {
      throw Error(Error::Kind::not_found,
                  "code object: undefined symbol '" + std::string(name.substr(0, 200)) + "'");
    }
    return symbol.st_value + addend + object_->bias_;
  }

  void apply(const Elf64_Rela& record, const std::vector<ElfFile::NamedSymbol>& symbols) {
    const u32 type = ELF64_R_TYPE(record.r_info);
    if (type == none_type) return;
    const bool wide = type == abs64 || type == rel64 || type == relative64;
    std::byte* place = place_of(record.r_offset, wide ? 8 : 4);
    if (!place) fail("a relocation lies outside of its segments");
    u64 value = value_of(record, symbols);
    switch (type) {
      case rel32:
      case rel32_low:
      case rel64: value -= reinterpret_cast<u64>(place); break;
      case rel32_high: value = (value - reinterpret_cast<u64>(place)) >> 32; break;
      case abs32_high: value >>= 32; break;
      case abs32:
      case abs32_low:
      case abs64:
      case relative64: break;
      default: fail("relocation of an unknown type " + std::to_string(type));
    }
    std::memcpy(place, &value, wide ? 8 : 4);
  }

  void read_text() {
    for (const ElfFile::Section& section : elf_.sections()) {
      const Elf64_Shdr& header = section.header;
      if (!(header.sh_flags & SHF_EXECINSTR) || header.sh_size == 0) continue;
      if (header.sh_addr % 4 != 0 || !place_of(header.sh_addr, header.sh_size)) {
        fail("its text lies outside of its segments");
      }
      object_->text_.push_back({header.sh_addr + object_->bias_, header.sh_size, false, true});
    }
    if (object_->text_.size() > 64) fail("more than 64 sections of text");
  }

  bool is_code(u64 address) const {
    return std::ranges::any_of(object_->text_, [&](const Segment& text) {
      return address + object_->bias_ - text.address < text.size;
    });
  }

  void read_kernels() {
    const ElfFile::Section* notes = elf_.find_section(SHT_NOTE);
    if (!notes) fail("no metadata (section .note)");
    const KernelPlaces places = {
        .address = [&](std::string_view name) -> std::optional<u64> {
          const Symbol* symbol = object_->find_symbol(name);
          if (!symbol) return std::nullopt;
          return object_->file_address(symbol->address);
        },
        .content = [&](u64 address, u64 bytes) -> Bytes {
          const std::byte* place = place_of(address, bytes);
          if (!place) fail("a kernel's descriptor lies outside of its segments");
          return {{place, bytes}, "kernel descriptor"};
        },
        .is_code = [&](u64 address) { return is_code(address); },
        .bias = object_->bias_,
    };
    object_->kernels_ = instinct::read_kernels(elf_.content(*notes).named("code object notes"),
                                               object_->target_, places);
  }

  // Code runs without its lines, so a broken table is none.
  void read_lines() {
    try {
      object_->lines_ = LineTable(elf_.content(".debug_line").named(".debug_line"),
                                  elf_.content(".debug_line_str").named(".debug_line_str"),
                                  elf_.content(".debug_str").named(".debug_str"));
    } catch (const Error&) {
      object_->lines_ = {};
    }
  }

  ElfFile elf_;
  std::shared_ptr<CodeObject> object_;
};

std::shared_ptr<const CodeObject> CodeObject::load(std::span<const std::byte> file,
                                                   std::optional<Target> wanted) {
  return CodeObjectLoader(unbundle(file, wanted), wanted).load();
}

}  // namespace instinct
