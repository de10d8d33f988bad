// Bounds-checked reads from a file that nobody vouches for.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "virtual/types.h"

namespace instinct {

class Bytes {
 public:
  // `what` names the data in errors and outlives this.
  Bytes(std::span<const std::byte> data, const char* what) : data_(data), what_(what) {}

  u64 size() const { return data_.size(); }
  const std::byte* data() const { return data_.data(); }

  template <class T>
  T read(u64 offset) const {
    T value;
    std::memcpy(&value, slice(offset, sizeof(T)).data_.data(), sizeof(T));
    return value;
  }

  Bytes slice(u64 offset, u64 bytes) const {
    if (offset > size() || bytes > size() - offset) {
      fail("bytes [" + std::to_string(offset) + ", +" + std::to_string(bytes) +
           ") are beyond its " + std::to_string(size()) + " bytes: truncated?");
    }
    return {data_.subspan(offset, bytes), what_};
  }

  // Up to the next zero.
  std::string_view text(u64 offset) const {
    if (offset >= size()) fail("a string begins beyond its " + std::to_string(size()) + " bytes");
    const char* begin = reinterpret_cast<const char*>(data_.data()) + offset;
    const void* end = std::memchr(begin, 0, size() - offset);
    if (!end) fail("a string has no end");
    return {begin, static_cast<std::size_t>(static_cast<const char*>(end) - begin)};
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(Error::Kind::invalid_image, std::string(what_) + ": " + why);
  }

  Bytes named(const char* what) const { return {data_, what}; }

 private:
  std::span<const std::byte> data_;
  const char* what_;
};

// Reads one value after another.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}

  bool at_end() const { return at_ >= bytes_.size(); }
  u64 at() const { return at_; }
  u64 left() const { return bytes_.size() - at_; }
  const Bytes& bytes() const { return bytes_; }

  template <class T>
  T next() {
    T value = bytes_.read<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  Bytes take(u64 bytes) {
    Bytes part = bytes_.slice(at_, bytes);
    at_ += bytes;
    return part;
  }
  void seek(u64 offset) {
    if (offset > bytes_.size()) bytes_.fail("an offset is beyond its end");
    at_ = offset;
  }
  void skip(u64 bytes) { take(bytes); }
  std::string_view text() {
    std::string_view value = bytes_.text(at_);
    at_ += value.size() + 1;
    return value;
  }
  u64 uleb() {
    u64 value = 0;
    for (u32 shift = 0;; shift += 7) {
      const u8 byte = next<u8>();
      if (shift < 64) value |= static_cast<u64>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
  }
  i64 sleb() {
    u64 value = 0;
    for (u32 shift = 0;;) {
      const u8 byte = next<u8>();
      if (shift < 64) value |= static_cast<u64>(byte & 0x7f) << shift;
      shift += 7;
      if (byte & 0x80) continue;
      if (shift < 64 && (byte & 0x40)) value |= ~0ull << shift;
      return static_cast<i64>(value);
    }
  }

 private:
  Bytes bytes_;
  u64 at_ = 0;
};

}  // namespace instinct
