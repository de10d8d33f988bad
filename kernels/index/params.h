// Parameters of making index arrays and packing bits on a GPU: one thread for each entry.
#pragma once

#include "tile/target.h"
#include "wavefire/dtype.h"

namespace wavefire::index {

enum class Kind : unsigned char {
  rope_positions,
  batch_positions,
  sequence_lengths,
  packed_indptr,
  packbits,
  segment_packbits,
};

/// A view of int32 or int64 values.
struct Numbers {
  const void* data = nullptr;
  i64 stride = 1;
  DType dtype = DType::i32;
};
struct Output {
  i32* data = nullptr;
  i64 stride = 1;
};

struct Launch {
  i64 count = 0;        // entries to write
  i64 segments = 0;     // of indptr
  Numbers indptr = {};  // [segments + 1]
  Numbers values = {};  // of each segment: offsets, lengths, or tokens on the last page
  Output out = {}, batch = {};
  i32 page_size = 1;
  // Packing: bytes that are not 0 become bits.
  const u8* bits = nullptr;
  i64 bits_size = 0, bits_stride = 1;
  Numbers packed_indptr = {};  // [segments + 1], in bytes
  u8* packed = nullptr;
  bool little = false;
};

}  // namespace wavefire::index
