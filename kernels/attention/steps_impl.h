// The bodies of the steps (steps.h).
#pragma once

#include "attention/rope.h"
#include "attention/steps.h"
#include "attention/write.h"

WF_NAMESPACE_BEGIN(attention)

template <class Arch, Config config>
WF_DEVICE void Steps<Arch, config>::begin_loads(const WorkItem& item) {
  begin_rows(item, p_.requests[item.request]);
}

template <class Arch, Config config>
WF_DEVICE void Steps<Arch, config>::begin_rows(const WorkItem& item, const Request& request) {
  lane_ = Wave::lane();
  request_ = item.request;
  rows_ = item.row_count;
  kv_begin_ = item.kv_begin;
  kv_end_ = item.kv_end;
  tiles_ = (kv_end_ - kv_begin_ + config.tile_kv - 1) / config.tile_kv;
  k_.segments = p_.k_segments;
  k_.kv_head = v_.kv_head = item.kv_head;
  k_.dtype = v_.dtype = p_.kv_dtype;
  WF_UNROLL
  for (int s = 0; s < config.k_segments; ++s) {
    k_.segment[s] = kv_rows(p_, request, p_.k[s], item.kv_head, bytes_of(p_.kv_dtype));
    k_.dims[s] = p_.k[s].dims;
  }
  v_.segments = 1;
  v_.segment[0] = kv_rows(p_, request, p_.v, item.kv_head, bytes_of(p_.kv_dtype));
  v_.dims[0] = p_.v.dims;
}

template <class Arch, Config config>
WF_DEVICE void Steps<Arch, config>::begin_item(const WorkItem& item) {
  request_ = item.request;
  const Request request = this->request();
  begin_rows(item, request);
  Arch::begin_item(pending_);
  const Visible first = visible_keys(p_, request, row_of(p_, item, 0).token);
  const Visible last = visible_keys(p_, request, row_of(p_, item, rows_ - 1).token);
  every_low_ = last.low;  // both bounds grow with the token
  every_high_ = first.high;

  using L = typename Scores::Layout;
  tile::for_slots<L>({rows_, 0}, [&](int slot) {
    // A GPU's tile may be larger than the item: rows beyond it repeat the last one and are not
    // stored.
    const i32 row = tile::min(L::row(lane_, slot), rows_ - 1);
    const Row query = row_of(p_, item, row);
    position_[slot] = query.token + request.kv_len - request.q_len;
    float scale = p_.sm_scale;
    if constexpr (config.head_scales) {
      if (p_.q_head_scale != nullptr) scale *= p_.q_head_scale[query.head];
      if (p_.k_head_scale != nullptr) scale *= p_.k_head_scale[item.kv_head];
    }
    scale_.e[slot] = scale;
    slope_.e[slot] = config.alibi && p_.alibi_slopes != nullptr ? p_.alibi_slopes[query.head] : 0.f;
    maximum_.e[slot] = -tile::infinity;
    sum_.e[slot] = Traits::splat(0.f);
    if constexpr (Arch::rounds_weights) weight_sum_.e[slot] = Traits::splat(0.f);
  });
  tile::map(output_, output_extent(), [](Element, int) { return Traits::splat(0.f); });
}

template <class Arch, Config config>
WF_DEVICE void Steps<Arch, config>::load_q_begin(const WorkItem& item) {
  const Request request = p_.requests[item.request];
  const i64 bytes = size_of(p_.q_dtype);
  const char* q = static_cast<const char*>(p_.q) + request.q_begin * p_.q_stride_token * bytes;
  const auto address = [&](i32 row) {
    const Row query = row_of(p_, item, row);
    return static_cast<const void*>(
        q + (query.token * p_.q_stride_token + query.head * p_.q_stride_head) * bytes);
  };
  if constexpr (stages_queries) {
    Arch::acquire(q_slot());
    if (Arch::tells()) order() = {item, request};
    Arch::load_left_begin(query_tile(), q_slot(), rows_, p_.head_dim_qk, address);
  } else {
    Arch::load_left(query_, shared_.query, p_.q_dtype, rows_, p_.head_dim_qk, lane_, address,
                    [&](float* values, i32 row) {
                      if constexpr (config.rope) {
                        if (p_.rope_frequency == nullptr) return;
                        const i32 token = row_of(p_, item, row).token;
                        rotate_half_split<Arch>(values, p_.head_dim_qk, p_.rope_frequency,
                                                token + request.kv_len - request.q_len);
                      }
                    });
    if constexpr (scales_queries) {
      tile::for_slots<typename Scores::Layout>(
          {rows_, 0}, [&](int slot) { scale_.e[slot] *= query_.row_scale[slot]; });
    }
  }
}

