// Entries of the table of opcodes from plain functions of one lane. The types of a function's
// parameters say what its sources are:
//   u32, i32, float: a word; u64, i64, double: two registers; u16, i16, Half: the low half.
#pragma once

#include <bit>
#include <type_traits>

#include "virtual/handlers/lanes.h"

namespace instinct::INSTINCT_LEVEL {

// Bits of an f16.
struct Half {
  u16 bits;
};

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>)
    return Type::f32;
  else if constexpr (std::is_same_v<T, double>)
    return Type::f64;
  else if constexpr (std::is_same_v<T, u64>)
    return Type::b64;
  else if constexpr (std::is_same_v<T, i64>)
    return Type::i64;
  else if constexpr (std::is_same_v<T, Half>)
    return Type::f16;
  else if constexpr (std::is_same_v<T, u16> || std::is_same_v<T, i16>)
    return Type::b16;
  else
    return Type::b32;
}

template <class T>
inline T load(const u32* s, u32 i) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(s[i] | u64{s[64 + i]} << 32);
  } else if constexpr (std::is_same_v<T, Half>) {
    return Half{static_cast<u16>(s[i])};
  } else if constexpr (sizeof(T) == 2) {
    return static_cast<T>(s[i]);
  } else {
    return std::bit_cast<T>(s[i]);
  }
}

template <class T>
inline void store(u32* d, u32 i, T value) {
  if constexpr (sizeof(T) == 8) {
    const u64 bits = std::bit_cast<u64>(value);
    d[i] = static_cast<u32>(bits);
    d[64 + i] = static_cast<u32>(bits >> 32);
  } else if constexpr (std::is_same_v<T, Half>) {
    d[i] = value.bits;
  } else if constexpr (sizeof(T) == 2) {
    d[i] = static_cast<u16>(value);
  } else {
    d[i] = std::bit_cast<u32>(value);
  }
}

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};

template <class R, class... A>
struct SignatureOf {
  using Result = R;
  static constexpr u32 argument_count = sizeof...(A);
  static constexpr Type types[4] = {type_of<A>()...};
  static constexpr u8 word_count[4] = {sizeof(A) == 8 ? 2 : 1 ...};

  template <class F>
  static void lanes(u32* d, const u32* const* s, const LaneContext& context) {
    apply<F>(d, s, context, std::make_index_sequence<sizeof...(A)>());
  }
  template <class F, size_t... K>
  static void apply(u32* d, const u32* const* s, const LaneContext& context,
                    std::index_sequence<K...>) {
    const u32* source[] = {s[K]...};
#pragma GCC ivdep
    for (u32 i = 0; i < 64; ++i) {
      if constexpr (std::is_invocable_v<F, const LaneContext&, A...>) {
        store<R>(d, i, F{}(context, load<A>(source[K], i)...));
      } else {
        store<R>(d, i, F{}(load<A>(source[K], i)...));
      }
    }
  }
  template <class F>
  static u64 mask(const u32* const* s, const LaneContext&) {
    alignas(64) u32 words[64];
    truth<F>(words, s, std::make_index_sequence<sizeof...(A)>());
    return sign_mask(words);
  }
  template <class F, size_t... K>
  static void truth(u32* d, const u32* const* s, std::index_sequence<K...>) {
    const u32* source[] = {s[K]...};
#pragma GCC ivdep
    for (u32 i = 0; i < 64; ++i) d[i] = F{}(load<A>(source[K], i)...) ? ~0u : 0;
  }
};
// A function may take the context first.
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : SignatureOf<R, A...> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(const LaneContext&, A...) const> : SignatureOf<R, A...> {};

template <class S>
constexpr void set_sources(Opcode& opcode) {
  for (int i = 0; i < 4; ++i) {
    opcode.src_type[i] = S::types[i];
    opcode.src_words[i] = S::word_count[i] ? S::word_count[i] : 1;
  }
}

// A vector instruction that is `f` of its sources, in each lane.
template <class F>
Opcode vector_op(std::string_view name, F, u16 flags = 0, ShadowKernel shadow = nullptr) {
  using S = Signature<F>;
  using R = typename S::Result;
  Opcode opcode;
  opcode.name = name;
  opcode.handler = &run_lanes;
  opcode.unit = Unit::valu;
  opcode.type = type_of<R>();
  opcode.dst_words = sizeof(R) == 8 ? 2 : 1;
  opcode.flags = flags;
  if (std::is_same_v<R, float> || std::is_same_v<R, double> || std::is_same_v<R, Half>) {
    opcode.flags |= float_result;
  }
  set_sources<S>(opcode);
  opcode.kernel = reinterpret_cast<void (*)()>(&S::template lanes<F>);
  opcode.shadow = shadow;
  return opcode;
}

// A comparison.
template <class F>
Opcode compare_op(std::string_view name, F, u16 flags = 0) {
  using S = Signature<F>;
  Opcode opcode;
  opcode.name = name;
  opcode.handler = &run_compare;
  opcode.unit = Unit::valu;
  opcode.type = S::types[0];
  opcode.dst_words = 2;
  opcode.flags = flags;
  set_sources<S>(opcode);
  opcode.kernel = reinterpret_cast<void (*)()>(&S::template mask<F>);
  return opcode;
}

// An instruction with a handler of its own.
inline Opcode handler_op(std::string_view name, Handler handler, Unit unit, u8 destinations = 1,
                         u16 flags = 0, Type type = Type::b32) {
  Opcode opcode;
  opcode.name = name;
  opcode.handler = handler;
  opcode.unit = unit;
  opcode.destinations = destinations;
  opcode.flags = flags;
  opcode.type = type;
  for (Type& source : opcode.src_type) source = type;
  return opcode;
}

template <class... T>
void register_all(const T&... opcode) {
  (register_opcode(opcode), ...);
}

}  // namespace instinct::INSTINCT_LEVEL
