// The parts of an ELF64 file that an AMDGPU code object is made of.
#pragma once

#include <elf.h>

#include <optional>
#include <string_view>
#include <vector>

#include "virtual/bytes.h"
#include "virtual/types.h"

namespace instinct {

class ElfFile {
 public:
  struct Section {
    std::string_view name;
    Elf64_Shdr header;
  };

  // Checks the header and the tables that it names. Throws Error.
  explicit ElfFile(std::span<const std::byte> file);

  // How many bytes the file has by those of its own tables that `file` includes.
  static u64 size_by_tables(std::span<const std::byte> file);

  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const std::vector<Section>& sections() const { return sections_; }
  const Bytes& bytes() const { return bytes_; }

  // nullptr if there is none.
  const Section* find_section(std::string_view name) const;
  const Section* find_section(u32 type) const;
  // Empty for a section without content in the file.
  Bytes content(const Section& section) const;
  Bytes content(std::string_view name) const;  // empty if there is no such section

  // The symbols of a table, with their names.
  struct NamedSymbol {
    std::string_view name;
    Elf64_Sym symbol;
  };
  std::vector<NamedSymbol> symbols(const Section& table) const;

 private:
  Bytes bytes_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Section> sections_;
};

}  // namespace instinct
