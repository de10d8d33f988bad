#include "cases/attention_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace wavefire::cases {
namespace {

/// Values that the storage type has, drawn once: filling is then a choice, not a conversion.
class Palette {
 public:
  Palette(DType dtype, double size, std::uint32_t seed) : random_(seed) {
    std::normal_distribution<double> normal(0, size);
    for (double& value : values_) {
      value = reference::value_of_bits(dtype, reference::bits_of_value(dtype, normal(random_)));
    }
  }
  void fill(std::vector<double>& data, std::int64_t count) {
    data.resize(static_cast<std::size_t>(count));
    for (double& value : data) value = values_[random_() % std::size(values_)];
  }

 private:
  std::mt19937 random_;
  double values_[2039];  // a prime: rows do not repeat
};

std::uint32_t unused_bits(DType dtype, Unused unused) {
  switch (unused) {
    case Unused::zero: return 0;
    case Unused::nan: return reference::nan_bits_of(dtype);
    case Unused::infinity: break;
  }
  const auto format = reference::format_of(dtype);
  if (format.specials != reference::Format::Specials::ieee) return reference::nan_bits_of(dtype);
  return ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
}

std::vector<float> scales_of(int count) {
  std::vector<float> scales;
  for (int i = 0; i < count; ++i) scales.push_back(std::ldexp(1.f, i % 3 - 1));
  return scales;
}

std::vector<double> to_doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// Press et al. 2022: for a power of two n the geometric sequence that starts at 2^(-8/n); for
/// other n that of the power of two below, then every other one of the sequence for twice that
/// power.
std::vector<double> slopes_of(int heads) {
  int power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (int i = 1; i <= power; ++i) slopes.push_back(std::exp2(-8.0 * i / power));
  for (int i = 1; static_cast<int>(slopes.size()) < heads; i += 2) {
    slopes.push_back(std::exp2(-8.0 * i / (2 * power)));
  }
  return slopes;
}

constexpr std::int64_t gap_elements = 8;

}  // namespace

AttentionData::AttentionData(const AttentionCase& c, Values values, std::optional<Unused> unused)
    : case_(c), unused_(unused.value_or(c.unused)) {
  set_options();
  make_requests(values);
  make_extras();
  place_queries();
  place_pages();
  place_keys_and_values();
  place_mask();
}

void AttentionData::set_options() {
  const AttentionCase& c = case_;
  AttentionOptions& o = options;
  o.num_kv_heads = c.num_kv_heads;
  o.num_qo_heads = c.num_kv_heads * c.group;
  o.head_dim_qk = c.head_dim_qk;
  o.head_dim_vo = c.head_dim_vo;
  o.q_dtype = c.q;
  o.kv_dtype = c.kv;
  o.o_dtype = c.out;
  o.kv_layout = c.layout;
  o.causal = c.causal();
  o.window_left = c.window_left;
  if (c.scales == Scales::tensor) o.sm_scale = 0.11f;
  o.logits_soft_cap = c.soft_cap;
  switch (c.positions) {
    case Positions::none: break;
    case Positions::alibi:
    case Positions::given_slopes: o.position_mode = PositionMode::alibi; break;
    case Positions::rope:
      o.position_mode = PositionMode::rope_llama;
      o.rope = {.scale = 2.f, .theta = 1e4f};
      break;
    case Positions::rope_smoothed:
      o.position_mode = PositionMode::rope_llama;
      o.rope = {8.f, 5e5f, 1.f, 4.f, 512.f};
      break;
  }
  if (c.split == Split::fixed) o.fixed_split_kv = 48;
  o.allow_split = c.split != Split::never;
  o.workers = c.workers;
  o.device = test_device();
}

