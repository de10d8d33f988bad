// Entries of index arrays, each on its own. What index arrays hold is not checked: an entry that
// they give no segment gets what padding gets, and nothing outside of an array is read.
#pragma once

#include "index/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(index)

WF_DEVICE i64 read(const Numbers& numbers, i64 i) {
  const i64 at = i * numbers.stride;
  if (numbers.dtype == DType::i64) return static_cast<const i64*>(numbers.data)[at];
  return static_cast<const i32*>(numbers.data)[at];
}
WF_DEVICE void write(const Output& out, i64 i, i64 value) {
  out.data[i * out.stride] = static_cast<i32>(value);
}

/// The segment of `indptr` that entry i lies in; `segments` if there is none.
WF_DEVICE i64 segment_of(const Numbers& indptr, i64 segments, i64 i) {
  i64 first = 0, last = segments;  // the first whose end is behind i
  while (first < last) {
    const i64 middle = (first + last) / 2;
    if (read(indptr, middle + 1) <= i) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

/// offsets[b] + the place of token i in its request b; 0 for a token of none.
WF_DEVICE void rope_position(const Launch& p, i64 i) {
  const i64 b = segment_of(p.indptr, p.segments, i);
  write(p.out, i, b == p.segments ? 0 : read(p.values, b) + i - read(p.indptr, b));
}

/// The request of new token i, and its place in a sequence that is values[b] long now.
WF_DEVICE void batch_position(const Launch& p, i64 i) {
  const i64 b = segment_of(p.indptr, p.segments, i);
  const bool padding = b == p.segments;
  write(p.batch, i, padding ? -1 : b);
  write(p.out, i, padding ? 0 : read(p.values, b) - (read(p.indptr, b + 1) - i));
}

WF_DEVICE void sequence_length(const Launch& p, i64 b) {
  const i64 pages = read(p.indptr, b + 1) - read(p.indptr, b);
  write(p.out, b, pages <= 0 ? 0 : (pages - 1) * p.page_size + read(p.values, b));
}

/// Entry i: the bytes of all segments before. Segments are few: every entry adds them up itself.
WF_DEVICE void packed_begin(const Launch& p, i64 i) {
  i64 bytes = 0;
  for (i64 s = 0; s < i; ++s) bytes += (read(p.indptr, s + 1) - read(p.indptr, s) + 7) / 8;
  write(p.out, i, bytes);
}

/// Eight bytes, each of which is zero or not, as the bits of one.
WF_DEVICE u8 bits_of(u64 bytes, bool little) {
  constexpr u64 low = 0x7f7f7f7f7f7f7f7f;
  const u64 ones = (((bytes & low) + low) | bytes) >> 7 & 0x0101010101010101;
  // The product moves bit 8 j to 56 + j, or to 63 - j; no two of its terms meet.
  return static_cast<u8>(ones * (little ? 0x0102040810204080 : 0x8040201008040201) >> 56);
}

/// Bits [begin, end), up to eight, as a byte.
WF_DEVICE u8 packed_byte(const Launch& p, i64 begin, i64 end) {
  const auto* first = p.bits + begin * p.bits_stride;
  const bool together = p.bits_stride == 1 && end - begin >= 8;
  if (together && reinterpret_cast<u64>(first) % 8 == 0) {
    return bits_of(*reinterpret_cast<const u64*>(first), p.little);
  }
  u32 byte = 0;
  WF_UNROLL
  for (int j = 0; j < 8; ++j) {
    if (begin + j >= end || p.bits[(begin + j) * p.bits_stride] == 0) continue;
    byte |= 1u << (p.little ? j : 7 - j);
  }
  return static_cast<u8>(byte);
}
WF_DEVICE void pack(const Launch& p, i64 i) {
  p.packed[i] = packed_byte(p, i * 8, tile::min(i * 8 + 8, p.bits_size));
}
WF_DEVICE void pack_segment(const Launch& p, i64 i) {
  const i64 s = segment_of(p.packed_indptr, p.segments, i);
  if (s == p.segments) return;
  const i64 begin = read(p.indptr, s) + (i - read(p.packed_indptr, s)) * 8;
  const i64 end = tile::min(read(p.indptr, s + 1), p.bits_size);
  p.packed[i] = begin < 0 ? u8{0} : packed_byte(p, begin, end);
}

WF_NAMESPACE_END
