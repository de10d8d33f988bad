// Source lines of addresses: the section .debug_line, DWARF 5 (section 6.2) and 4.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "virtual/bytes.h"
#include "virtual/types.h"

namespace instinct {

struct SourceLine {
  std::string file;
  u32 line = 0;
};

class LineTable {
 public:
  LineTable() = default;
  // `line_strings` is .debug_line_str, `strings` is .debug_str. Throws Error on a broken table.
  LineTable(const Bytes& lines, const Bytes& line_strings, const Bytes& strings);

  // The line that the code at an address, as in the file, was made from.
  std::optional<SourceLine> find(u64 address) const;
  bool empty() const { return rows_.empty(); }

 private:
  friend class LineProgram;
  static constexpr u32 sequence_end = ~0u;  // as a file: the first address after a sequence

  struct Row {
    u64 address;
    u32 file;
    u32 line;
  };
  std::vector<std::string> files_;
  std::vector<Row> rows_;  // by address
};

}  // namespace instinct
