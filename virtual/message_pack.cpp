#include "virtual/message_pack.h"

#include <bit>

namespace instinct {
namespace {

const MessagePack nil_value;

constexpr u32 max_depth = 16;

template <class T>
T big_endian(Cursor& cursor) {
  T value = 0;
  for (u32 i = 0; i < sizeof(T); ++i) value = static_cast<T>(value << 8 | cursor.next<u8>());
  return value;
}

u64 length(Cursor& cursor, u32 log2_bytes) {
  switch (log2_bytes) {
    case 0: return cursor.next<u8>();
    case 1: return big_endian<u16>(cursor);
    default: return big_endian<u32>(cursor);
  }
}

i64 unsigned_integer(Cursor& cursor, u32 log2_bytes) {
  return static_cast<i64>(log2_bytes == 3 ? big_endian<u64>(cursor) : length(cursor, log2_bytes));
}

i64 signed_integer(Cursor& cursor, u32 log2_bytes) {
  switch (log2_bytes) {
    case 0: return cursor.next<i8>();
    case 1: return static_cast<i16>(big_endian<u16>(cursor));
    case 2: return static_cast<i32>(big_endian<u32>(cursor));
    default: return static_cast<i64>(big_endian<u64>(cursor));
  }
}

}  // namespace

MessagePack MessagePack::parse(const Bytes& bytes) {
  Cursor cursor(bytes);
  return parse(cursor, 0);
}

MessagePack MessagePack::parse(Cursor& cursor, u32 depth) {
  if (depth > max_depth) cursor.bytes().fail("nested too deeply");
  MessagePack value;
  const u8 tag = cursor.next<u8>();
  const auto integer = [&](i64 number) {
    value.kind_ = Kind::integer;
    value.integer_ = number;
  };
  if (tag < 0x80) {
    integer(tag);
  } else if (tag < 0x90) {
    value.parse_map(cursor, tag & 0xf, depth);
  } else if (tag < 0xa0) {
    value.parse_array(cursor, tag & 0xf, depth);
  } else if (tag < 0xc0) {
    value.parse_text(cursor, tag & 0x1f);
  } else if (tag == 0xc2 || tag == 0xc3) {
    value.kind_ = Kind::boolean;
    value.integer_ = tag & 1;
  } else if (tag >= 0xc4 && tag <= 0xc6) {  // binary
    value.parse_text(cursor, length(cursor, tag - 0xc4u));
  } else if (tag == 0xca || tag == 0xcb) {
    value.kind_ = Kind::real;
    cursor.skip(tag == 0xca ? 4 : 8);
  } else if (tag >= 0xcc && tag <= 0xcf) {
    integer(unsigned_integer(cursor, tag - 0xccu));
  } else if (tag >= 0xd0 && tag <= 0xd3) {
    integer(signed_integer(cursor, tag - 0xd0u));
  } else if (tag >= 0xd9 && tag <= 0xdb) {
    value.parse_text(cursor, length(cursor, tag - 0xd9u));
  } else if (tag == 0xdc || tag == 0xdd) {
    value.parse_array(cursor, length(cursor, tag - 0xdcu + 1), depth);
  } else if (tag == 0xde || tag == 0xdf) {
    value.parse_map(cursor, length(cursor, tag - 0xdeu + 1), depth);
  } else if (tag >= 0xe0) {
    integer(static_cast<i8>(tag));
  } else if (tag != 0xc0) {
    cursor.bytes().fail("unknown tag " + std::to_string(tag));
  }
  return value;
}

void MessagePack::parse_text(Cursor& cursor, u64 length) {
  kind_ = Kind::text;
  const Bytes bytes = cursor.take(length);
  text_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void MessagePack::parse_array(Cursor& cursor, u64 length, u32 depth) {
  kind_ = Kind::array;
  for (u64 i = 0; i < length; ++i) values_.push_back(parse(cursor, depth + 1));
}

void MessagePack::parse_map(Cursor& cursor, u64 length, u32 depth) {
  kind_ = Kind::map;
  for (u64 i = 0; i < length; ++i) {
    keys_.push_back(parse(cursor, depth + 1).text_);
    values_.push_back(parse(cursor, depth + 1));
  }
}

const MessagePack& MessagePack::operator[](std::string_view key) const {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == key) return values_[i];
  }
  return nil_value;
}

const std::vector<MessagePack>& MessagePack::elements() const {
  return kind_ == Kind::array ? values_ : nil_value.values_;
}

}  // namespace instinct
