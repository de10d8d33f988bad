// What happens to a KV tile. A schedule (schedule/*.h) says when:
//
//   load_q_begin .. load_q_end         the item's queries
//   load_k_begin(i) .. load_k_end(i)   K rows of tile i into stage i % stages
//   scores_begin(i) .. scores_end(i)   S = Q K^T
//   softmax(i)                         S -> P, running maximum and sum
//   rescale()                          O *= exp2(old maximum - new maximum)
//   load_v_begin(i) .. load_v_end(i)
//   accumulate_begin(i) .. accumulate_end(i)   O += P V
//
// Online softmax after Milakov and Gimelshein (2018) in base 2, fp32 throughout: with x = logit *
// log2(e), m the running maximum and l the running sum, p = exp2(x - m), O = sum p v, result O / l,
// LSE = m + log2(l).
#pragma once

#include "attention/config.h"
#include "attention/mask.h"
#include "attention/pages.h"
#include "tile/fragment.h"
#include "tile/several.h"

WF_NAMESPACE_BEGIN(attention)

inline constexpr float log2_e = 1.44269504088896341f;

/// One row of an item: which query it is and what it sees.
struct Row {
  i32 token;  // of the request
  i32 head;   // query head
};

WF_DEVICE Row row_of(const Params& p, const WorkItem& item, i32 row) {
  const i32 packed = item.row_begin + row;
  const i32 token = packed / p.group;
  return {token, item.kv_head * p.group + (packed - token * p.group)};
}

/// What lanes that load tell those that compute, beside an item's queries: they need not read the
/// item and its request from memory, one after the other, before they begin.
struct alignas(16) Order {
  WorkItem item;
  Request request;
};
template <int count>
struct Orders {
  Order at[count];
};
template <>
struct Orders<0> {};

/// The end of a row's softmax: factor for the accumulated output, and LSE in base 2.
struct RowEnd {
  float factor;
  float lse;
};

template <class Arch, Config config>
class Steps {
 public:
  using Element = typename Arch::Element;
  using Traits = tile::ElementTraits<Element>;
  using Wave = typename Arch::Wave;
  using Scores = typename Arch::template Accumulator<config.tile_rows, config.tile_kv>;
  using Output = typename Arch::template Output<config>;
  using Query =
      typename Arch::template LeftOperand<config.operand, config.tile_rows, config.head_dim_qk>;
  using Weights = typename Arch::template WeightOperand<config.weight_operand(), config.tile_rows,
                                                        config.tile_kv>;
  using KTile = typename Arch::template KTile<config>;
  using VTile = typename Arch::template VTile<config>;
  using KSource = KvSource<config.k_segments>;
  using VSource = KvSource<1>;
  using Launch = LaunchParams<typename Arch::Tail>;

  /// Where loads are far ahead, K has a stage more than V: it is released later than its product
  /// ends, and asked for first.
  static constexpr int k_stages = [] {
    if constexpr (requires { Arch::k_stages_ahead; }) return config.stages + Arch::k_stages_ahead;
    return config.stages;
  }();

  static constexpr bool stages_queries = requires { Arch::template query_stages<config>; };
  static constexpr int query_stages = [] {
    if constexpr (stages_queries) return Arch::template query_stages<config>;
    return 0;
  }();

  /// Memory that the whole team shares.
  struct Shared {
    KTile k[k_stages];
    VTile v[config.stages];
    typename Arch::template QueryTile<config> query;
    typename Arch::template Barriers<config.stages> barriers;
    [[no_unique_address]] Orders<query_stages> orders;
  };

  WF_DEVICE Steps(const Launch& p, Shared& shared) : p_(p), shared_(shared) {}

