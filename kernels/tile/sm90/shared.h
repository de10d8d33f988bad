// Staged tiles of sm_90: slices of 128 bytes of columns, in the 128-byte swizzle that the copy
// engine writes and wgmma reads.
#pragma once

#include "tile/sm90/isa.h"

WF_NAMESPACE_BEGIN(tile)

template <DType dtype_, int rows_, int cols_>
struct alignas(1024) SliceTile {
  static constexpr DType dtype = dtype_;
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static constexpr int chunk_elements = 16 / size_of(dtype);
  static constexpr int slice_cols = 128 / size_of(dtype);
  static constexpr int slices = cols / slice_cols;
  static constexpr int slice_bytes = rows * 128;
  static constexpr int chunks = cols / chunk_elements;  // of a row
  static_assert(cols % slice_cols == 0 && rows % 8 == 0);
  u8 bytes[slices * slice_bytes];

  /// Byte offset of a 16-byte chunk: chunk c of row r of a slice lies at c ^ (r % 8).
  /// Source: PTX ISA, "Shared memory matrix layout", 128-byte swizzling.
  static constexpr int offset(int row, int chunk) {
    return chunk / 8 * slice_bytes + row * 128 + ((chunk % 8) ^ (row & 7)) * 16;
  }
  /// See SwizzledTile.
  static constexpr u32 moved(u32 address, int rows, int columns) {
    return (address ^ ((rows ^ columns) & 7) * 16) +
           static_cast<u32>(columns / 8 * slice_bytes + rows * 128);
  }
};

/// The descriptor of a 128-byte swizzled operand (PTX ISA, "Matrix descriptor format"): start
/// address, leading and stride byte offsets in units of 16 bytes. Along the contiguous dimension
/// one slice follows the other after `leading` bytes; groups of eight rows after `stride` bytes.
template <u32 leading, u32 stride>
struct SwizzledDescriptor {
  static constexpr u32 high = (stride >> 4) | u32{1} << 30;  // 128-byte swizzle
  u32 low;

  WF_DEVICE explicit SwizzledDescriptor(u32 address)
      : low(isa::shuffle((address >> 4 & 0x3fff) | (leading >> 4) << 16, 0)) {}
  /// Of what lies `bytes` behind: no carry leaves the address.
  WF_DEVICE u64 moved(int bytes) const {
    return static_cast<u64>(high) << 32 | (low + static_cast<u32>(bytes >> 4));
  }
};

WF_NAMESPACE_END