void AttentionData::make_requests(Values values) {
  const AttentionCase& c = case_;
  const auto seed = static_cast<std::uint32_t>(c.number) * 7919;
  const double size = c.magnitude == Magnitude::small   ? 0.02
                      : c.magnitude == Magnitude::large ? 8.0
                                                        : 1.0;
  Palette q(c.q, size, seed + 1), k(c.kv, size, seed + 2), v(c.kv, 1.0, seed + 3);
  for (const auto& [q_len, kv_len] : c.request_lengths()) {
    reference::AttentionRequest r;
    r.q_len = q_len;
    r.kv_len = kv_len;
    r.num_qo_heads = options.num_qo_heads;
    r.num_kv_heads = options.num_kv_heads;
    r.head_dim_qk = options.head_dim_qk;
    r.head_dim_vo = options.head_dim_vo;
    r.soft_cap = options.logits_soft_cap;
    r.causal = options.causal;
    r.window_left = options.window_left;
    q.fill(r.q, r.q_len * r.num_qo_heads * r.head_dim_qk);
    k.fill(r.k, r.kv_len * r.num_kv_heads * r.head_dim_qk);
    v.fill(r.v, r.kv_len * r.num_kv_heads * r.head_dim_vo);
    const auto whole_values = [&](std::vector<double>& rows, std::int64_t dims) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i) / dims,
                   d = static_cast<std::int64_t>(i) % dims;
        rows[i] = values == Values::ones ? 1.0 : static_cast<double>((row * 5 + d) % 15 - 7);
      }
    };
    if (values != Values::random) {
      whole_values(r.v, r.head_dim_vo);
      if (c.values_are_keys()) whole_values(r.k, r.head_dim_qk);
    }
    for (std::int64_t row = 0; c.values_are_keys() && row < r.kv_len * r.num_kv_heads; ++row) {
      std::copy_n(r.k.begin() + row * r.head_dim_qk, r.head_dim_vo,
                  r.v.begin() + row * r.head_dim_vo);
    }
    make_mask(r, values);
    requests_.push_back(std::move(r));
  }
}

void AttentionData::make_mask(reference::AttentionRequest& r, Values values) {
  if (!case_.custom_mask() && values != Values::payload) return;
  std::mt19937 random(static_cast<std::uint32_t>(case_.number) + 17);
  r.mask.resize(static_cast<std::size_t>(r.q_len * r.kv_len));
  for (std::int64_t t = 0; t < r.q_len; ++t) {
    // By position the row sees the keys [low, high).
    const std::int64_t position = t + r.kv_len - r.q_len;
    const std::int64_t high =
        r.causal ? std::clamp<std::int64_t>(position + 1, 0, r.kv_len) : r.kv_len;
    const std::int64_t low =
        r.window_left < 0 ? 0 : std::clamp<std::int64_t>(position - r.window_left, 0, high);
    const auto bit = [&](std::int64_t j) {
      return r.mask[static_cast<std::size_t>(t * r.kv_len + j)];
    };
    if (values == Values::payload) {
      if (high > low) bit(low + static_cast<std::int64_t>(random()) % (high - low)) = true;
      continue;
    }
    if (t == 1) continue;  // a row that sees nothing
    for (std::int64_t j = 0; j < r.kv_len; ++j) bit(j) = random() % 3 != 0;
  }
}

void AttentionData::make_extras() {
  const AttentionCase& c = case_;
  const AttentionOptions& o = options;
  std::vector<float> sinks, slopes, q_scale, k_scale, v_scale;
  if (c.sinks != Sinks::none) {
    for (int h = 0; h < o.num_qo_heads; ++h) {
      const bool masked = c.sinks == Sinks::some_masked && h % 2 == 0;
      sinks.push_back(masked ? -INFINITY : 0.5f * static_cast<float>(h % 5) - 1);
    }
    sinks_ = HostTensor::of(sinks);
    tensors.sinks = sinks_.view();
  }
  if (c.positions == Positions::given_slopes) {
    for (int h = 0; h < o.num_qo_heads; ++h) slopes.push_back(0.03f * static_cast<float>(h + 1));
    slopes_ = HostTensor::of(slopes);
    tensors.alibi_slopes = slopes_.view();
  }
  if (c.scales != Scales::none) {
    tensors.q_scale = 0.5f;
    tensors.k_scale = 3.f;
    tensors.v_scale = 0.25f;
  }
  if (c.scales == Scales::head) {
    q_scale = scales_of(o.num_qo_heads);
    k_scale = scales_of(o.num_kv_heads + 1);
    k_scale.erase(k_scale.begin());
    v_scale = scales_of(o.num_kv_heads);
    q_scale_ = HostTensor::of(q_scale);
    k_scale_ = HostTensor::of(k_scale);
    v_scale_ = HostTensor::of(v_scale);
    tensors.q_head_scale = q_scale_.view();
    tensors.k_head_scale = k_scale_.view();
    tensors.v_head_scale = v_scale_.view();
  }
  for (reference::AttentionRequest& r : requests_) {
    r.scale = o.sm_scale ? double{*o.sm_scale} : 1 / std::sqrt(static_cast<double>(o.head_dim_qk));
    r.scale *= double{tensors.q_scale} * tensors.k_scale;
    r.v_scale = tensors.v_scale;
    r.q_head_scale = to_doubles(q_scale);
    r.k_head_scale = to_doubles(k_scale);
    r.v_head_scale = to_doubles(v_scale);
    r.sinks = to_doubles(sinks);
    r.alibi_slopes =
        c.positions == Positions::alibi ? slopes_of(o.num_qo_heads) : to_doubles(slopes);
    if (o.position_mode == PositionMode::rope_llama) {
      r.rope_frequency = reference::rope_frequencies(
          o.rope.scale, o.rope.theta, o.rope.low_freq_factor, o.rope.high_freq_factor,
          o.rope.old_context_len, o.head_dim_qk);
    }
  }
}

