// Atomic operations on memory and LDS ("CDNA3 ISA", global_atomic_*, flat_atomic_*,
// buffer_atomic_*, DS_ADD_U32 and the like). Lanes go one after the other, lowest first.
#include "virtual/handlers/buffer.h"
#include "virtual/handlers/define.h"
#include "virtual/handlers/memory.h"
#include "virtual/semantics/packed.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

// Replaces *p by f(*p) and returns what was there.
template <class T, class F>
T exchange(u8* p, F f) {
  T* word = reinterpret_cast<T*>(p);
  T old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (
      !__atomic_compare_exchange_n(word, &old, f(old), true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
  return old;
}

template <class T>
T lane_value(const u32* s, u32 lane) {
  if constexpr (sizeof(T) == 8)
    return s[lane] | u64{s[64 + lane]} << 32;
  else
    return s[lane];
}

template <class T>
void set_lane(u32* d, u32 lane, T value) {
  d[lane] = static_cast<u32>(value);
  if constexpr (sizeof(T) == 8) d[64 + lane] = static_cast<u32>(value >> 32);
}

// F(old, data, compare) with words of type T.
template <class T, class F>
void apply(Wave& w, const Instruction& in, const Places& places, const Operand& data, u32 compare,
           const Operand* dst) {
  constexpr u32 word_count = sizeof(T) / 4;
  const u32* s = row(w, data.first);
  const u32* c = row(w, compare);
  Row result[word_count];
  u64 misaligned = 0;
  for_lanes(places.mask, [&](u32 lane) {
    misaligned |= u64{(reinterpret_cast<u64>(places.data[lane]) & (sizeof(T) - 1)) != 0} << lane;
  });
  if (misaligned) {
    w.group->fail(w, in, Fault::out_of_bounds, __builtin_ctzll(misaligned),
                  "the address of an atomic operation is not a multiple of its size");
  }
  for_lanes(places.mask, [&](u32 lane) {
    const T value = lane_value<T>(s, lane), other = lane_value<T>(c, lane);
    const T old = exchange<T>(places.data[lane], [&](T now) { return F{}(now, value, other); });
    set_lane<T>(result[0].lane, lane, old);
  });
  if (!dst) return;
  for (u32 k = 0; k < word_count; ++k) blend(row(w, dst->first + k), result[k].lane, places.mask);
  if (w.track) set_undefined(w, dst->first, word_count, places.mask, nullptr);
}

// What an atomic operation reads has to be defined, as it writes a value that depends on it.
template <u32 byte_count>
void use_memory(Wave& w, const Instruction& in, const Places& places) {
  if (!w.track || !places.shadowed) return;
  for_lanes(places.mask, [&](u32 lane) {
    Places one = places;
    one.mask = u64{1} << lane;
    if (places.shadow[lane] && any_undefined_byte<byte_count>(one)) {
      w.group->fail(w, in, Fault::undefined_value, static_cast<int>(lane),
                    "an atomic operation on memory that nothing wrote");
    }
  });
}

// Compare and swap: LDS has the compared value in a register of its own, memory in the upper half
// of the data.
template <class T, class F, bool compares>
void run_memory_atomic(Wave& w, const Instruction& in) {
  constexpr u32 word_count = sizeof(T) / 4;
  const u32 returns = in.sc0 ? 1 : 0;
  Places places;
  place_vector_memory(w, in, returns, returns + 2, sizeof(T), Access::atomic, places);
  const Operand& data = in.operand[returns + 1];
  use_data(w, in, data, data.count, ~0u, places);
  use_memory<sizeof(T)>(w, in, places);
  apply<T, F>(w, in, places, data, data.first + (compares ? word_count : 0),
              returns ? &in.dst() : nullptr);
  InFlight entry{.kind = InFlight::Kind::store, .instruction = &in};
  if (returns) entry.vectors = {in.dst().first, word_count};
  push_vm(w, entry);
  if (in.opcode->name[0] == 'f') {
    entry.kind = InFlight::Kind::flat;
    push_lgkm(w, entry);
  }
}

template <class T, class F, bool compares>
void run_buffer_atomic(Wave& w, const Instruction& in) {
  constexpr u32 word_count = sizeof(T) / 4;
  BufferPlaces b;
  Places places;
  buffer_addresses(w, in, 1, sizeof(T), b);
  const u64 inside = b.whole & b.mask;
  place_global(w, in, b.address, inside, sizeof(T), Access::atomic, places);
  const Operand& data = in.operand[0];
  use_data(w, in, data, data.count, ~0u, places);
  use_memory<sizeof(T)>(w, in, places);
  apply<T, F>(w, in, places, data, data.first + (compares ? word_count : 0),
              in.sc0 ? &data : nullptr);
  InFlight entry{.kind = InFlight::Kind::store, .instruction = &in};
  if (in.sc0) {
    // Lanes outside get 0.
    for (u32 k = 0; k < word_count; ++k)
      blend(row(w, data.first + k), zero_rows[0].lane, b.mask & ~inside);
    entry.vectors = {data.first, word_count};
  }
  push_vm(w, entry);
}

template <class T, class F, bool returns_old, bool compares>
void run_lds_atomic(Wave& w, const Instruction& in) {
  constexpr u32 word_count = sizeof(T) / 4;
  if (in.gds) unsupported(w, in, "GDS");
  const u32 first = returns_old ? 1 : 0;
  use_address(w, in, in.operand[first], 1);
  alignas(64) u32 address[64];
  const u32* v = row(w, in.operand[first].first);
  for (u32 i = 0; i < 64; ++i) address[i] = v[i] + static_cast<u32>(in.offset);
  Places places;
  place_lds(w, in, address, w.exec(), sizeof(T), Access::atomic, places);
  // ds_cmpst addr, compare, data
  const Operand& data = in.operand[first + (compares ? 2 : 1)];
  const u32 compare = in.operand[first + 1].first;
  if (w.track && w.dirty.any({data.first, data.count})) {
    for (u32 k = 0; k < word_count; ++k) {
      if (!w.dirty.test(data.first + k)) continue;
      const u64 bad = nonzero_mask(undefined_row(w, data.first + k)) & w.exec();
      if (bad) use_vector(w, in, data.first + k, bad, "part of an atomic operation");
    }
  }
  use_memory<sizeof(T)>(w, in, places);
  apply<T, F>(w, in, places, data, compare, returns_old ? &in.dst() : nullptr);
  InFlight entry{.kind = InFlight::Kind::lds, .instruction = &in};
  if (returns_old) entry.vectors = {in.dst().first, word_count};
  push_lgkm(w, entry);
}

struct Names {
  std::string_view memory[3];  // global, flat, buffer
  std::string_view lds[2];     // without and with result
};

template <class T, bool compares = false, class F>
void add(const Names& names, F) {
  constexpr u16 flags = is_atomic | is_store;
  for (int i = 0; i < 3; ++i) {
    if (names.memory[i].empty()) continue;
    const Handler handler =
        i == 2 ? &run_buffer_atomic<T, F, compares> : &run_memory_atomic<T, F, compares>;
    register_opcode(handler_op(names.memory[i], handler, Unit::vector_memory, 0, flags));
  }
  if (names.lds[0].empty()) return;
  register_opcode(
      handler_op(names.lds[0], &run_lds_atomic<T, F, false, compares>, Unit::lds, 0, flags));
  register_opcode(
      handler_op(names.lds[1], &run_lds_atomic<T, F, true, compares>, Unit::lds, 1, flags));
}

template <class T>
void register_integers(const Names (&names)[13]) {
  using Signed = std::make_signed_t<T>;
  const auto as_signed = [](T x) { return static_cast<Signed>(x); };
  (void)as_signed;
  add<T>(names[0], [](T old, T x, T) { return old + x; });
  add<T>(names[1], [](T old, T x, T) { return old - x; });
  add<T>(names[2], [](T, T x, T) { return x; });
  add<T, true>(names[3], [](T old, T x, T compare) { return old == compare ? x : old; });
  add<T>(names[4],
         [](T old, T x, T) { return static_cast<Signed>(old) < static_cast<Signed>(x) ? old : x; });
  add<T>(names[5], [](T old, T x, T) { return old < x ? old : x; });
  add<T>(names[6],
         [](T old, T x, T) { return static_cast<Signed>(old) > static_cast<Signed>(x) ? old : x; });
  add<T>(names[7], [](T old, T x, T) { return old > x ? old : x; });
  add<T>(names[8], [](T old, T x, T) { return old & x; });
  add<T>(names[9], [](T old, T x, T) { return old | x; });
  add<T>(names[10], [](T old, T x, T) { return old ^ x; });
  add<T>(names[11], [](T old, T x, T) { return old >= x ? T{0} : old + 1; });
  add<T>(names[12], [](T old, T x, T) { return old == 0 || old > x ? x : old - 1; });
}

constexpr Names words32[13] = {
    {{"global_atomic_add", "flat_atomic_add", "buffer_atomic_add"},
     {"ds_add_u32", "ds_add_rtn_u32"}},
    {{"global_atomic_sub", "flat_atomic_sub", "buffer_atomic_sub"},
     {"ds_sub_u32", "ds_sub_rtn_u32"}},
    {{"global_atomic_swap", "flat_atomic_swap", "buffer_atomic_swap"}, {"", ""}},
    {{"global_atomic_cmpswap", "flat_atomic_cmpswap", "buffer_atomic_cmpswap"},
     {"ds_cmpst_b32", "ds_cmpst_rtn_b32"}},
    {{"global_atomic_smin", "flat_atomic_smin", "buffer_atomic_smin"},
     {"ds_min_i32", "ds_min_rtn_i32"}},
    {{"global_atomic_umin", "flat_atomic_umin", "buffer_atomic_umin"},
     {"ds_min_u32", "ds_min_rtn_u32"}},
    {{"global_atomic_smax", "flat_atomic_smax", "buffer_atomic_smax"},
     {"ds_max_i32", "ds_max_rtn_i32"}},
    {{"global_atomic_umax", "flat_atomic_umax", "buffer_atomic_umax"},
     {"ds_max_u32", "ds_max_rtn_u32"}},
    {{"global_atomic_and", "flat_atomic_and", "buffer_atomic_and"},
     {"ds_and_b32", "ds_and_rtn_b32"}},
    {{"global_atomic_or", "flat_atomic_or", "buffer_atomic_or"}, {"ds_or_b32", "ds_or_rtn_b32"}},
    {{"global_atomic_xor", "flat_atomic_xor", "buffer_atomic_xor"},
     {"ds_xor_b32", "ds_xor_rtn_b32"}},
    {{"global_atomic_inc", "flat_atomic_inc", "buffer_atomic_inc"},
     {"ds_inc_u32", "ds_inc_rtn_u32"}},
    {{"global_atomic_dec", "flat_atomic_dec", "buffer_atomic_dec"},
     {"ds_dec_u32", "ds_dec_rtn_u32"}},
};
constexpr Names words64[13] = {
    {{"global_atomic_add_x2", "flat_atomic_add_x2", "buffer_atomic_add_x2"},
     {"ds_add_u64", "ds_add_rtn_u64"}},
    {{"global_atomic_sub_x2", "flat_atomic_sub_x2", "buffer_atomic_sub_x2"},
     {"ds_sub_u64", "ds_sub_rtn_u64"}},
    {{"global_atomic_swap_x2", "flat_atomic_swap_x2", "buffer_atomic_swap_x2"}, {"", ""}},
    {{"global_atomic_cmpswap_x2", "flat_atomic_cmpswap_x2", "buffer_atomic_cmpswap_x2"},
     {"ds_cmpst_b64", "ds_cmpst_rtn_b64"}},
    {{"global_atomic_smin_x2", "flat_atomic_smin_x2", "buffer_atomic_smin_x2"},
     {"ds_min_i64", "ds_min_rtn_i64"}},
    {{"global_atomic_umin_x2", "flat_atomic_umin_x2", "buffer_atomic_umin_x2"},
     {"ds_min_u64", "ds_min_rtn_u64"}},
    {{"global_atomic_smax_x2", "flat_atomic_smax_x2", "buffer_atomic_smax_x2"},
     {"ds_max_i64", "ds_max_rtn_i64"}},
    {{"global_atomic_umax_x2", "flat_atomic_umax_x2", "buffer_atomic_umax_x2"},
     {"ds_max_u64", "ds_max_rtn_u64"}},
    {{"global_atomic_and_x2", "flat_atomic_and_x2", "buffer_atomic_and_x2"},
     {"ds_and_b64", "ds_and_rtn_b64"}},
    {{"global_atomic_or_x2", "flat_atomic_or_x2", "buffer_atomic_or_x2"},
     {"ds_or_b64", "ds_or_rtn_b64"}},
    {{"global_atomic_xor_x2", "flat_atomic_xor_x2", "buffer_atomic_xor_x2"},
     {"ds_xor_b64", "ds_xor_rtn_b64"}},
    {{"global_atomic_inc_x2", "flat_atomic_inc_x2", "buffer_atomic_inc_x2"},
     {"ds_inc_u64", "ds_inc_rtn_u64"}},
    {{"global_atomic_dec_x2", "flat_atomic_dec_x2", "buffer_atomic_dec_x2"},
     {"ds_dec_u64", "ds_dec_rtn_u64"}},
};

float f32(u32 bits) { return float_of(bits); }

void register_floats() {
  add<u32>({{"global_atomic_add_f32", "flat_atomic_add_f32", "buffer_atomic_add_f32"},
            {"ds_add_f32", "ds_add_rtn_f32"}},
           [](u32 old, u32 x, u32) { return bits_of(f32(old) + f32(x)); });
  add<u32>({{}, {"ds_min_f32", "ds_min_rtn_f32"}},
           [](u32 old, u32 x, u32) { return bits_of(v_min_f32(f32(old), f32(x))); });
  add<u32>({{}, {"ds_max_f32", "ds_max_rtn_f32"}},
           [](u32 old, u32 x, u32) { return bits_of(v_max_f32(f32(old), f32(x))); });
  add<u64>({{"global_atomic_add_f64", "flat_atomic_add_f64", "buffer_atomic_add_f64"},
            {"ds_add_f64", "ds_add_rtn_f64"}},
           [](u64 old, u64 x, u64) { return bits_of(double_of(old) + double_of(x)); });
  add<u64>({{"global_atomic_min_f64", "flat_atomic_min_f64", "buffer_atomic_min_f64"},
            {"ds_min_f64", "ds_min_rtn_f64"}},
           [](u64 old, u64 x, u64) { return bits_of(v_min_f64(double_of(old), double_of(x))); });
  add<u64>({{"global_atomic_max_f64", "flat_atomic_max_f64", "buffer_atomic_max_f64"},
            {"ds_max_f64", "ds_max_rtn_f64"}},
           [](u64 old, u64 x, u64) { return bits_of(v_max_f64(double_of(old), double_of(x))); });
  add<u32>({{"global_atomic_pk_add_f16", "flat_atomic_pk_add_f16", "buffer_atomic_pk_add_f16"},
            {"ds_pk_add_f16", "ds_pk_add_rtn_f16"}},
           [](u32 old, u32 x, u32) { return v_pk_add_f16(old, x); });
  add<u32>({{"global_atomic_pk_add_bf16", "flat_atomic_pk_add_bf16", "buffer_atomic_pk_add_bf16"},
            {"ds_pk_add_bf16", "ds_pk_add_rtn_bf16"}},
           [](u32 old, u32 x, u32) {
             return halves(
                 old, x, [](u16 a, u16 b) { return bf16_of_f32(f32_of_bf16(a) + f32_of_bf16(b)); });
           });
}

// The LDS forms of memory's; and those that only LDS has.
void register_lds_only() {
  add<u32>({{}, {"ds_rsub_u32", "ds_rsub_rtn_u32"}}, [](u32 old, u32 x, u32) { return x - old; });
  add<u64>({{}, {"ds_rsub_u64", "ds_rsub_rtn_u64"}}, [](u64 old, u64 x, u64) { return x - old; });
  add<u32, true>({{}, {"ds_cmpst_f32", "ds_cmpst_rtn_f32"}},
                 [](u32 old, u32 x, u32 compare) { return f32(old) == f32(compare) ? x : old; });
  add<u64, true>({{}, {"ds_cmpst_f64", "ds_cmpst_rtn_f64"}}, [](u64 old, u64 x, u64 compare) {
    return double_of(old) == double_of(compare) ? x : old;
  });
  // Masked: the first operand's bits are cleared, the second's are set.
  add<u32, true>({{}, {"ds_mskor_b32", "ds_mskor_rtn_b32"}},
                 [](u32 old, u32 x, u32 mask) { return (old & ~mask) | x; });
  add<u64, true>({{}, {"ds_mskor_b64", "ds_mskor_rtn_b64"}},
                 [](u64 old, u64 x, u64 mask) { return (old & ~mask) | x; });
}

}  // namespace

void register_atomics() {
  register_lds_only();
  register_integers<u32>(words32);
  register_integers<u64>(words64);
  register_floats();
  // Exchange in LDS has no form without result.
  constexpr auto swap32 = [](u32, u32 x, u32) { return x; };
  constexpr auto swap64 = [](u64, u64 x, u64) { return x; };
  register_opcode(handler_op("ds_wrxchg_rtn_b32",
                             &run_lds_atomic<u32, decltype(swap32), true, false>, Unit::lds, 1,
                             is_atomic | is_store));
  register_opcode(handler_op("ds_wrxchg_rtn_b64",
                             &run_lds_atomic<u64, decltype(swap64), true, false>, Unit::lds, 1,
                             is_atomic | is_store));
}

}  // namespace instinct::INSTINCT_LEVEL
