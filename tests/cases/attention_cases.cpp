#include "cases/attention_cases.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

namespace wavefire::cases {
namespace {

constexpr int full_table_size = 2000;

// The values of each feature. Enumerations have all of theirs.
constexpr std::array page_sizes = {0, 1, 3, 16, 64};
constexpr std::array groups = {1, 2, 3, 4, 5, 7, 8, 16};
constexpr std::array kv_heads = {1, 2, 3, 8};
constexpr std::array<std::pair<int, int>, 13> head_dims = {{{8, 8},
                                                            {40, 40},
                                                            {64, 64},
                                                            {80, 80},
                                                            {96, 96},
                                                            {128, 128},
                                                            {136, 136},
                                                            {192, 192},
                                                            {256, 256},
                                                            {512, 512},
                                                            {192, 128},
                                                            {128, 64},
                                                            {64, 256}}};
constexpr std::array wide_dtypes = {DType::f32, DType::f16, DType::bf16};
constexpr std::array kv_dtypes = {DType::f32,  DType::f16,      DType::bf16,    DType::e4m3fn,
                                  DType::e5m2, DType::e4m3fnuz, DType::e5m2fnuz};
constexpr std::array windows = {-1, 0, 1, 3, 100};
constexpr std::array soft_caps = {0.f, 5.f};
constexpr std::array worker_counts = {1, 2, 5};

enum Feature {
  mode,
  length_pattern,
  page_size,
  layout,
  storage,
  strided_rows,
  group,
  num_kv_heads,
  dims,
  key_form,
  q_dtype,
  kv_dtype,
  out_dtype,
  masks,
  window,
  packed_mask,
  soft_cap,
  positions,
  sinks,
  scales,
  magnitude,
  unused,
  split,
  workers,
  lse,
  feature_count
};

std::vector<int> feature_sizes() {
  std::vector<int> sizes(feature_count, 2);
  const auto values = [&](Feature f, std::size_t count) { sizes[f] = static_cast<int>(count); };
  values(mode, 4);
  values(length_pattern, 7);
  values(page_size, page_sizes.size());
  values(storage, 4);
  values(group, groups.size());
  values(num_kv_heads, kv_heads.size());
  values(dims, head_dims.size());
  values(key_form, 4);
  values(q_dtype, wide_dtypes.size());
  values(kv_dtype, kv_dtypes.size());
  values(out_dtype, wide_dtypes.size());
  values(masks, 8);
  values(window, windows.size());
  values(positions, 5);
  values(sinks, 3);
  values(scales, 3);
  values(magnitude, 3);
  values(unused, 3);
  values(split, 3);
  values(workers, worker_counts.size());
  return sizes;
}

bool has_window(Masks m) {
  return m == Masks::window || m == Masks::causal_window || m == Masks::custom_window ||
         m == Masks::all;
}

int tail_of(KeyForm form, int head_dim_qk) {
  if (form == KeyForm::plain || form == KeyForm::values_are_keys) return 0;
  return head_dim_qk <= 64 ? 8 : head_dim_qk == 128 ? 64 : head_dim_qk / 3 / 8 * 8;
}

bool takes_values_of_keys(KeyForm form) {
  return form == KeyForm::values_are_keys || form == KeyForm::tail_and_values_are_keys;
}

bool compatible(int a, int x, int b, int y) {
  if (a == mode && b == length_pattern) {
    // One query token a request is never more than there are keys, but for none.
    const bool decodes =
        x == static_cast<int>(Mode::single_decode) || x == static_cast<int>(Mode::batch_decode);
    return !decodes || y != static_cast<int>(LengthPattern::fewer_keys);
  }
  if (a == page_size && b == storage) {
    return page_sizes[static_cast<std::size_t>(x)] > 0 ||
           y != static_cast<int>(Storage::pages_joined);
  }
  if (a == masks && b == window) {
    return has_window(static_cast<Masks>(x)) == (windows[static_cast<std::size_t>(y)] >= 0);
  }
  if (a == dims && b == key_form) {
    const auto [qk, vo] = head_dims[static_cast<std::size_t>(x)];
    const auto form = static_cast<KeyForm>(y);
    const int tail = tail_of(form, qk);
    return tail < qk && (!takes_values_of_keys(form) || vo <= qk - tail);
  }
  return true;
}

const char* name_of(Mode m) {
  return std::array{"single_decode", "single_prefill", "batch_decode",
                    "batch_prefill"}[static_cast<std::size_t>(m)];
}
const char* name_of(LengthPattern p) {
  return std::array{"equal", "empty_kv", "empty_q", "one_row", "fewer_keys", "odd_long", "mixed"}
      [static_cast<std::size_t>(p)];
}

std::vector<AttentionCase> cases_of(const std::vector<Row>& rows) {
  std::vector<AttentionCase> cases;
  for (const Row& row : rows) {
    cases.push_back(attention_case(row, static_cast<int>(cases.size())));
  }
  return cases;
}

}  // namespace

bool AttentionCase::custom_mask() const {
  return masks == Masks::custom || masks == Masks::custom_causal || masks == Masks::custom_window ||
         masks == Masks::all;
}
bool AttentionCase::causal() const {
  return masks == Masks::causal || masks == Masks::causal_window || masks == Masks::custom_causal ||
         masks == Masks::all;
}
int AttentionCase::tail_dims() const { return tail_of(key_form, head_dim_qk); }
bool AttentionCase::values_are_keys() const { return takes_values_of_keys(key_form); }

std::vector<std::pair<int, int>> AttentionCase::request_lengths() const {
  using Lengths = std::vector<std::pair<int, int>>;
  // Longer than a tile in both directions, and odd, somewhere in each column.
  static const std::array<Lengths, 7> prefill = {{
      {{33, 65}, {33, 65}},
      {{5, 0}, {7, 41}, {3, 0}},
      {{0, 30}, {6, 30}, {0, 0}},
      {{1, 1}, {1, 129}},
      {{70, 7}, {9, 2}},
      {{19, 1013}},
      {{1, 300}, {64, 64}, {17, 250}, {0, 5}, {1, 1}, {66, 131}},
  }};
  static const std::array<Lengths, 7> decodes = {{
      {{1, 64}, {1, 64}, {1, 64}},
      {{1, 0}, {1, 41}, {1, 0}},
      {{0, 30}, {1, 30}, {0, 0}},
      {{1, 1}, {1, 129}},
      {{1, 0}},
      {{1, 1531}, {1, 17}},
      {{1, 300}, {1, 64}, {1, 0}, {1, 1}, {1, 257}},
  }};
  const Lengths& all = (this->decode() ? decodes : prefill)[static_cast<std::size_t>(lengths)];
  if (!single()) return all;
  return {all[lengths == LengthPattern::one_row ? 1 : 0]};
}

std::string to_string(const AttentionCase& c) {
  std::ostringstream out;
  out << "case " << c.number << ": " << name_of(c.mode) << " " << name_of(c.lengths) << " page "
      << c.page_size << (c.layout == KvLayout::nhd ? " nhd" : " hnd") << " storage "
      << static_cast<int>(c.storage) << (c.strided_rows ? " strided" : "") << " heads "
      << c.group * c.num_kv_heads << "/" << c.num_kv_heads << " dims " << c.head_dim_qk << "/"
      << c.head_dim_vo << " keys " << static_cast<int>(c.key_form) << " " << name_of(c.q) << " "
      << name_of(c.kv) << " " << name_of(c.out) << " masks " << static_cast<int>(c.masks)
      << (c.packed_mask ? " packed" : "") << " window " << c.window_left << " cap " << c.soft_cap
      << " positions " << static_cast<int>(c.positions) << " sinks " << static_cast<int>(c.sinks)
      << " scales " << static_cast<int>(c.scales) << " magnitude " << static_cast<int>(c.magnitude)
      << " unused " << static_cast<int>(c.unused) << " split " << static_cast<int>(c.split)
      << " workers " << c.workers << (c.lse ? " lse" : "");
  return out.str();
}

const FeatureSpace& attention_features() {
  static const FeatureSpace space{feature_sizes(), compatible};
  return space;
}

AttentionCase attention_case(const Row& row, int number) {
  const auto at = [&](Feature f) { return static_cast<std::size_t>(row[f]); };
  AttentionCase c;
  c.number = number;
  c.mode = static_cast<Mode>(at(mode));
  c.lengths = static_cast<LengthPattern>(at(length_pattern));
  c.page_size = page_sizes[at(page_size)];
  c.layout = static_cast<KvLayout>(at(layout));
  c.storage = static_cast<Storage>(at(storage));
  c.strided_rows = at(strided_rows) != 0;
  c.group = groups[at(group)];
  c.num_kv_heads = kv_heads[at(num_kv_heads)];
  c.head_dim_qk = head_dims[at(dims)].first;
  c.head_dim_vo = head_dims[at(dims)].second;
  c.key_form = static_cast<KeyForm>(at(key_form));
  c.q = wide_dtypes[at(q_dtype)];
  c.kv = kv_dtypes[at(kv_dtype)];
  c.out = wide_dtypes[at(out_dtype)];
  c.masks = static_cast<Masks>(at(masks));
  c.window_left = windows[at(window)];
  c.packed_mask = at(packed_mask) != 0;
  c.soft_cap = soft_caps[at(soft_cap)];
  c.positions = static_cast<Positions>(at(positions));
  c.sinks = static_cast<Sinks>(at(sinks));
  c.scales = static_cast<Scales>(at(scales));
  c.magnitude = static_cast<Magnitude>(at(magnitude));
  c.unused = static_cast<Unused>(at(unused));
  c.split = static_cast<Split>(at(split));
  c.workers = worker_counts[at(workers)];
  c.lse = at(lse) != 0;
  return c;
}

std::vector<AttentionCase> covering_attention_cases() {
  return cases_of(covering_table(attention_features()));
}
std::vector<AttentionCase> full_attention_cases() {
  return cases_of(sample_table(attention_features(), full_table_size, 1));
}

}  // namespace wavefire::cases