  /// For lanes that compute what others have loaded: the next item, when its queries are there.
  WF_DEVICE const WorkItem& take_item() {
    Arch::await(q_slot());
    return item();
  }
  WF_DEVICE const WorkItem& item() const { return order().item; }
  /// Takes up an item: where its keys are, what its rows see.
  WF_DEVICE void begin_item(const WorkItem& item);
  /// The same for a warp that only loads.
  WF_DEVICE void begin_loads(const WorkItem& item);

  WF_DEVICE i32 tiles() const { return tiles_; }
  static constexpr int stages = config.stages;
  /// How many tiles before its use a tile is asked for.
  static constexpr i32 ahead = config.stages > 2 ? config.stages - 1 : 1;
  /// The custom mask hides all of tile i from every row: there is nothing to compute.
  WF_DEVICE bool is_hidden(i32 i) const;

  /// Waits for the queries' stage, where they have one.
  WF_DEVICE void load_q_begin(const WorkItem& item);
  /// For lanes that compute what others have loaded.
  WF_DEVICE void load_q_end() { Arch::load_left_end(query_, query_tile()); }
  WF_DEVICE void release_q() { Arch::release(q_slot()); }
  WF_DEVICE void load_k_begin(i32 i) {
    Arch::load_begin(k_tile(i), pending_.k(), k_slot(i), k_, p_.tail, 0, tile_begin(i),
                     tile_count(i));
  }
  WF_DEVICE void load_k_end(i32 i) {
    Arch::load_end(k_tile(i), pending_.k(), k_slot(i), k_, tile_begin(i), tile_count(i),
                   rotates_keys(), key_transform());
  }
  WF_DEVICE void load_v_begin(i32 i) {
    Arch::load_begin(v_tile(i), pending_.v(), v_slot(i), v_, p_.tail, 1, tile_begin(i),
                     tile_count(i));
  }
  WF_DEVICE void load_v_end(i32 i) {
    Arch::load_end(v_tile(i), pending_.v(), v_slot(i), v_, tile_begin(i), tile_count(i), false,
                   no_transform());
  }
  // For schedules in which some lanes load and others compute: a stage is acquired before it is
  // filled and released when its tile has been used.
  WF_DEVICE void acquire_k(i32 i) { Arch::acquire(k_slot(i)); }
  WF_DEVICE void acquire_v(i32 i) { Arch::acquire(v_slot(i)); }
  WF_DEVICE void release_k(i32 i) { Arch::release(k_slot(i)); }
  /// When the weights of the tile are there, so that a compiler may not put them off until the
  /// products under way have ended.
  WF_DEVICE void release_k_weighed(i32 i) { Arch::release_after(k_slot(i), sum_.e); }
  WF_DEVICE void release_v(i32 i) { Arch::release(v_slot(i)); }

  // For schedules in which the halves of a team take turns.
  WF_DEVICE static bool is_late_half() { return Arch::is_late_half(); }
  WF_DEVICE static void end_turn() { Arch::end_turn(); }
  /// The early half loads K, the late one V: the same steps from another tensor.
  WF_DEVICE KvShare share() const {
    static_assert(config.k_segments == 1 && config.head_dim_qk == config.head_dim_vo);
    return KvShare(is_late_half() ? v_ : k_);
  }
  WF_DEVICE void load_share_begin(const KvShare& share, i32 i) {
    Arch::load_begin(k_tile(i), pending_.k(), k_slot(i), share, p_.tail, 0, tile_begin(i),
                     tile_count(i));
  }
  WF_DEVICE void load_share_end(const KvShare& share, i32 i) {
    const auto place = [&](auto& tile, auto pending, auto slot) {
      Arch::load_end(tile, pending, slot, share, tile_begin(i), tile_count(i), false,
                     no_transform());
    };
    if (is_late_half()) {
      if (tile_count(i) > 0 && hides_keys(i)) {
        Arch::leave_out(pending_.v(), shared_.barriers, tiles_before_ + i);
      }
      place(v_tile(i), pending_.v(), v_slot(i));
    } else {
      place(k_tile(i), pending_.k(), k_slot(i));
    }
  }
  /// Between them products go before what other waves do.
  WF_DEVICE static void begin_products() { Arch::begin_products(); }
  WF_DEVICE static void end_products() { Arch::end_products(); }

