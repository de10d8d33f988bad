// Writing new tokens into a paged KV cache.
#pragma once

#include "wavefire/attention.h"

namespace wavefire {

/// Copies key and value [tokens, heads, head_dim] to their pages. Token i belongs to request
/// batch_indices[i] (i32; -1: padding, skipped) at position positions[i] (i32): page
/// indices[indptr[b] + position / page_size], slot position % page_size. k_cache and v_cache are as
/// AttentionTensors::k for `layout`, of the dtype of key and value (any). Everything is checked
/// before the first byte is written; what index arrays on a GPU hold is not: there a token without
/// a page is skipped. Of two tokens for the same slot either may win.
void append_paged_kv_cache(const TensorView& key, const TensorView& value,
                           const TensorView& batch_indices, const TensorView& positions,
                           const TensorView& k_cache, const TensorView& v_cache,
                           const PageTable& pages, KvLayout layout);

/// The same for MLA's compressed cache: ckv [tokens, ckv_dim] and kpe [tokens, kpe_dim] to
/// ckv_cache [pages, page_size, ckv_dim] and kpe_cache [pages, page_size, kpe_dim].
void append_paged_mla_kv_cache(const TensorView& ckv, const TensorView& kpe,
                               const TensorView& batch_indices, const TensorView& positions,
                               const TensorView& ckv_cache, const TensorView& kpe_cache,
                               const PageTable& pages);

/// For tokens appended to requests, append_indptr i32 [batch + 1], whose lengths afterwards are
/// seq_lens i32 [batch]: the j-th new token of request b gets batch_indices = b and positions =
/// seq_lens[b] - its count + j. Both outputs i32 [at least append_indptr[batch]]; the tail is -1
/// and 0. What arrays on a GPU hold is not checked, here and below.
void batch_indices_positions(const TensorView& append_indptr, const TensorView& seq_lens,
                             const TensorView& batch_indices, const TensorView& positions);

/// out i32 [batch]: (pages - 1) * page_size + last_page_len, 0 without pages. `last_page_len` of a
/// request with pages is 1 to page_size, here and above.
void sequence_lengths(const TensorView& indptr, const TensorView& last_page_len, int page_size,
                      const TensorView& out);

}  // namespace wavefire
