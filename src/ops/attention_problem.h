// From the caller's arguments to a validated attention problem.
#pragma once

#include <vector>

#include "attention/problem.h"
#include "wavefire/attention.h"

namespace wavefire::ops {

/// Everything of a plan that comes from the caller, checked and copied: the caller's arrays may
/// change or go away afterwards.
struct AttentionBatch {
  std::vector<attention::Request> requests;
  std::vector<i32> page_table;  // empty: ragged
  i32 max_page = -1;            // largest page of the table
  i32 page_size = 1;
  bool paged = false;
  i64 tokens = 0;        // query tokens
  i64 kv_rows = 0;       // ragged: KV rows that the tensors must have
  std::vector<u8> mask;  // packed bits, every request padded to a byte
};

/// Packed rows (query tokens times group) and keys that a request may have. Positions and ends of
/// tiles then stay below 2^31, whatever the size of a tile.
inline constexpr i64 longest_request = i64{1} << 30;

/// Checks the options and fills in the defaults. Throws `Error` (invalid_argument).
AttentionOptions complete(const AttentionOptions& options);

/// Fills `batch` anew. Throws `Error` (invalid_argument).
void read_batch(AttentionBatch& batch, const TensorView& qo_indptr, const PageTable& pages,
                const CustomMask& mask);
void read_batch(AttentionBatch& batch, const TensorView& qo_indptr, const TensorView& kv_indptr,
                const CustomMask& mask);

/// Throws `Error` (invalid_argument) unless every request is within `longest_request`.
void require_lengths(const AttentionBatch& batch, int group);

/// Throws `Error` (invalid_argument) if the page table has more entries than graphs may.
void require_graph_pages(const AttentionBatch& batch, std::int64_t graph_pages);

/// Radians that a position advances pair i by, [head_dim / 2]: theta^(-2i/d) / scale, or
/// LLaMA 3.1's: with f that frequency (scale 1) and smooth = clamp(f old_context / (2 pi (high -
/// low)) - 1 / (high / low - 1), 0, 1), (1 - smooth) f / scale + smooth f.
/// Throws `Error` (invalid_argument) for requests with positions beyond `rope_limit`.
void require_rotatable(const AttentionBatch& batch, const AttentionOptions& options);
/// Angles up to this many radians are exact to float32 (math/sincos.h).
inline constexpr i64 longest_rope = i64{1} << 24;
/// Positions below it keep all angles within `longest_rope`.
i64 rope_limit(const RopeParameters& rope, int head_dim);
/// Throws `Error` (invalid_argument) of operation `who` for parameters without frequencies.
void require_rope(const char* who, const RopeParameters& rope);
std::vector<double> rope_frequencies(const RopeParameters& rope, int head_dim);

}  // namespace wavefire::ops