  WF_DEVICE void scores_begin(i32 i) {
    Arch::multiply_abt_begin(scores_, query_, k_tile(i), score_extent(i), p_.head_dim_qk);
  }
  WF_DEVICE void scores_end() { Arch::multiply_end(scores_); }
  /// The same while a product that began later goes on.
  WF_DEVICE void older_scores_end() { Arch::older_multiply_end(scores_); }
  // Where several groups of lanes compute: products are issued by one at a time.
  WF_DEVICE void take_turn() { Arch::take_turn(); }
  WF_DEVICE void pass_turn() { Arch::pass_turn(); }
  WF_DEVICE void softmax(i32 i) {
    weigh<false>(i);
    place_weights<false>(i);
  }
  /// Its two parts: in between, the weights of the tile before may still be read.
  template <bool plain>
  WF_DEVICE void weigh(i32 i);
  /// Every row sees all of tile i, and its scores are only scaled: `weigh<true>` does, without any
  /// branch.
  WF_DEVICE bool is_plain(i32 i) const {
    return only_scales() && tile_count(i) == config.tile_kv && !hides_keys(i);
  }
  /// Tiles [plain_begin, plain_end): every row sees all of them, and scores are only scaled;
  /// `weigh<true>` does, without any branch.
  WF_DEVICE i32 plain_begin() const {
    return (tile::max(every_low_ - kv_begin_, 0) + config.tile_kv - 1) / config.tile_kv;
  }
  WF_DEVICE i32 plain_end() const {
    const bool plain =
        scales_late() && !sums_rounded() && !(config.custom_mask && p_.custom_mask != nullptr);
    return plain ? (tile::min(every_high_, kv_end_) - kv_begin_) / config.tile_kv : 0;
  }
  template <bool plain>
  WF_DEVICE void place_weights(i32 i) {
    Arch::to_weights(weights_, scores_, score_extent(i));
    if constexpr (sums_operands && !plain) {
      if (!sums_rounded()) return;
      tile::for_slots<typename Scores::Layout>(score_extent(i), [&](int slot) {
        weight_sum_.e[slot] =
            tile::fma(weight_sum_.e[slot], alpha_.e[slot], Arch::weight_sum(weights_, slot));
      });
    }
  }
  WF_DEVICE void rescale() {
    if constexpr (has_slack) {
      if (!rescales_) return;
    } else if constexpr (requires { Arch::any_of_wave(true); }) {
      static_assert(Output::Layout::slots == 1);
      if (!Arch::any_of_wave(alpha_.e[0] != 1.f)) return;
    }
    tile::for_slots<typename Output::Layout>(output_extent(), [&](int slot) {
      if (Arch::branches_by_row && alpha_.e[slot] == 1.f) return;  // as from most tiles
      const Element alpha = Traits::splat(alpha_.e[slot]);
      tile::map_row(output_, slot, output_extent(), [&](Element o) { return o * alpha; });
    });
  }
  WF_DEVICE void accumulate_begin(i32 i) {
    add_non_finite(i);
    add_products_begin(i);
  }
  /// Its two parts.
  WF_DEVICE void add_non_finite(i32 i) {
    if constexpr (requires(VTile& v) {
                    Arch::add_non_finite(output_, weights_, v, tile::Extent{}, 0);
                  }) {
      if (hides_keys(i)) {
        Arch::add_non_finite(output_, weights_, v_tile(i), output_extent(), tile_count(i));
      }
    }
  }
  /// The same for schedules with shares.
  WF_DEVICE void add_left_out(i32 i) {
    if (!hides_keys(i)) return;
    Arch::template add_left_out<VTile>(
        output_, weights_, shared_.barriers, tiles_before_ + i, v_.dims[0],
        [&](i32 key) { return v_.segment[0].address(tile_begin(i) + key); });
  }
  WF_DEVICE void add_products_begin(i32 i) {
    Arch::multiply_ab_begin(output_, weights_, v_tile(i), output_extent(), tile_count(i));
  }
  WF_DEVICE void accumulate_end() { Arch::multiply_end(output_); }

