// What the source of a GPU kernel instantiates: `Entry<Group, kind>::run(p, memory)`, with
// `Group::blocks` blocks of `threads` threads for every row. Values on a GPU are not checked ahead:
// a sample whose parameters nothing accepts is like one of a row that cannot be drawn from.
#pragma once

#include "math/philox.h"
#include "sampling/group.h"
#include "sampling/rounds.h"
#include "sampling/search.h"

WF_NAMESPACE_BEGIN(sampling)

WF_DEVICE i64 read_int(const Numbers& numbers, i64 i) {
  const i64 at = i * numbers.stride;
  if (numbers.dtype == DType::i64) return static_cast<const i64*>(numbers.data)[at];
  return static_cast<const i32*>(numbers.data)[at];
}
WF_DEVICE double read_number(const RowNumber& number, i64 i) {
  const Numbers& rows = number.rows;
  if (rows.data == nullptr) return number.value;
  if (rows.dtype == DType::f32) return static_cast<const float*>(rows.data)[i * rows.stride];
  return static_cast<double>(read_int(rows, i));
}
WF_DEVICE u64 read_key(const Key& key, i64 i) {
  if (key.samples.data == nullptr) return key.value;
  return static_cast<u64>(read_int(key.samples, key.shared ? 0 : i));
}

/// false for parameters that nothing accepts.
WF_DEVICE bool read_filter(const Launch& p, i64 i, Filter& filter) {
  const double top_k = read_number(p.top_k, i), top_p = read_number(p.top_p, i);
  const double min_p = read_number(p.min_p, i);
  const double least_k = p.top_k.rows.data == nullptr ? 0 : 1;
  if (!(top_k >= least_k && top_k < double{tile::infinity} && top_p > 0 && top_p <= 1 &&
        min_p >= 0 && min_p <= 1))
    return false;
  filter.top_k = top_k < 0x1p31 ? static_cast<i64>(top_k) : i64{1} << 31;
  filter.top_p = top_p;
  filter.min_p = static_cast<float>(min_p);
  filter.top_k_first = p.top_k_first;
  return static_cast<double>(filter.top_k) == top_k || top_k > 0x1p31;
}

template <class Group, Kind kind>
struct EntryMemory {
  using Type = typename Group::SearchMemory;
};
template <class Group>
struct EntryMemory<Group, Kind::softmax> {
  using Type = typename Group::Memory;
};
template <class Group>
struct EntryMemory<Group, Kind::draw> {
  using Type = typename Group::Memory;
};
template <class Group>
struct EntryMemory<Group, Kind::top_p> {
  using Type = RoundsMemory<Group>;
};

template <class Group, Kind kind>
struct Entry {
  using Launch = sampling::Launch;
  static constexpr int threads = Group::lanes;
  static constexpr bool searches =
      kind == Kind::filtered || kind == Kind::renorm || kind == Kind::mask;
  using Memory = typename EntryMemory<Group, kind>::Type;
  /// That a multiprocessor has registers for.
  static constexpr int resident_blocks = threads > 256 || searches ? 2 : 3;
  static constexpr int shared_bytes = sizeof(Memory);
  static constexpr float least_logit = -0x1.fffffep127f;

  WF_DEVICE static void run(const Launch& p, void* memory) {
    Entry entry{p, *static_cast<Memory*>(memory), Group(*static_cast<Memory*>(memory))};
    if constexpr (kind == Kind::softmax) entry.softmax(Group::row());
    if constexpr (kind == Kind::renorm) entry.renormalize(Group::row());
    if constexpr (kind == Kind::mask) entry.mask(Group::row());
    if constexpr (kind == Kind::top_p) entry.sample_in_rounds(Group::row());
    if constexpr (kind == Kind::draw || kind == Kind::filtered) entry.sample(Group::row());
  }

  const Launch& p;
  Memory& memory;
  Group group;

