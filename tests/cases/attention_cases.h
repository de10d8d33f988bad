// The attention cases of all backends: one struct a case, made from a table of feature values.
#pragma once

#include <string>
#include <vector>

#include "cases/covering.h"
#include "wavefire/attention.h"

namespace wavefire::cases {

enum class Mode { single_decode, single_prefill, batch_decode, batch_prefill };
enum class LengthPattern { equal, empty_kv, empty_q, one_row, fewer_keys, odd_long, mixed };
/// Where K and V lie: by themselves; rows and pages with gaps behind them; K and V of a head side
/// by side (a head stride of two rows); K and V as halves of a page, [pages, 2, ...].
enum class Storage { contiguous, padded, heads_joined, pages_joined };
/// Keys in one tensor or two; values of their own or the first columns of the keys (as in MLA).
enum class KeyForm { plain, tail, values_are_keys, tail_and_values_are_keys };
enum class Masks { none, causal, window, custom, causal_window, custom_causal, custom_window, all };
enum class Positions { none, alibi, given_slopes, rope, rope_smoothed };
enum class Sinks { none, finite, some_masked };
enum class Scales { none, tensor, head };
enum class Magnitude { ordinary, small, large };
/// What lies in every byte that belongs to no token.
enum class Unused { zero, nan, infinity };
enum class Split { balanced, fixed, never };

struct AttentionCase {
  int number = 0;
  Mode mode{};
  LengthPattern lengths{};
  int page_size = 0;  // 0: ragged
  KvLayout layout{};
  Storage storage{};
  bool strided_rows = false;  // q, out and lse with gaps and an odd base address
  int group = 1;
  int num_kv_heads = 1;
  int head_dim_qk = 64, head_dim_vo = 64;
  KeyForm key_form{};
  DType q{}, kv{}, out{};
  Masks masks{};
  std::int64_t window_left = -1;  // -1 unless `masks` has a window
  bool packed_mask = false;
  float soft_cap = 0;
  Positions positions{};
  Sinks sinks{};
  Scales scales{};
  Magnitude magnitude{};
  Unused unused{};
  Split split{};
  int workers = 1;
  bool lse = true;

  bool custom_mask() const;
  bool causal() const;
  bool single() const { return mode == Mode::single_decode || mode == Mode::single_prefill; }
  bool decode() const { return mode == Mode::single_decode || mode == Mode::batch_decode; }
  std::vector<std::pair<int, int>> request_lengths() const;  // (q_len, kv_len)
  int tail_dims() const;                                     // 0: K is one tensor
  bool values_are_keys() const;
};

/// "case 12: batch_decode mixed page16 nhd padded ..."
std::string to_string(const AttentionCase& c);

const FeatureSpace& attention_features();
AttentionCase attention_case(const Row& row, int number);

/// Every pair of feature values at least once (CI), and a large sample (`make test-all`).
std::vector<AttentionCase> covering_attention_cases();
std::vector<AttentionCase> full_attention_cases();

}  // namespace wavefire::cases