  /// Writes the item's result: the output itself or a partial one.
  WF_DEVICE void finish(const WorkItem& item);

  /// Both kinds of lanes count the tiles of all items, so that stages and phases go on across them.
  WF_DEVICE void end_item() {
    tiles_before_ += static_cast<u32>(tiles_);
    ++items_before_;
  }

 private:
  /// Rounded weights are summed as operands, not while the unrounded ones take registers too.
  static constexpr bool sums_operands = requires(const Weights& w) { Arch::weight_sum(w, 0); };
  /// Whether they are: an output that is no finer than the weights cannot tell.
  WF_DEVICE bool sums_rounded() const {
    constexpr DType weights = config.weight_operand();
    const bool coarser = weights == DType::f16 && p_.o_dtype == DType::bf16;
    return Arch::rounds_weights && !(sums_operands && (p_.o_dtype == weights || coarser));
  }
  /// The maximum may lag behind: weights of up to 2^maximum_slack are as good, and the output is
  /// seldom rescaled.
  static constexpr bool has_slack = requires { Arch::maximum_slack; };

  WF_DEVICE Order& order() const { return shared_.orders.at[items_before_ % query_stages]; }
  /// Of the item, for lanes that compute.
  WF_DEVICE const Request& request() const {
    if constexpr (stages_queries) return order().request;
    return p_.requests[request_];
  }
  WF_DEVICE void begin_rows(const WorkItem& item, const Request& request);
  WF_DEVICE static i32 bytes_of(DType dtype) {
    return config.element_bytes > 0 ? config.element_bytes : size_of(dtype);
  }
  WF_DEVICE u32 tile_number(i32 i) const { return tiles_before_ + static_cast<u32>(i); }
  WF_DEVICE KTile& k_tile(i32 i) { return shared_.k[tile_number(i) % k_stages]; }
  WF_DEVICE VTile& v_tile(i32 i) { return shared_.v[tile_number(i) % config.stages]; }
  WF_DEVICE auto& query_tile() {
    if constexpr (stages_queries) {
      return shared_.query[items_before_ % query_stages];
    } else {
      return shared_.query;
    }
  }
  WF_DEVICE auto q_slot() { return shared_.barriers.template q_slot<query_stages>(items_before_); }
  WF_DEVICE auto k_slot(i32 i) { return shared_.barriers.k_slot(tile_number(i)); }
  WF_DEVICE auto v_slot(i32 i) { return shared_.barriers.v_slot(tile_number(i)); }
  WF_DEVICE i32 tile_begin(i32 i) const { return kv_begin_ + i * config.tile_kv; }
  WF_DEVICE i32 tile_count(i32 i) const {
    return tile::min(config.tile_kv, kv_end_ - tile_begin(i));  // <= 0 behind the last tile
  }
  WF_DEVICE tile::Extent score_extent(i32 i) const { return {rows_, tile_count(i)}; }
  WF_DEVICE tile::Extent output_extent() const { return {rows_, p_.head_dim_vo}; }
  WF_DEVICE bool rotates_keys() const { return config.rope && p_.rope_frequency != nullptr; }
  /// Whether there may be a row that does not see all of tile i.
  WF_DEVICE bool hides_keys(i32 i) const {
    const bool whole = tile_begin(i) >= every_low_ && tile_begin(i) + tile_count(i) <= every_high_;
    return !whole || (config.custom_mask && p_.custom_mask != nullptr);
  }
  /// For what masks and slopes compute of columns, anew with each tile where a machine's registers
  /// are short.
  WF_DEVICE int lane_of_tile() const {
    if constexpr (requires { requires Wave::rereads_lane; }) return Wave::lane();
    return lane_;
  }
  WF_DEVICE auto key_transform() const;
  WF_DEVICE auto no_transform() const {
    return [](float*, i32) {};
  }
  WF_DEVICE void transform_logits(i32 i);
  WF_DEVICE void mask_interval(i32 i);
  WF_DEVICE void mask_custom(i32 i);
  /// The bit of a row's key 0 in its request's custom mask.
  WF_DEVICE i64 mask_bit(int slot) const {
    const i64 kv_len = request().kv_len;
    return (position_[slot] - kv_len + request().q_len) * kv_len;
  }
  WF_DEVICE void round_weights(tile::Extent extent);
  /// What a row's logits are taken relative to. A row that has seen nothing yet keeps maximum -inf;
  /// subtracting 0 instead avoids inf - inf.
  WF_DEVICE float reference(int slot) const {
    return maximum_.e[slot] == -tile::infinity ? 0.f : maximum_.e[slot];
  }
  /// Rows of queries may come times a number each, which the scale then undoes.
  static constexpr bool scales_queries =
      requires(Query q) { q.row_scale; } && is_float8(config.stored);
  /// Where the machine prefers it and nothing else is done to logits, scores stay as they are until
  /// exp2's argument is taken: one fma. A scale of zero or below would turn -inf or the maximum.
  static constexpr bool may_scale_late = requires { requires Arch::scales_late; };
  WF_DEVICE bool scales_late() const { return may_scale_late && only_scales(); }
  WF_DEVICE bool only_scales() const {
    const bool has_cap = config.soft_cap && p_.soft_cap > 0.f;
    const bool has_slopes = config.alibi && p_.alibi_slopes != nullptr;
    const bool has_head_scales =
        config.head_scales && (p_.q_head_scale != nullptr || p_.k_head_scale != nullptr);
    return !has_cap && !has_slopes && !has_head_scales && p_.sm_scale > 0.f;
  }
  /// The end of a row's softmax; every lane of the team takes part.
  WF_DEVICE RowEnd end_row(int slot, float sink) const;
  template <DType dtype>
  WF_DEVICE void store_rows(const WorkItem& item);
  template <DType dtype>
  WF_DEVICE void store_row(char* row, int slot, Element factor);
  template <DType dtype>
  WF_DEVICE void store_staged_rows(const WorkItem& item);
  /// 16-bit output rows begin at multiples of sixteen bytes.
  WF_DEVICE bool rows_are_aligned() const {
    const i64 strides = p_.o_stride_token | p_.o_stride_head | p_.head_dim_vo;
    return (reinterpret_cast<u64>(p_.o) % 16 | strides % 8) == 0;
  }
  WF_DEVICE void store_partial(const WorkItem& item);

  const Launch& p_;
  Shared& shared_;
  int lane_;

  i32 request_;  // read where it is needed: its fields would take registers for the whole item
  KSource k_;
  VSource v_;
  i32 rows_, kv_begin_, kv_end_, tiles_;
  bool rescales_ = false;                    // has_slack: some row of the wave, at this tile
  u32 tiles_before_ = 0, items_before_ = 0;  // of the items before
  typename Arch::template Pending<KTile, VTile, Place> pending_;  // loads, in registers
  i32 every_low_, every_high_;  // keys that all rows of the item see

  Query query_;
  Scores scores_;
  Weights weights_;
  Output output_;
  tile::RowVector<typename Scores::Layout> maximum_, alpha_, scale_, slope_;
  tile::RowPartials<Element, typename Scores::Layout> sum_;
  tile::RowPartials<Element, typename Scores::Layout> weight_sum_;  // where weights are rounded
  i32 position_[Scores::Layout::slots];                             // of the query among the keys
};

WF_NAMESPACE_END

#include "attention/steps_impl.h"