void AttentionData::place_queries() {
  const AttentionOptions& o = options;
  std::vector<std::int32_t> indptr{0};
  for (const reference::AttentionRequest& r : requests_) {
    first_token_.push_back(tokens_);
    tokens_ += r.q_len;
    indptr.push_back(static_cast<std::int32_t>(tokens_));
  }
  qo_indptr = HostTensor::of(indptr);
  // Strided: gaps behind every head and token, and a base address that is only an element's
  // multiple; GPUs take rows at multiples of 16 bytes.
  const std::int64_t gap = case_.strided_rows ? gap_elements : 0, offset = !case_.strided_rows ? 0
                                                                           : test_gpu() != nullptr
                                                                               ? gap_elements
                                                                               : 1;
  const auto rows = [&](HostTensor& memory, DType dtype, std::int64_t dims) {
    const std::int64_t head = dims + gap, token = head * o.num_qo_heads + gap;
    memory = HostTensor(dtype, {tokens_ * token + offset});
    TensorView view =
        TensorView::contiguous(memory.view().as<char>() + offset * size_of(dtype), dtype,
                               {tokens_, o.num_qo_heads, dims}, memory.view().device);
    view.strides[0] = token;
    view.strides[1] = head;
    return view;
  };
  tensors.q = rows(q_, o.q_dtype, o.head_dim_qk);
  tensors.out = rows(out_, o.o_dtype, o.head_dim_vo);
  if (case_.lse) {
    tensors.lse = rows(lse_, DType::f32, 1);
    tensors.lse.rank = 2;
  }
  q_.fill_bits(unused_bits(o.q_dtype, unused_));
  for (std::size_t b = 0; b < requests_.size(); ++b) {
    const reference::AttentionRequest& r = requests_[b];
    const double* value = r.q.data();
    for (std::int64_t t = 0; t < r.q_len; ++t) {
      for (std::int64_t h = 0; h < r.num_qo_heads; ++h) {
        for (std::int64_t d = 0; d < r.head_dim_qk; ++d) {
          set(tensors.q, {first_token_[b] + t, h, d}, *value++);
        }
      }
    }
  }
  reset_outputs();
}

void AttentionData::place_pages() {
  const std::int64_t page_size = case_.page_size;
  std::vector<std::int32_t> indptr{0}, last;
  for (const reference::AttentionRequest& r : requests_) {
    const std::int64_t count = page_size == 0 ? r.kv_len : (r.kv_len + page_size - 1) / page_size;
    kv_first_.push_back(indptr.back());
    indptr.push_back(indptr.back() + static_cast<std::int32_t>(count));
    // A request without pages may hold anything there.
    last.push_back(count == 0 || page_size == 0
                       ? -7
                       : static_cast<std::int32_t>((r.kv_len - 1) % page_size + 1));
  }
  kv_indptr = HostTensor::of(indptr);
  const std::int64_t entries = indptr.back();
  slots_ = page_size == 0 ? entries + (case_.storage == Storage::padded ? 2 : 0) : page_size;
  if (page_size == 0) return;
  pool_pages_ = entries + 3;
  pages_.resize(static_cast<std::size_t>(pool_pages_));
  std::iota(pages_.begin(), pages_.end(), 0);
  std::mt19937 random(static_cast<std::uint32_t>(case_.number) + 5);
  for (std::size_t i = pages_.size(); i-- > 1;) std::swap(pages_[i], pages_[random() % (i + 1)]);
  // Entries behind the last request's are nobody's.
  std::vector<std::int32_t> indices(pages_.begin(), pages_.begin() + entries);
  if (case_.strided_rows) indices.insert(indices.end(), 3, 0x7fffffff);
  kv_indices = HostTensor::of(indices);
  last_page_len = HostTensor::of(last);
}