  WF_DEVICE auto values_of(i64 row, float behind) const {
    const char* data =
        static_cast<const char*>(p.in.data) + row * p.in.stride * size_of(p.in.dtype);
    return group.values({data, p.in.dtype, p.size, behind}, AsItIs{});
  }
  /// (Many rows are brought by each other's loads.)
  template <class Values>
  WF_DEVICE static void prefetch(const Values& values) {
    static_assert(Group::kept == 0);
    if constexpr (Group::blocks > 1) values.prefetch();
  }
  WF_DEVICE void* out_row(i64 row) const {
    return static_cast<char*>(p.out.data) + row * p.out.stride * size_of(p.out.dtype);
  }
  /// Writes f(value) of every value of a row.
  template <class Values, class F>
  WF_DEVICE void write(i64 row, const Values& values, F&& f) const {
    values.for_batches([&](const auto& batch) {
      WF_UNROLL
      for (int i = 0; i < batch.steps; ++i) {
        Group::store(out_row(row), p.out.dtype, batch, i, tile::map_several<float>(f, batch.v[i]));
      }
    });
  }
  template <class Values>
  WF_DEVICE Share extremes(const Values& values) {
    Share mine;
    values.for_batches([&](const auto& batch) {
      batch.for_values([&](float a) {
        mine.mass += a == a ? 0 : 1;  // NaN
        mine.most = Group::larger(a, mine.most);
      });
    });
    return group.reduce(mine, Join{});
  }
  WF_DEVICE void softmax(i64 row) {
    const double temperature = read_number(p.temperature, row);
    const auto logits = values_of(row, -tile::infinity);
    logits.fetch();
    Group::meet();
    const Share seen = extremes(logits);
    const float unit = exponent_unit(static_cast<float>(temperature));
    const auto weights = logits.with(ToWeight<Group>{true, seen.most, unit});
    Share mine;
    weights.for_batches(
        [&](const auto& batch) { batch.for_values([&](float a) { mine.mass += double{a}; }); });
    const double total = group.reduce(mine, Join{}).mass;
    const bool good = seen.mass == 0 && seen.most > -tile::infinity && seen.most < tile::infinity &&
                      temperature > 0 && temperature < double{tile::infinity};
    const float factor = good ? static_cast<float>(1 / total) : tile::quiet_nan;
    write(row, weights, [=](float w) { return w * factor; });
  }

  WF_DEVICE void renormalize(i64 row) {
    const auto weights = values_of(row, 0.f);
    prefetch(weights);
    Group::meet();
    Filter filter;
    const bool is_known = read_filter(p, row, filter);
    GroupSearch<Group, decltype(weights), true> search(group, memory, weights);
    const Tally seen = search.first_pass(filter, Sample<Group>(group, weights), 1);
    if (!is_known || !is_drawable(seen.total, seen.least)) {
      return write(row, weights, [](float) { return tile::quiet_nan; });
    }
    const Summary summary{seen.total, seen.most};
    const float threshold = filter_threshold(filter, p.size, summary, search);
    const double mass = threshold > 0.f ? search.mass_of(threshold) : seen.total;
    const Scale scale = scale_to_one(mass);
    write(row, weights,
          [=](float w) { return threshold <= w ? w * scale.power * scale.factor : 0.f; });
  }

  WF_DEVICE void mask(i64 row) {
    const auto logits = values_of(row, -tile::infinity);
    prefetch(logits);
    Group::meet();
    Filter filter;
    const bool is_known = read_filter(p, row, filter);
    GroupSearch<Group, decltype(logits), false> search(group, memory, logits);
    const Tally seen = search.first_pass(filter, Sample<Group>(group, logits), 0);
    if (!is_known || seen.total > 0) {
      return write(row, logits, [](float) { return tile::quiet_nan; });
    }
    float threshold = -tile::infinity;
    if (filter.top_k < p.size) {
      const double k = static_cast<double>(filter.top_k);
      threshold = search.threshold_of(Amount::number, -tile::infinity, seen.most, k);
    }
    write(row, logits, [=](float a) { return threshold <= a ? a : -tile::infinity; });
  }

  /// Of a tally or a share that weighed all of a row: NaN and infinity are in the sum.
  WF_DEVICE static bool is_drawable(double mass, float least) {
    return mass > 0 && mass < double{tile::infinity} && least >= 0.f;
  }
  WF_DEVICE void write_sample(i64 sample, i64 token) const {
    const i64 at = sample * p.samples.stride;
    if (p.samples.dtype == DType::i64) {
      static_cast<i64*>(p.samples.data)[at] = token >= 0 ? token : 0;
    } else {
      static_cast<i32*>(p.samples.data)[at] = token >= 0 ? static_cast<i32>(token) : 0;
    }
    if (p.valid != nullptr) p.valid[sample * p.valid_stride] = token >= 0 ? 1 : 0;
  }
  WF_DEVICE void reject(i64 sample) const {
    if (Group::leads()) write_sample(sample, -1);
  }
  WF_DEVICE math::Uniforms uniforms_of(i64 sample) const {
    const bool own = p.seed.samples.data != nullptr && !p.seed.shared;
    return {read_key(p.seed, sample), read_key(p.offset, sample),
            own ? 0 : static_cast<u64>(sample)};
  }

