// MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md), as far as metadata uses it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "virtual/bytes.h"
#include "virtual/types.h"

namespace instinct {

class MessagePack {
 public:
  enum class Kind : u8 { nil, boolean, integer, real, text, array, map };

  // One value at the start of `bytes`. Throws Error invalid_image.
  static MessagePack parse(const Bytes& bytes);

  Kind kind() const { return kind_; }
  // The entry of a map; nil if there is none, or if this is no map.
  const MessagePack& operator[](std::string_view key) const;
  // The elements of an array; none if it is none.
  const std::vector<MessagePack>& elements() const;

  i64 integer(i64 otherwise = 0) const { return kind_ == Kind::integer ? integer_ : otherwise; }
  bool boolean() const { return kind_ == Kind::boolean && integer_; }
  const std::string& text() const { return text_; }

 private:
  static MessagePack parse(Cursor& cursor, u32 depth);
  void parse_text(Cursor& cursor, u64 length);
  void parse_array(Cursor& cursor, u64 length, u32 depth);
  void parse_map(Cursor& cursor, u64 length, u32 depth);

  Kind kind_ = Kind::nil;
  i64 integer_ = 0;
  std::string text_;
  std::vector<MessagePack> values_;  // of an array or a map
  std::vector<std::string> keys_;
};

}  // namespace instinct