AttentionData::KvPlaces AttentionData::kv_places(std::int64_t row_width, std::int64_t gap,
                                                 bool joined) const {
  const std::int64_t heads = options.num_kv_heads;
  KvPlaces p;
  if (options.kv_layout == KvLayout::nhd) {
    p.head = row_width;
    p.token = heads * row_width + gap;
    p.page = slots_ * p.token;
  } else {
    p.token = row_width;
    p.head = slots_ * row_width + gap;
    p.page = heads * p.head;
  }
  p.page = p.page * (joined ? 2 : 1) + gap;
  return p;
}

std::int64_t AttentionData::kv_elements(const KvPlaces& p) const {
  return (case_.page_size == 0 ? 1 : pool_pages_) * p.page;
}

TensorView AttentionData::kv_view(unsigned char* data, const KvPlaces& p, std::int64_t dims) const {
  const bool nhd = options.kv_layout == KvLayout::nhd;
  TensorView view;
  view.data = data;
  view.dtype = options.kv_dtype;
  view.device = test_device();
  const auto dimension = [&](std::int64_t extent, std::int64_t stride) {
    view.shape[view.rank] = extent;
    view.strides[view.rank++] = stride;
  };
  if (case_.page_size > 0) dimension(pool_pages_, p.page);
  dimension(nhd ? slots_ : options.num_kv_heads, nhd ? p.token : p.head);
  dimension(nhd ? options.num_kv_heads : slots_, nhd ? p.head : p.token);
  dimension(dims, 1);
  return view;
}

/// Columns of the requests' keys or values, from `first_column` on.
void AttentionData::write_rows(const TensorView& view, std::int64_t first_column, bool keys) const {
  const bool paged = case_.page_size > 0, nhd = options.kv_layout == KvLayout::nhd;
  const std::int64_t token_stride = view.strides[view.rank - (nhd ? 3 : 2)];
  const std::int64_t head_stride = view.strides[view.rank - (nhd ? 2 : 3)];
  const std::int64_t dims = view.shape[view.rank - 1];
  for (std::size_t b = 0; b < requests_.size(); ++b) {
    const reference::AttentionRequest& r = requests_[b];
    const std::vector<double>& rows = keys ? r.k : r.v;
    const std::int64_t row_dims = keys ? r.head_dim_qk : r.head_dim_vo;
    for (std::int64_t j = 0; j < r.kv_len; ++j) {
      std::int64_t place = (kv_first_[b] + j) * token_stride;
      if (paged) {
        const auto entry = static_cast<std::size_t>(kv_first_[b] + j / case_.page_size);
        place = pages_[entry] * view.strides[0] + j % case_.page_size * token_stride;
      }
      for (std::int64_t h = 0; h < r.num_kv_heads; ++h) {
        const double* row = rows.data() + (j * r.num_kv_heads + h) * row_dims + first_column;
        for (std::int64_t d = 0; d < dims; ++d) {
          reference::encode(view.dtype, row[d], view.data, place + h * head_stride + d);
        }
      }
    }
  }
}

void AttentionData::place_keys_and_values() {
  const AttentionCase& c = case_;
  const std::int64_t tail = c.tail_dims(), k_dims = c.head_dim_qk - tail, v_dims = c.head_dim_vo;
  const std::uint32_t unused = unused_bits(c.kv, unused_);
  const auto allocate = [&](HostTensor& memory, const KvPlaces& places) {
    memory = HostTensor(c.kv, {kv_elements(places)});
    memory.fill_bits(unused);
    return memory.view().as<unsigned char>();
  };
  const std::int64_t gap = c.storage == Storage::padded ? gap_elements : 0;
  const std::int64_t bytes = size_of(c.kv);
  if (c.storage == Storage::heads_joined || c.storage == Storage::pages_joined) {
    const bool pages = c.storage == Storage::pages_joined;
    const KvPlaces places = kv_places(pages ? std::max(k_dims, v_dims) : k_dims + v_dims, 0, pages);
    unsigned char* data = allocate(k_, places);
    tensors.k = kv_view(data, places, k_dims);
    tensors.v = kv_view(data + (pages ? places.page / 2 : k_dims) * bytes, places, v_dims);
  } else {
    const KvPlaces k_places = kv_places(k_dims + gap, gap, false);
    const KvPlaces v_places = kv_places(v_dims + 2 * gap, gap, false);
    tensors.k = kv_view(allocate(k_, k_places), k_places, k_dims);
    if (!c.values_are_keys()) tensors.v = kv_view(allocate(v_, v_places), v_places, v_dims);
  }
  if (tail > 0) {
    const KvPlaces places = kv_places(tail + gap, gap, false);
    tensors.k_tail = kv_view(allocate(tail_, places), places, tail);
    write_rows(tensors.k_tail, k_dims, true);
  }
  write_rows(tensors.k, 0, true);
  if (c.values_are_keys()) {
    tensors.v = tensors.k;
    tensors.v.shape[tensors.v.rank - 1] = v_dims;
  } else {
    write_rows(tensors.v, 0, false);
  }
}