template <class Arch, Config config>
WF_DEVICE auto Steps<Arch, config>::key_transform() const {
  return [this](float* values, i32 row) {
    if constexpr (config.rope) {
      rotate_half_split<Arch>(values, p_.head_dim_qk, p_.rope_frequency, row);
    }
  };
}

/// Scores to logits in base 2.
template <class Arch, Config config>
WF_DEVICE void Steps<Arch, config>::transform_logits(i32 i) {
  if (scales_late()) return;
  const tile::Extent extent = score_extent(i);
  const float cap = config.soft_cap ? p_.soft_cap : 0.f;
  if (cap > 0.f) {
    const Element scale_inside = Traits::splat(1.f / cap);
    const Element scale_outside = Traits::splat(cap * log2_e);
    tile::map(scores_, extent, [&](Element s, int slot) {
      return Arch::tanh(s * Traits::splat(scale_.e[slot]) * scale_inside) * scale_outside;
    });
  } else {
    tile::map(scores_, extent,
              [&](Element s, int slot) { return s * Traits::splat(scale_.e[slot] * log2_e); });
  }
  if constexpr (config.alibi) {
    if (p_.alibi_slopes == nullptr) return;
    const i32 begin = tile_begin(i);
    tile::map_columns(scores_, extent, lane_of_tile(), [&](Element x, int slot, int column) {
      const Element distance = tile::to_float(Traits::iota() + (begin + column - position_[slot]));
      return tile::fma(distance, Traits::splat(slope_.e[slot] * log2_e), x);
    });
  }
}

template <class Arch, Config config>
WF_DEVICE void Steps<Arch, config>::mask_interval(i32 i) {
  const i32 begin = tile_begin(i);
  if (begin >= every_low_ && begin + config.tile_kv <= every_high_ &&
      begin + config.tile_kv <= kv_end_) {
    return;  // every row sees the whole tile
  }
  const Element minus_infinity = Traits::splat(-tile::infinity);
  const tile::Extent extent = score_extent(i);
  tile::for_slots<typename Scores::Layout>(extent, [&](int slot) {
    const Visible visible = visible_at(p_, position_[slot], kv_end_);
    tile::map_row_columns(scores_, slot, extent, lane_of_tile(), [&](Element x, int column) {
      const auto key = Traits::iota() + (begin + column);
      const auto keep = tile::both(tile::less(key, Traits::splat_int(visible.high)),
                                   tile::less_equal(Traits::splat_int(visible.low), key));
      return tile::select(keep, x, minus_infinity);
    });
  });
}

template <class Arch, Config config>
WF_DEVICE void Steps<Arch, config>::mask_custom(i32 i) {
  if constexpr (config.custom_mask) {
    if (p_.custom_mask == nullptr) return;
    const u8* mask = p_.custom_mask + request().mask_begin;
    const i32 begin = tile_begin(i);
    const Element minus_infinity = Traits::splat(-tile::infinity);
    tile::map_columns(
        scores_, score_extent(i), lane_of_tile(), [&](Element x, int slot, int column) {
          const i32 count = tile::min(Traits::width, kv_end_ - begin - column);
          const u32 bits =
              count > 0 ? mask_bits(mask, mask_bit(slot) + begin + column, count) : u32{0};
          return tile::select(Arch::lanes_from_bits(bits), x, minus_infinity);
        });
  }
}

