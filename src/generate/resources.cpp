#include "generate/resources.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace wavefire::generate {
namespace {

constexpr unsigned machine_cuda = 190;    // EM_CUDA
constexpr unsigned machine_amdgpu = 224;  // EM_AMDGPU

/// A `T` at an offset; zeros if the object ends before.
template <class T>
T read_at(std::string_view bytes, std::size_t offset) {
  T value = {};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof(T)) {
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
  }
  return value;
}

std::string_view part_of(std::string_view bytes, std::size_t offset, std::size_t size) {
  return offset <= bytes.size() ? bytes.substr(offset, size) : std::string_view{};
}

/// The header of section `i`; zeros if there is none.
Elf64_Shdr section_of(std::string_view object, const Elf64_Ehdr& header, unsigned i) {
  return read_at<Elf64_Shdr>(object, header.e_shoff + std::size_t{i} * sizeof(Elf64_Shdr));
}

/// Calls f(name, contents, size) for every section; a section without bytes has a size still.
template <class F>
void for_sections(std::string_view object, F&& f) {
  const auto header = read_at<Elf64_Ehdr>(object, 0);
  const Elf64_Shdr strings = section_of(object, header, header.e_shstrndx);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section_of(object, header, i);
    std::string_view name = part_of(object, strings.sh_offset + s.sh_name, object.size());
    name = name.substr(0, name.find('\0'));
    f(name, s.sh_type == SHT_NOBITS ? std::string_view{} : part_of(object, s.sh_offset, s.sh_size),
      s.sh_size);
  }
}

/// The section .nv.info is a list of attributes: a format, a code, and with format 4 the size of
/// what follows, which for these is a symbol and a value. As cuobjdump -elf prints it.
void read_cuda_info(std::string_view info, Resources& resources) {
  constexpr std::uint8_t sized_format = 4, frame_size = 0x11, register_count = 0x2f;
  for (std::size_t at = 0; at + 4 <= info.size();) {
    const auto format = read_at<std::uint8_t>(info, at), code = read_at<std::uint8_t>(info, at + 1);
    const auto value = read_at<std::int32_t>(info, at + 8);
    if (format == sized_format && code == frame_size) {
      resources.local_bytes = std::max(resources.local_bytes, value);
    }
    if (format == sized_format && code == register_count) {
      resources.registers = std::max(resources.registers, value);
    }
    at += 4 + (format == sized_format ? read_at<std::uint16_t>(info, at + 2) : 0u);
  }
}

/// The number behind a key of the metadata, which is MessagePack; 0 if the key is not there.
int metadata_number(std::string_view metadata, std::string_view key) {
  const std::size_t at = metadata.find(key);
  if (at == std::string_view::npos) return 0;
  const std::size_t value = at + key.size();
  const auto byte = [&](std::size_t i) { return int{read_at<std::uint8_t>(metadata, value + i)}; };
  switch (byte(0)) {
    case 0xcc: return byte(1);
    case 0xcd: return byte(1) << 8 | byte(2);
    case 0xce: return byte(1) << 24 | byte(2) << 16 | byte(3) << 8 | byte(4);
    default: return byte(0) < 0x80 ? byte(0) : 0;
  }
}

/// Reads a number behind spaces; leaves `value` if there is none.
void read_number(std::string_view text, int& value) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::from_chars(text.data(), text.data() + text.size(), value);
}

/// The bytes of a variable, up to the end of its section; empty if there is none of that name.
std::string_view variable(std::string_view object, std::string_view name) {
  const auto header = read_at<Elf64_Ehdr>(object, 0);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr symbols = section_of(object, header, i);
    if (symbols.sh_type != SHT_SYMTAB && symbols.sh_type != SHT_DYNSYM) continue;
    const Elf64_Shdr strings = section_of(object, header, symbols.sh_link);
    for (std::size_t at = 0; at < symbols.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(object, symbols.sh_offset + at);
      const std::string_view text =
          part_of(object, strings.sh_offset + symbol.st_name, name.size() + 1);
      if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != 0) continue;
      const Elf64_Shdr home = section_of(object, header, symbol.st_shndx);
      return part_of(object, home.sh_offset + (symbol.st_value - home.sh_addr), symbol.st_size);
    }
  }
  return {};
}

/// The same of PTX, which lists bytes up to the last that is not zero:
///   .global .align 4 .b8 name[8] = {128, 0, 0, 0, 128, 64, 1};
std::string ptx_variable(std::string_view text, const std::string& name) {
  const std::size_t at = text.find(".b8 " + name + "[");
  const std::size_t open = text.find('{', at), close = text.find('}', at);
  if (at == std::string_view::npos || close == std::string_view::npos || open > close) return {};
  int size = 0;
  read_number(text.substr(text.find('[', at) + 1), size);
  std::string bytes;
  for (std::size_t next = open; next < close; next = text.find_first_of(",}", next + 1)) {
    int value = 0;
    read_number(text.substr(next + 1), value);
    bytes += static_cast<char>(value);
  }
  bytes.resize(static_cast<std::size_t>(std::max(size, 0)));
  return bytes;
}

}  // namespace

std::optional<LaunchInfo> launch_info_of(std::string_view object, const std::string& entry) {
  const std::string name = entry + "_launch";
  const std::string of_ptx = ptx_variable(object, name);
  const std::string_view bytes = of_ptx.empty() ? variable(object, name) : of_ptx;
  if (bytes.size() < 2 * sizeof(std::int32_t)) return std::nullopt;
  return LaunchInfo{read_at<std::int32_t>(bytes, 0), read_at<std::int32_t>(bytes, 4)};
}

std::optional<Resources> resources_of(std::string_view object) {
  const auto header = read_at<Elf64_Ehdr>(object, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header.e_machine != machine_cuda && header.e_machine != machine_amdgpu) return std::nullopt;
  Resources resources;
  for_sections(object, [&](std::string_view name, std::string_view contents, std::size_t size) {
    if (name == ".nv.info") read_cuda_info(contents, resources);
    if (name.starts_with(".nv.shared.") && !name.ends_with("reserved.0")) {
      resources.shared_bytes += static_cast<int>(size);
    }
    if (name == ".note" && header.e_machine == machine_amdgpu) {
      resources.registers = metadata_number(contents, ".vgpr_count");
      resources.shared_bytes = metadata_number(contents, ".group_segment_fixed_size");
      resources.local_bytes = metadata_number(contents, ".private_segment_fixed_size");
    }
  });
  return resources;
}

}  // namespace wavefire::generate
