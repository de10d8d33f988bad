// Managing the pages of a KV cache: sequences as page tables, copy-on-write forks, prefixes shared
// by content. It manages pages and tables; the tensors stay the caller's.
//
//   auto [id, cached] = cache.create(prompt);          // `cached` tokens are there already
//   auto copies = cache.append(id, rest_of_prompt);    // reserves slots; carry out the copies
//   first
//   ... write K and V at positions cached .. length, run attention over tables({id}) ...
//   cache.commit(id);                                  // full pages may now be shared
//
// Not thread-safe: one engine, one thread. Every call either succeeds or throws and changes
// nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace wavefire {

struct KvCacheOptions {
  std::int64_t num_pages = 0;
  int page_size = 16;          // tokens a page
  bool share_prefixes = true;  // find equal prefixes by content and keep them after release
};

/// Pages: total = free + used + cached.
struct KvCacheStats {
  std::int64_t total = 0;
  std::int64_t free = 0;
  std::int64_t used = 0;  // in the table of a sequence
  std::int64_t cached =
      0;  // held for their content only; given up, least recently used first, when pages run out
  std::int64_t shared = 0;  // of the used ones, those in the tables of several sequences
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;  // sum of the sequences' lengths
};

/// Copy the K and V of the first `tokens` slots of page `from` to page `to` before anything is
/// written.
struct PageCopy {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t tokens = 0;
};

/// Tables of a batch in CSR form, as PageTable takes them; seq_lens are the lengths in tokens.
struct KvTables {
  std::vector<std::int32_t> indptr, indices, last_page_len, seq_lens;
};

class KvCache {
 public:
  using SequenceId = std::int64_t;

  struct Created {
    SequenceId id;
    std::int64_t cached_tokens;  // whole pages, fewer than the prompt has tokens
  };

  /// Throws `Error` (invalid_argument) unless num_pages >= 0 and page_size >= 1.
  explicit KvCache(const KvCacheOptions& options);
  ~KvCache();
  KvCache(KvCache&&) noexcept;
  KvCache& operator=(KvCache&&) noexcept;

  /// A new sequence that holds the longest prefix of `tokens` found in the cache, in whole pages.
  /// At least one token is left out, since its logits have to be computed.
  Created create(std::span<const std::int32_t> tokens = {});

  /// Reserves slots for `tokens` behind the end. Throws `Error` (out_of_memory) with the numbers
  /// when pages run out.
  std::vector<PageCopy> append(SequenceId id, std::span<const std::int32_t> tokens);

  /// Cuts the sequence down to `length` tokens, 0 to its present length.
  void truncate(SequenceId id, std::int64_t length);

  /// A second sequence with the same content. The pages are shared until one of the two writes.
  SequenceId fork(SequenceId id);

  /// The K and V of the first `length` tokens are written: their full pages may be found by others.
  /// A page whose content is known already is replaced by the known one in the sequence's table.
  void commit(SequenceId id, std::int64_t length);
  void commit(SequenceId id) { commit(id, length(id)); }

  void release(SequenceId id);

  std::int64_t length(SequenceId id) const;
  std::span<const std::int32_t> tokens(SequenceId id) const;
  std::span<const std::int32_t> pages(SequenceId id) const;
  KvTables tables(std::span<const SequenceId> ids) const;

  /// Pages that `count` more tokens of a sequence would take, copies included.
  std::int64_t pages_needed(SequenceId id, std::int64_t count) const;
  KvCacheStats stats() const;
  int page_size() const;

  /// Gives up all pages that are held for their content only.
  void drop_cached();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wavefire
