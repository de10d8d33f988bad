// Choosing from a row of weights, one row at a time. Weights are non-negative and need not sum to
// one. A draw inverts the distribution function over the kept entries in the order of the
// vocabulary, in double precision.
#pragma once

#include "math/exp2.h"
#include "sampling/filter.h"
#include "sampling/params.h"
#include "sampling/select.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(sampling)

/// A row as float32 weights. Not valid: NaN, infinite, negative, or without mass.
struct Weights {
  const float* data = nullptr;
  double total = 0;
  float maximum = 0.f;
  bool valid = false;
};

/// float32 values, where they lie or in `buffer`; their largest; whether all of them are at least
/// `floor` (NaN is not).
template <class Rows>
WF_DEVICE const float* read_values(const Row& row, float floor, float* buffer, float& maximum,
                                   double& total, bool& fit) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  const E bound = T::splat(floor);
  E top = T::splat(-tile::infinity);
  auto misfit = tile::less(top, top);
  tile::WideSum sum = {};
  tile::with_output_dtype(row.dtype, [&]<DType dtype>() {
    Rows::for_columns(row.size, [&](i64 column, int count) {
      const E v = Rows::template load<dtype>(row.data, column, count);
      if constexpr (dtype != DType::f32) {
        Rows::template store<DType::f32>(buffer, column, count, v);
      }
      const E known = Rows::fill_behind(v, count, floor);
      misfit = tile::either(misfit, tile::negate(tile::less_equal(bound, known)));
      top = tile::max(known, top);
      tile::add(sum, tile::widen(v));
    });
  });
  maximum = tile::reduce_max(top);
  total = tile::total(sum);
  fit = !tile::any(misfit);
  return row.dtype == DType::f32 ? static_cast<const float*>(row.data) : buffer;
}

/// weights = exp((logits - maximum) / temperature); returns their sum.
template <class Rows>
WF_DEVICE double exponentials(const float* logits, i64 size, float maximum, float temperature,
                              float* weights) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  const E top = T::splat(maximum);
  const E unit = T::splat(exponent_unit(temperature));
  tile::WideSum sum = {};
  Rows::for_columns(size, [&](i64 column, int count) {
    const E w = math::exp2((Rows::template load<DType::f32>(logits, column, count) - top) * unit);
    Rows::template store<DType::f32>(weights, column, count, w);
    tile::add(sum, tile::widen(Rows::fill_behind(w, count, 0.f)));
  });
  return tile::total(sum);
}

template <class Rows>
WF_DEVICE Weights read_weights(const Row& row, float* buffer) {
  Weights w;
  bool fit;
  w.data =
      read_values<Rows>(row, row.logits ? -tile::infinity : 0.f, buffer, w.maximum, w.total, fit);
  w.valid = fit && w.maximum < tile::infinity && w.maximum > (row.logits ? -tile::infinity : 0.f);
  if (row.logits && w.valid) {
    w.total = exponentials<Rows>(w.data, row.size, w.maximum, row.temperature, buffer);
    w.data = buffer;
    w.maximum = 1.f;
  }
  return w;
}

/// Mass of the entries of at least `threshold` in [begin, end).
template <class Rows>
WF_DEVICE double kept_mass(const float* data, i64 begin, i64 end, float threshold) {
  using E = typename Rows::Element;
  const E bound = tile::ElementTraits<E>::splat(threshold);
  tile::WideSum sum = {};
  Rows::for_columns(end - begin, [&](i64 column, int count) {
    const E v = Rows::template load<DType::f32>(data, begin + column, count);
    tile::add(sum, tile::widen(v), tile::less_equal(bound, v));
  });
  return tile::total(sum);
}

/// Finds thresholds in a row (filter.h).
template <class Rows>
struct Search {
  const float* data;
  i64 size;
  float* scratch;

  WF_DEVICE float threshold_of(Amount what, float least, float most, double amount) const {
    if (what == Amount::mass) {
      return sampling::threshold_of<Rows, true>(data, size, least, most, amount, scratch);
    }
    return sampling::threshold_of<Rows, false>(data, size, least, most, amount, scratch);
  }
  WF_DEVICE double mass_of(float threshold) const {
    return kept_mass<Rows>(data, 0, size, threshold);
  }
};

template <class Rows>
WF_DEVICE float filter_threshold(const Weights& w, i64 size, const Filter& filter, float* scratch) {
  return filter_threshold(filter, size, Summary{w.total, w.maximum},
                          Search<Rows>{w.data, size, scratch});
}

/// Masses of the entries of at least a threshold, in blocks of the row.
template <class Rows>
class BlockMasses {
 public:
  WF_DEVICE BlockMasses(const float* data, i64 size)
      : data_(data), size_(size), block_((size + most * 64 - 1) / (most * 64) * 64) {}

  /// Returns their sum.
  WF_DEVICE double measure(float threshold) {
    threshold_ = threshold;
    total_ = 0;
    count_ = 0;
    for (; count_ * block_ < size_; ++count_) {
      mass_[count_] = mass_above(count_, threshold);
      total_ += mass_[count_];
    }
    return total_;
  }
  /// Whether measured entries below `bound` weigh more than `enough`, seen in some of the blocks.
  WF_DEVICE bool are_enough_below(float bound, double enough) const {
    double below = 0;
    for (i64 i = 0; i < count_ && !(below > enough); ++i) below += mass_[i] - mass_above(i, bound);
    return below > enough;
  }
  /// The entry at which their running mass passes uniform * (their mass).
  WF_DEVICE i64 draw(double uniform) const {
    const double target = uniform * total_;
    double running = 0;
    i64 chosen = 0;
    double before = 0;
    for (i64 i = 0; i < count_ && !(running > target); ++i) {
      if (!(mass_[i] > 0)) continue;
      chosen = i;
      before = running;
      running += mass_[i];
    }
    i64 last = 0;
    for (i64 i = chosen * block_; i < tile::min(chosen * block_ + block_, size_); ++i) {
      const float w = data_[i];
      if (w < threshold_ || !(w > 0.f)) continue;
      before += double{w};
      last = i;
      if (before > target) break;
    }
    return last;
  }

