#include "virtual/line_table.h"

#include <algorithm>
#include <span>

namespace instinct {
namespace {

constexpr u64 max_path = 4096;

enum Content : u64 { content_path = 1, content_directory = 2 };

enum Form : u64 {
  data2 = 0x05,
  data4 = 0x06,
  data8 = 0x07,
  form_string = 0x08,
  form_block = 0x09,
  data1 = 0x0b,
  strp = 0x0e,
  udata = 0x0f,
  data16 = 0x1e,
  line_strp = 0x1f,
};

enum Opcode : u8 {
  op_extended = 0,
  op_copy = 1,
  advance_pc = 2,
  advance_line = 3,
  set_file = 4,
  set_column = 5,
  negate_statement = 6,
  basic_block = 7,
  const_add_pc = 8,
  fixed_advance_pc = 9,
  prologue_end = 10,
  epilogue_begin = 11,
  set_isa = 12,
};

enum ExtendedOpcode : u8 { end_sequence = 1, set_address = 2 };

}  // namespace

// One unit of the section: its header, then a program for a state machine that emits rows.
class LineProgram {
 public:
  LineProgram(LineTable& table, Cursor unit, bool wide, const Bytes& line_strings,
              const Bytes& strings)
      : table_(table), unit_(unit), wide_(wide), line_strings_(line_strings), strings_(strings) {}

  void run() {
    read_header();
    while (!unit_.at_end()) step();
  }

 private:
  struct Name {
    std::string path;
    u64 directory = 0;
  };

  [[noreturn]] void fail(const char* why) const { unit_.bytes().fail(why); }
  u64 offset() { return wide_ ? unit_.next<u64>() : unit_.next<u32>(); }

  void read_header() {
    version_ = unit_.next<u16>();
    if (version_ < 4 || version_ > 5) fail("unknown version");
    if (version_ == 5 && (unit_.next<u8>() != 8 || unit_.next<u8>() != 0))
      fail("unknown addresses");
    const u64 header_bytes = offset();
    const u64 program = unit_.at() + header_bytes;
    instruction_bytes_ = unit_.next<u8>();
    unit_.skip(2);                       // operations of an instruction, is_stmt
    line_base_ = i32{unit_.next<i8>()};  // NOLINT(bugprone-signed-char-misuse): it is signed
    line_range_ = unit_.next<u8>();
    opcode_base_ = unit_.next<u8>();
    if (line_range_ == 0 || opcode_base_ == 0) fail("a broken header");
    operands_ = unit_.take(opcode_base_ - 1u);
    version_ == 5 ? read_names() : read_old_names();
    if (program < unit_.at()) fail("a broken header");
    unit_.seek(program);
  }

  void read_names() {
    const std::vector<Name> directories = read_entries();
    for (const Name& file : read_entries()) {
      add_file(file, file.directory < directories.size() ? directories[file.directory].path : "");
    }
  }

  std::vector<Name> read_entries() {
    std::vector<std::pair<u64, u64>> format(unit_.next<u8>());
    for (auto& [content, form] : format) {
      content = unit_.uleb();
      form = unit_.uleb();
    }
    const u64 count = unit_.uleb();
    std::vector<Name> names;
    if (format.empty() || count > unit_.left()) return names;
    for (u64 i = 0; i < count; ++i) {
      Name& name = names.emplace_back();
      for (const auto& [content, form] : format) read_field(content, form, name);
    }
    return names;
  }

  void read_field(u64 content, u64 form, Name& name) {
    u64 number = 0;
    std::string_view text;
    switch (form) {
      case form_string: text = unit_.text(); break;
      case line_strp: text = line_strings_.text(offset()); break;
      case strp: text = strings_.text(offset()); break;
      case udata: number = unit_.uleb(); break;
      case data1: number = unit_.next<u8>(); break;
      case data2: number = unit_.next<u16>(); break;
      case data4: number = unit_.next<u32>(); break;
      case data8: number = unit_.next<u64>(); break;
      case data16: unit_.skip(16); break;
      case form_block: unit_.skip(unit_.uleb()); break;
      default: fail("an unknown form of a file's name");
    }
    if (text.size() > max_path) fail("a file's name is too long");
    if (content == content_path) name.path = text;
    if (content == content_directory) name.directory = number;
  }

