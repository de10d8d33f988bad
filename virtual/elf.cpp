#include "virtual/elf.h"

#include <algorithm>
#include <cstring>

namespace instinct {
namespace {

constexpr u16 machine_amdgpu = 224;  // EM_AMDGPU
constexpr u8 abi_hsa = 64;           // ELFOSABI_AMDGPU_HSA

Elf64_Ehdr checked_header(const Bytes& bytes) {
  if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    bytes.fail("not an ELF file");
  }
  const auto header = bytes.read<Elf64_Ehdr>(0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    bytes.fail("not a little-endian ELF64 file");
  }
  if (header.e_machine != machine_amdgpu) {
    bytes.fail("made for machine " + std::to_string(header.e_machine) + ", not for AMDGPU (224)");
  }
  if (header.e_ident[EI_OSABI] != abi_hsa) bytes.fail("not for the HSA runtime");
  if (header.e_type != ET_DYN) bytes.fail("not linked (an ELF file of another type than DYN)");
  return header;
}

}  // namespace

u64 ElfFile::size_by_tables(std::span<const std::byte> file) {
  u64 size = sizeof(Elf64_Ehdr);
  if (file.size() < size) return size;
  const Bytes bytes(file, "code object");
  if (std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) return size;
  const auto header = bytes.read<Elf64_Ehdr>(0);
  const auto reach = [&](u64 offset, u64 count) { size = std::max(size, offset + count); };
  const u64 segments_end = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
  const u64 sections_end = header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr);
  reach(segments_end, 0);
  reach(sections_end, 0);
  if (size > file.size() || segments_end < header.e_phoff || sections_end < header.e_shoff) {
    return size;
  }
  for (u32 i = 0; i < header.e_phnum; ++i) {
    const auto segment = bytes.read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD) reach(segment.p_offset, segment.p_filesz);
  }
  for (u32 i = 0; i < header.e_shnum; ++i) {
    const auto section = bytes.read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS) reach(section.sh_offset, section.sh_size);
  }
  return size;
}

ElfFile::ElfFile(std::span<const std::byte> file)
    : bytes_(file, "code object"), header_(checked_header(bytes_)) {
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0) {
    bytes_.fail("no program headers");
  }
  if (header_.e_shnum != 0 && header_.e_shentsize != sizeof(Elf64_Shdr)) {
    bytes_.fail("section headers of a wrong size");
  }
  const Bytes segments = bytes_.slice(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr));
  for (u32 i = 0; i < header_.e_phnum; ++i) {
    segments_.push_back(segments.read<Elf64_Phdr>(i * sizeof(Elf64_Phdr)));
  }
  const Bytes sections = bytes_.slice(header_.e_shoff, header_.e_shnum * sizeof(Elf64_Shdr));
  for (u32 i = 0; i < header_.e_shnum; ++i) {
    sections_.push_back({{}, sections.read<Elf64_Shdr>(i * sizeof(Elf64_Shdr))});
    content(sections_.back());
  }
  if (header_.e_shnum == 0) return;
  if (header_.e_shstrndx >= header_.e_shnum) bytes_.fail("no table of section names");
  const Bytes names = content(sections_[header_.e_shstrndx]);
  for (Section& section : sections_) section.name = names.text(section.header.sh_name);
}

const ElfFile::Section* ElfFile::find_section(std::string_view name) const {
  const auto found = std::ranges::find(sections_, name, &Section::name);
  return found == sections_.end() ? nullptr : &*found;
}

const ElfFile::Section* ElfFile::find_section(u32 type) const {
  const auto found =
      std::ranges::find_if(sections_, [&](const auto& s) { return s.header.sh_type == type; });
  return found == sections_.end() ? nullptr : &*found;
}

Bytes ElfFile::content(const Section& section) const {
  const u32 type = section.header.sh_type;
  if (type == SHT_NOBITS || type == SHT_NULL) return bytes_.slice(0, 0);
  if (section.header.sh_flags & SHF_COMPRESSED) bytes_.fail("a section is compressed");
  return bytes_.slice(section.header.sh_offset, section.header.sh_size);
}

Bytes ElfFile::content(std::string_view name) const {
  const Section* section = find_section(name);
  return section ? content(*section) : bytes_.slice(0, 0);
}

std::vector<ElfFile::NamedSymbol> ElfFile::symbols(const Section& table) const {
  const Bytes content_of_table = content(table);
  if (table.header.sh_link >= sections_.size()) bytes_.fail("a symbol table without names");
  const Bytes names = content(sections_[table.header.sh_link]);
  std::vector<NamedSymbol> result;
  const u64 count = content_of_table.size() / sizeof(Elf64_Sym);
  result.reserve(count);
  for (u64 i = 0; i < count; ++i) {
    const auto symbol = content_of_table.read<Elf64_Sym>(i * sizeof(Elf64_Sym));
    result.push_back({names.text(symbol.st_name), symbol});
  }
  return result;
}

}  // namespace instinct