 private:
  WF_DEVICE double mass_above(i64 block, float threshold) const {
    const i64 begin = block * block_;
    return kept_mass<Rows>(data_, begin, tile::min(begin + block_, size_), threshold);
  }

  static constexpr i64 most = 256;
  const float* data_;
  i64 size_, block_;
  float threshold_ = 0.f;
  i64 count_ = 0;
  double total_ = 0;
  double mass_[most];
};

/// Draws of the whole row, then of what lies above the last one, until top_p keeps what is drawn:
/// until the entries above it weigh less than top_p of the whole. What is refused, and all below
/// it, top_p drops; so the kept ones come as if drawn from among themselves. The entries above a
/// draw weigh half of what it was drawn from, on average or less: 1 + log(1 / top_p) rounds are
/// expected at most, whatever the row is like.
template <class Rows>
WF_DEVICE i64 draw_in_rounds(const float* data, i64 size, double top_p,
                             const math::Uniforms& uniforms) {
  BlockMasses<Rows> masses(data, size);
  const double total = masses.measure(0.f), enough = top_p * total;
  i64 token = masses.draw(uniforms[0]);
  // Part of the row tells, as a rule, that what may be dropped is not above the token.
  const double dropped = (total - enough) * (1 + 1e-9);
  if (!(top_p < 1) || masses.are_enough_below(next_above(data[token]), dropped)) return token;
  for (u32 round = 1; masses.measure(next_above(data[token])) >= enough; ++round) {
    token = masses.draw(uniforms[round]);
  }
  return token;
}

/// Draws a token; false (and token 0) for a row that is not valid.
template <class Rows>
WF_DEVICE bool sample_row(const Row& row, const Filter& filter, const math::Uniforms& uniforms,
                          const Buffers& buffers, i64& token) {
  token = 0;
  const Weights w = read_weights<Rows>(row, buffers.weights);
  if (!w.valid) return false;
  if (filter.in_rounds) {
    token = draw_in_rounds<Rows>(w.data, row.size, filter.top_p, uniforms);
    return true;
  }
  BlockMasses<Rows> masses(w.data, row.size);
  masses.measure(filter_threshold<Rows>(w, row.size, filter, buffers.candidates));
  token = masses.draw(uniforms[0]);
  return true;
}

/// out = kept weights, scaled to sum to one, others 0; false (nothing written) for a row that is
/// not valid.
template <class Rows>
WF_DEVICE bool renormalize_row(const Row& row, const Filter& filter, const Buffers& buffers,
                               DType out_dtype, void* out) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  const Weights w = read_weights<Rows>(row, buffers.weights);
  if (!w.valid) return false;
  const float threshold = filter_threshold<Rows>(w, row.size, filter, buffers.candidates);
  const E bound = T::splat(threshold);
  const double mass = threshold > 0.f ? kept_mass<Rows>(w.data, 0, row.size, threshold) : w.total;
  const Scale scale = scale_to_one(mass);
  const E power = T::splat(scale.power), factor = T::splat(scale.factor);
  tile::with_output_dtype(out_dtype, [&]<DType dtype>() {
    Rows::for_columns(row.size, [&](i64 column, int count) {
      const E v = Rows::template load<DType::f32>(w.data, column, count);
      const E share = v * power * factor;
      const E kept = tile::select(tile::less_equal(bound, v), share, T::splat(0.f));
      Rows::template store<dtype>(out, column, count, kept);
    });
  });
  return true;
}

/// out = softmax(logits / temperature) in float32. NaN throughout where there is NaN, +inf, or
/// nothing but -inf.
template <class Rows>
WF_DEVICE void softmax_row(const Row& row, const Buffers& buffers, float* out) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  float maximum;
  double total;
  bool fit;
  const float* logits =
      read_values<Rows>(row, -tile::infinity, buffers.weights, maximum, total, fit);
  if (!fit) maximum = tile::quiet_nan;
  total = exponentials<Rows>(logits, row.size, maximum, row.temperature, out);
  const E factor = T::splat(static_cast<float>(1 / total));
  Rows::for_columns(row.size, [&](i64 column, int count) {
    const E v = Rows::template load<DType::f32>(out, column, count);
    Rows::template store<DType::f32>(out, column, count, v * factor);
  });
}

/// out (like the row) = its top_k largest, others -inf; false (nothing written) with NaN.
template <class Rows>
WF_DEVICE bool mask_row(const Row& row, i64 top_k, const Buffers& buffers, void* out) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  float maximum;
  double total;
  bool fit;
  const float* logits =
      read_values<Rows>(row, -tile::infinity, buffers.weights, maximum, total, fit);
  if (!fit) return false;
  float threshold = -tile::infinity;
  if (top_k < row.size) {
    const Search<Rows> search{logits, row.size, buffers.candidates};
    threshold =
        search.threshold_of(Amount::number, -tile::infinity, maximum, static_cast<double>(top_k));
  }
  const E bound = T::splat(threshold);
  tile::with_output_dtype(row.dtype, [&]<DType dtype>() {
    Rows::for_columns(row.size, [&](i64 column, int count) {
      const E v = Rows::template load<DType::f32>(logits, column, count);
      Rows::template store<dtype>(
          out, column, count,
          tile::select(tile::less_equal(bound, v), v, T::splat(-tile::infinity)));
    });
  });
  return true;
}

WF_NAMESPACE_END