  void read_old_names() {
    std::vector<std::string> directories = {""};
    for (std::string_view name = unit_.text(); !name.empty(); name = unit_.text()) {
      directories.emplace_back(name);
    }
    add_file({}, "");  // files count from 1
    for (std::string_view name = unit_.text(); !name.empty(); name = unit_.text()) {
      const u64 directory = unit_.uleb();
      unit_.uleb();  // time
      unit_.uleb();  // size
      add_file({std::string(name), 0},
               directory < directories.size() ? directories[directory] : "");
    }
  }

  void add_file(const Name& name, const std::string& directory) {
    const bool relative = !name.path.empty() && name.path[0] != '/' && !directory.empty();
    files_.push_back(static_cast<u32>(table_.files_.size()));
    table_.files_.push_back(relative ? directory + "/" + name.path : name.path);
  }

  void step() {
    const u8 opcode = unit_.next<u8>();
    if (opcode >= opcode_base_) {
      const u32 adjusted = opcode - opcode_base_;
      address_ += static_cast<u64>(adjusted / line_range_) * instruction_bytes_;
      line_ += static_cast<u32>(line_base_ + static_cast<i32>(adjusted % line_range_));
      emit(file_);
      return;
    }
    switch (opcode) {
      case op_extended: return extended();
      case op_copy: return emit(file_);
      case advance_pc: address_ += unit_.uleb() * instruction_bytes_; return;
      case advance_line: line_ += static_cast<u32>(unit_.sleb()); return;
      case set_file: file_ = unit_.uleb(); return;
      case const_add_pc:
        address_ += static_cast<u64>((255 - opcode_base_) / line_range_) * instruction_bytes_;
        return;
      case fixed_advance_pc: address_ += unit_.next<u16>(); return;
      case negate_statement:
      case basic_block:
      case prologue_end:
      case epilogue_begin: return;
      default:
        for (u32 i = operands_.read<u8>(opcode - 1u); i > 0; --i) unit_.uleb();
    }
  }

  void extended() {
    const u64 bytes = unit_.uleb();
    Cursor operands(unit_.take(bytes));
    if (bytes == 0) return;
    switch (operands.next<u8>()) {
      case end_sequence:
        table_.rows_.push_back({address_, LineTable::sequence_end, 0});
        address_ = 0;
        file_ = 1;
        line_ = 1;
        return;
      case set_address: address_ = operands.next<u64>(); return;
      default: return;  // e.g. a discriminator
    }
  }

  // Code of no line is told as the line before it.
  void emit(u64 file) {
    if (line_ == 0 || file >= files_.size()) return;
    table_.rows_.push_back({address_, files_[file], line_});
  }

  LineTable& table_;
  Cursor unit_;
  bool wide_;
  Bytes line_strings_;
  Bytes strings_;
  Bytes operands_{{}, ".debug_line"};
  std::vector<u32> files_;  // of this unit, in the table
  u32 version_ = 0;
  u32 instruction_bytes_ = 4;
  i32 line_base_ = 0;
  u32 line_range_ = 1;
  u32 opcode_base_ = 1;

  u64 address_ = 0;
  u64 file_ = 1;
  u32 line_ = 1;
};

LineTable::LineTable(const Bytes& lines, const Bytes& line_strings, const Bytes& strings) {
  Cursor cursor(lines);
  while (!cursor.at_end()) {
    u64 bytes = cursor.next<u32>();
    const bool wide = bytes == 0xffffffff;
    if (wide) bytes = cursor.next<u64>();
    LineProgram(*this, Cursor(cursor.take(bytes)), wide, line_strings, strings).run();
  }
  // Where one sequence ends, the next may begin.
  std::ranges::stable_sort(rows_, [](const Row& a, const Row& b) {
    return a.address != b.address ? a.address < b.address
                                  : a.file == sequence_end && b.file != sequence_end;
  });
}

std::optional<SourceLine> LineTable::find(u64 address) const {
  auto after = std::ranges::upper_bound(rows_, address, {}, &Row::address);
  if (after == rows_.begin()) return std::nullopt;
  const Row& row = *--after;
  if (row.file == sequence_end) return std::nullopt;
  return SourceLine{files_[row.file], row.line};
}

}  // namespace instinct
