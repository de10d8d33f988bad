// What the source of a GPU kernel instantiates: `Entry<Group, kind>::run(p, memory)`, with
// `Group::blocks` blocks of `threads` threads for every row. Values on a GPU are not checked ahead:
// a sample whose parameters nothing accepts is like one of a row that cannot be drawn from.
#pragma once

#include "math/philox.h"
#include "sampling/group.h"

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
struct Entry {
  using Launch = sampling::Launch;
  static constexpr int threads = Group::lanes;
  static constexpr bool searches =
      kind == Kind::filtered || kind == Kind::renorm || kind == Kind::mask;
  using Memory = typename Group::SearchMemory;
  /// That a multiprocessor has registers for.
  static constexpr int resident_blocks = searches ? 2 : 3;
  static constexpr int shared_bytes = searches ? sizeof(Memory) : sizeof(typename Group::Memory);

  WF_DEVICE static void run(const Launch& p, void* memory) {
    Entry entry{p, *static_cast<Memory*>(memory), Group(*static_cast<Memory*>(memory))};
    if constexpr (kind == Kind::softmax) entry.softmax(Group::row());
    if constexpr (kind == Kind::renorm) entry.renormalize(Group::row());
    if constexpr (kind == Kind::mask) entry.mask(Group::row());
    if constexpr (kind == Kind::draw || kind == Kind::filtered) entry.sample(Group::row());
  }

  const Launch& p;
  Memory& memory;
  Group group;

  /// Calls see(value) for this lane's values.
  template <class See>
  WF_DEVICE auto read(i64 row, float behind, See&& see) const {
    const char* data =
        static_cast<const char*>(p.in.data) + row * p.in.stride * size_of(p.in.dtype);
    return group.read({data, p.in.dtype, p.size, behind}, AsItIs{}, see);
  }
  /// The first message.
  WF_DEVICE Share tell(const Share& mine) {
    Group::meet();
    return group.reduce(mine, join);
  }
  WF_DEVICE void* out_row(i64 row) const {
    return static_cast<char*>(p.out.data) + row * p.out.stride * size_of(p.out.dtype);
  }
  /// Writes f(value) of every value of a row.
  template <class Values, class F>
  WF_DEVICE void write(i64 row, const Values& values, F&& f) const {
    values.for_steps([&](int i, const auto& v) {
      Group::store(out_row(row), p.out.dtype, values.segment, i, tile::map_several<float>(f, v));
    });
  }
  WF_DEVICE static bool is_drawable(const Share& share, float floor) {
    return share.count == 0 && share.maximum > floor && share.maximum < tile::infinity;
  }

  WF_DEVICE void softmax(i64 row) {
    const double temperature = read_number(p.temperature, row);
    Share mine;
    const auto logits =
        read(row, -tile::infinity, [&](const auto& v) { add_range(mine, v, -tile::infinity); });
    const Share seen = tell(mine);
    const float unit = exponent_unit(static_cast<float>(temperature));
    mine = {};
    const auto weights = logits.mapped(true, ToWeight<Group>{seen.maximum, unit},
                                       [&](const auto& v) { add_mass(mine, v); });
    const double total = group.reduce(mine, join).mass;
    const bool good = is_drawable(seen, -tile::infinity) && temperature > 0 &&
                      temperature < double{tile::infinity};
    const float factor = good ? static_cast<float>(1 / total) : tile::quiet_nan;
    write(row, weights, [=](float w) { return w * factor; });
  }

  WF_DEVICE void renormalize(i64 row) {
    Share mine;
    const auto weights = read(row, 0.f, [&](const auto& v) {
      add_mass(mine, v);
      add_range(mine, v, 0.f);
    });
    const Share seen = tell(mine);
    Filter filter;
    if (!read_filter(p, row, filter) || !is_drawable(seen, 0.f)) {
      return write(row, weights, [](float) { return tile::quiet_nan; });
    }
    const float threshold = threshold_of(weights, seen, filter);
    const double mass = threshold > 0.f ? kept(group, weights, threshold).mass : seen.mass;
    const Scale scale = scale_to_one(mass);
    write(row, weights,
          [=](float w) { return threshold <= w ? w * scale.power * scale.factor : 0.f; });
  }

  WF_DEVICE void mask(i64 row) {
    Share mine;
    const auto logits =
        read(row, -tile::infinity, [&](const auto& v) { add_range(mine, v, -tile::infinity); });
    const Share seen = tell(mine);
    Filter filter;
    if (!read_filter(p, row, filter) || seen.count > 0) {
      return write(row, logits, [](float) { return tile::quiet_nan; });
    }
    float threshold = -tile::infinity;
    if (filter.top_k < p.size) {
      GroupSearch search(group, memory, logits);
      const double k = static_cast<double>(filter.top_k);
      threshold = search.threshold_of(Amount::number, -tile::infinity, seen.maximum, k);
    }
    write(row, logits, [=](float a) { return threshold <= a ? a : -tile::infinity; });
  }

  template <class Values>
  WF_DEVICE float threshold_of(const Values& weights, const Share& seen, const Filter& filter) {
    return filter_threshold(filter, p.size, Summary{seen.mass, seen.maximum},
                            GroupSearch(group, memory, weights));
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
  WF_DEVICE double uniform_of(i64 sample) const {
    const bool own = p.seed.samples.data != nullptr && !p.seed.shared;
    const math::Philox words = math::philox(read_key(p.seed, sample), read_key(p.offset, sample),
                                            own ? 0 : static_cast<u64>(sample));
    return math::to_uniform(words.word[0], words.word[1]);
  }

  WF_DEVICE void sample(i64 sample) {
    const i64 row = p.indices.data != nullptr ? read_int(p.indices, sample) : sample;
    if (row < 0 || row >= p.rows) return reject(sample);
    const float floor = p.logits ? -tile::infinity : 0.f;
    Share mine;
    const auto values = read(row, floor, [&](const auto& v) {
      if (!p.logits) add_mass(mine, v);
      add_range(mine, v, floor);
    });
    Share seen = tell(mine);
    if (!is_drawable(seen, floor)) return reject(sample);
    Filter filter;
    if (searches && !read_filter(p, sample, filter)) return reject(sample);
    mine = {};
    const auto weights = values.mapped(p.logits, ToWeight<Group>{seen.maximum, exponent_unit(1.f)},
                                       [&](const auto& v) { add_mass(mine, v); });
    if (p.logits) {
      seen = group.reduce(mine, join);
      seen.maximum = 1.f;
    }
    float threshold = 0.f;
    if constexpr (searches) {
      threshold = threshold_of(weights, seen, filter);
      seen = kept(group, weights, threshold);
    }
    draw(group, weights, threshold, seen.mass, uniform_of(sample),
         [&](i64 token) { write_sample(sample, token); });
  }
};

WF_NAMESPACE_END