template <class Arch, Config config>
WF_DEVICE bool Steps<Arch, config>::is_hidden(i32 i) const {
  if (!config.custom_mask || p_.custom_mask == nullptr) return false;
  const u8* mask = p_.custom_mask + request().mask_begin;
  using L = typename Scores::Layout;
  for (int slot = 0; slot < L::active_slots(rows_); ++slot) {
    if (slot > 0 && position_[slot] == position_[slot - 1]) continue;  // the same query token
    for (i32 column = 0; column < tile_count(i); column += 32) {
      const i32 count = tile::min(32, tile_count(i) - column);
      if (mask_bits(mask, mask_bit(slot) + tile_begin(i) + column, count) != 0) return false;
    }
  }
  return true;
}

template <class Arch, Config config>
template <bool plain>
WF_DEVICE void Steps<Arch, config>::weigh(i32 i) {
  const tile::Extent extent = score_extent(i);
  if constexpr (!plain) {
    transform_logits(i);
    mask_interval(i);
    mask_custom(i);
  } else if constexpr (!may_scale_late) {
    const Element scale = Traits::splat(p_.sm_scale * log2_e);
    tile::map(scores_, extent, [&](Element s, int) { return s * scale; });
  }
  using L = typename Scores::Layout;
  const bool late = may_scale_late && (plain || scales_late());
  const auto multiplier = [&](int slot) {
    if (!late) return 1.f;
    return (scales_queries ? scale_.e[slot] : p_.sm_scale) * log2_e;
  };
  tile::for_slots<L>(extent, [&](int slot) {
    alpha_.e[slot] = maximum_.e[slot];
    float maximum = tile::row_max<Wave>(scores_, slot, extent);
    if (late) maximum *= multiplier(slot);
    if constexpr (has_slack) {
      if (maximum > maximum_.e[slot] + Arch::maximum_slack) maximum_.e[slot] = maximum;
    } else {
      maximum_.e[slot] = tile::max(maximum_.e[slot], maximum);
    }
  });
  // A loop of its own, so that compilers for CPUs take several rows at once.
  tile::for_slots<L>(
      extent, [&](int slot) { alpha_.e[slot] = Arch::exp2(alpha_.e[slot] - reference(slot)); });
  if constexpr (has_slack) {
    bool changed = false;
    WF_UNROLL
    for (float alpha : alpha_.e) changed = changed || alpha != 1.f;
    rescales_ = Arch::any_of_wave(changed);
  }
  tile::for_slots<L>(extent, [&](int slot) {
    const Element shift = Traits::splat(reference(slot));
    if constexpr (requires { requires Arch::scales_late; }) {
      const float minus_shift = -reference(slot);
      tile::map_row(scores_, slot, extent, [&](Element x) {
        return Arch::exp2(tile::fma(x, multiplier(slot), minus_shift));
      });
    } else {
      tile::map_row(scores_, slot, extent, [&](Element x) { return Arch::exp2(x - shift); });
    }
    sum_.e[slot] = tile::fma(sum_.e[slot], Traits::splat(alpha_.e[slot]),
                             tile::row_partial_sum(scores_, slot, extent));
  });
  if constexpr (Arch::rounds_weights && !sums_operands) round_weights(extent);
}

/// The output is divided by the sum of the weights that the product sees, so that it is a mean of
/// values to the last bit; the LSE counts the weights before they are rounded.
template <class Arch, Config config>
WF_DEVICE void Steps<Arch, config>::round_weights(tile::Extent extent) {
  tile::map(scores_, extent,
            [](Element x, int) { return Arch::template round_weight<config.weight_operand()>(x); });
  tile::for_slots<typename Scores::Layout>(extent, [&](int slot) {
    weight_sum_.e[slot] = tile::fma(weight_sum_.e[slot], Traits::splat(alpha_.e[slot]),
                                    tile::row_partial_sum(scores_, slot, extent));
  });
}

WF_NAMESPACE_END