void AttentionData::place_mask() {
  if (std::all_of(requests_.begin(), requests_.end(),
                  [](const auto& r) { return r.mask.empty(); }) &&
      !case_.custom_mask()) {
    return;
  }
  std::vector<std::uint8_t> bools, packed;
  std::vector<std::int32_t> indptr{0};
  for (const reference::AttentionRequest& r : requests_) {
    // Bits behind a request's own are nobody's.
    std::vector<std::uint8_t> bytes((r.mask.size() + 7) / 8, 0xff);
    for (std::size_t i = 0; i < r.mask.size(); ++i) {
      bools.push_back(r.mask[i] ? 1 : 0);
      if (!r.mask[i]) bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] & ~(1u << i % 8));
    }
    packed.insert(packed.end(), bytes.begin(), bytes.end());
    indptr.push_back(static_cast<std::int32_t>(packed.size()));
  }
  mask_bits = HostTensor::of_bytes(case_.packed_mask ? DType::u8 : DType::b1,
                                   case_.packed_mask ? packed : bools);
  if (case_.packed_mask) mask_indptr = HostTensor::of(indptr);
}

PageTable AttentionData::page_table() const {
  return {kv_indptr.view(), kv_indices.view(), last_page_len.view(), case_.page_size};
}

CustomMask AttentionData::mask() const { return {mask_bits.view(), mask_indptr.view()}; }

void AttentionData::clobber_plan_inputs() {
  for (HostTensor* tensor :
       {&qo_indptr, &kv_indptr, &kv_indices, &last_page_len, &mask_bits, &mask_indptr}) {
    std::fill(tensor->bytes().begin(), tensor->bytes().end(), std::uint8_t{0x7f});
  }
}

void AttentionData::reset_outputs() {
  for (HostTensor* tensor : {&out_, &lse_}) {
    tensor->fill_bits(reference::nan_bits_of(tensor->view().dtype));
  }
}

std::vector<unsigned char> AttentionData::output_bytes() const {
  std::vector<unsigned char> bytes(out_.bytes().begin(), out_.bytes().end());
  bytes.insert(bytes.end(), lse_.bytes().begin(), lse_.bytes().end());
  return bytes;
}

bool AttentionData::gaps_untouched() const {
  const auto untouched = [&](const HostTensor& tensor, const TensorView& view, std::int64_t dims) {
    const std::int64_t offset =
        (view.as<unsigned char>() - tensor.bytes().data()) / size_of(view.dtype);
    std::vector<char> used(tensor.bytes().size() / static_cast<std::size_t>(size_of(view.dtype)));
    for (std::int64_t t = 0; t < view.shape[0]; ++t) {
      for (std::int64_t h = 0; h < view.shape[1]; ++h) {
        const std::int64_t first = offset + t * view.strides[0] + h * view.strides[1];
        std::fill_n(used.begin() + first, dims, char{1});
      }
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if (used[i] == 0 && !std::isnan(reference::decode(view.dtype, tensor.bytes().data(), at))) {
        return false;
      }
    }
    return true;
  };
  return untouched(out_, tensors.out, options.head_dim_vo) &&
         (!tensors.lse.defined() || untouched(lse_, tensors.lse, 1));
}

tolerance::AttentionPrecision AttentionData::precision(DType operand) const {
  tolerance::AttentionPrecision p{operand, options.o_dtype, options.head_dim_qk, 0};
  if (options.position_mode != PositionMode::rope_llama) return p;
  for (const reference::AttentionRequest& r : requests_) {
    p.longest_position = std::max({p.longest_position, r.kv_len, r.q_len});
  }
  return p;
}

}  // namespace wavefire::cases