  WF_DEVICE void sample(i64 sample) {
    const i64 row = p.indices.data != nullptr ? read_int(p.indices, sample) : sample;
    Filter filter;
    Group::meet();
    if (row < 0 || row >= p.rows || !read_filter(p, sample, filter)) return reject(sample);
    if (p.by_top_p && filter.top_p >= least_in_rounds) return;
    const auto values = values_of(row, p.logits ? -tile::infinity : 0.f);
    prefetch(values);
    // Logits are weighed in units of the largest of a sample or, where one is so far above it that
    // its weight is infinite, of the row.
    float reference = least_logit;
    while (!draw_from(sample, values, filter, reference)) {
      const Share seen = extremes(values);
      if (seen.mass > 0 || seen.most == tile::infinity) return reject(sample);
      reference = seen.most;
    }
  }
  WF_DEVICE void sample_in_rounds(i64 sample) {
    const i64 row = p.indices.data != nullptr ? read_int(p.indices, sample) : sample;
    const double top_p = read_number(p.top_p, sample);
    const bool is_known = row >= 0 && row < p.rows && top_p > 0 && top_p <= 1;
    const auto values = values_of(is_known ? row : 0, p.logits ? -tile::infinity : 0.f);
    if constexpr (Group::blocks > 1) values.prefetch();
    values.fetch();
    Group::meet();
    if (p.by_top_p && !(top_p >= least_in_rounds)) return;
    if (!is_known) return reject(sample);
    float reference = least_logit;
    if (p.logits) {
      const Share seen = extremes(values);
      if (seen.mass > 0 || seen.most == tile::infinity) return reject(sample);
      reference = Group::larger(reference, seen.most);
    }
    const auto weights = values.with(to_weight(reference));
    Rounds<Group, decltype(weights)> rounds(group, memory, weights);
    const i64 token = rounds.draw(top_p, uniforms_of(sample));
    if (Group::leads()) write_sample(sample, token);
  }
  WF_DEVICE ToWeight<Group> to_weight(float reference) const {
    return {p.logits, reference, exponent_unit(1.f)};
  }
  /// False for logits whose weights are not finite.
  template <class Values>
  WF_DEVICE bool draw_from(i64 sample, const Values& values, const Filter& filter,
                           float reference) {
    if constexpr (searches) {
      Sample<Group> sampled(group, values);
      reference = Group::larger(reference, sampled.most);
      sampled.apply(to_weight(reference));
      const auto weights = values.with(to_weight(reference));
      GroupSearch<Group, decltype(weights), true> search(group, memory, weights);
      const Tally seen = search.first_pass(filter, sampled, p.logits ? 0 : 1);
      if (!is_drawable(seen.total, seen.least)) return give_up(sample, seen.total);
      const Summary summary{seen.total, seen.most};
      const float threshold = filter_threshold(filter, p.size, summary, search);
      search.tell_masses(threshold);
      Group::sync();
      finish(sample, weights, threshold);
    } else {
      if (p.logits) reference = Group::larger(reference, Sample<Group>(group, values).most);
      const auto weights = values.with(to_weight(reference));
      const Share seen = group.reduce(tell_masses(group, weights, -tile::infinity), Join{});
      if (!is_drawable(seen.mass, seen.least)) return give_up(sample, seen.mass);
      finish(sample, weights, -tile::infinity);
    }
    return true;
  }
  WF_DEVICE bool give_up(i64 sample, double mass) const {
    if (p.logits && mass == double{tile::infinity}) return false;
    reject(sample);
    return true;
  }
  template <class Values>
  WF_DEVICE void finish(i64 sample, const Values& weights, float threshold) const {
    draw(group, weights, threshold, uniforms_of(sample)[0],
         [&](i64 token) { write_sample(sample, token); });
  }
};

WF_NAMESPACE_END
