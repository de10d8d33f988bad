#include "virtual/bundle.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "virtual/bytes.h"
#include "virtual/elf.h"

namespace instinct {
namespace {

// "Bundled Code Object File Layout" in LLVM's ClangOffloadBundler documentation.
constexpr std::string_view magic_text = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressed_magic = "CCOB";

struct Entry {
  std::string_view triple;
  u64 offset;
  u64 size;
};

bool begins_with(std::span<const std::byte> file, std::string_view magic) {
  return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

std::vector<Entry> entries_of(std::span<const std::byte> file) {
  Cursor cursor(Bytes(file, "offload bundle"));
  cursor.skip(magic_text.size());
  std::vector<Entry> entries;
  for (u64 left = cursor.next<u64>(); left > 0; --left) {
    Entry entry = {{}, cursor.next<u64>(), cursor.next<u64>()};
    const Bytes triple = cursor.take(cursor.next<u64>());
    entry.triple = {reinterpret_cast<const char*>(triple.data()), triple.size()};
    entries.push_back(entry);
  }
  return entries;
}

bool fits(std::string_view triple, std::optional<Target> wanted) {
  const auto names = [&](Target target) {
    return (!wanted || *wanted == target) && triple.find(name_of(target)) != std::string_view::npos;
  };
  return names(Target::gfx942) || names(Target::gfx950) ||
         triple.find("gfx9-4-generic") != std::string_view::npos;
}

}  // namespace

std::span<const std::byte> unbundle(std::span<const std::byte> file, std::optional<Target> wanted) {
  if (begins_with(file, compressed_magic)) {
    throw Error(Error::Kind::not_supported,
                "offload bundle: compressed; link with --no-offload-compress");
  }
  if (!begins_with(file, magic_text)) return file;
  std::string found;
  for (const Entry& entry : entries_of(file)) {
    if (fits(entry.triple, wanted)) {
      const Bytes part = Bytes(file, "offload bundle").slice(entry.offset, entry.size);
      return {part.data(), part.size()};
    }
    if (found.size() < 200) found += (found.empty() ? "" : ", ") + std::string(entry.triple);
  }
  throw Error(Error::Kind::wrong_target, std::string("offload bundle: nothing for ") +
                                             (wanted ? name_of(*wanted) : "gfx942 or gfx950") +
                                             "; it has: " + found);
}

u64 size_by_tables(std::span<const std::byte> file) {
  if (!begins_with(file, magic_text)) return ElfFile::size_by_tables(file);
  try {
    u64 end = 0;
    for (const Entry& entry : entries_of(file)) end = std::max(end, entry.offset + entry.size);
    return end;
  } catch (const Error&) {
    return 2 * file.size();
  }
}

}  // namespace instinct
