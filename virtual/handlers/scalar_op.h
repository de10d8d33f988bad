// Scalar instructions from functions of their sources: F(a, b, scc) reads and writes SCC through
// the reference.
#pragma once

#include <bit>
#include <type_traits>

#include "virtual/handlers/define.h"

namespace instinct::INSTINCT_LEVEL {

template <class T>
T read(const Wave& w, const Operand& operand) {
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(read_scalar64(w, operand));
  else
    return static_cast<T>(read_scalar(w, operand));
}

template <class T>
std::make_unsigned_t<T> read_undefined(const Wave& w, const Operand& operand) {
  if constexpr (sizeof(T) == 8)
    return undefined_scalar64(w, operand);
  else
    return undefined_scalar(w, operand);
}

template <class T>
void write(Wave& w, const Operand& operand, T value) {
  if constexpr (sizeof(T) == 8)
    write_scalar64(w, operand, static_cast<u64>(value));
  else
    write_scalar(w, operand, static_cast<u32>(value));
}

template <class T>
void write_undefined(Wave& w, const Operand& operand, T bits) {
  if constexpr (sizeof(T) == 8)
    set_undefined_scalar64(w, operand, bits);
  else
    set_undefined_scalar(w, operand, bits);
}

inline bool is_exec(const Operand& operand) {
  return operand.is_scalar() && operand.first >= exec_register;
}

// Undefined bits of the result: `all` if anything is undefined, or bit by bit.
enum class Spread { all, bit_and, bit_or, bit_xor, andn2, orn2, shift };

template <Spread spread_kind, class T>
T spread(T a, T b, T ua, T ub, T amount) {
  switch (spread_kind) {
    case Spread::bit_and: return (ua & (b | ub)) | (ub & (a | ua));
    case Spread::andn2: return (ua & (~b | ub)) | (ub & (a | ua));
    case Spread::bit_or: return (ua & (~b | ub)) | (ub & (~a | ua));
    case Spread::orn2: return (ua & (b | ub)) | (ub & (~a | ua));
    case Spread::bit_xor: return ua | ub;
    case Spread::shift: return ub ? ~T{0} : amount;
    default: return ua | ub ? ~T{0} : T{0};
  }
}

// After an operation with result `value`: what is undefined of it and of SCC, which is (value != 0)
// for logic.
template <class R>
void finish(Wave& w, const Instruction& in, R value, R undefined) {
  write_undefined<R>(w, in.dst(), undefined);
  if (undefined && is_exec(in.dst())) use_scalar(w, in, in.dst().first, undefined, "EXEC");
  if (!(in.opcode->flags & writes_scc)) return;
  w.scc_undefined = undefined && (value & ~undefined) == 0;
}

// F(a, b, scc): SCC is read and written through the reference.
template <class F>
struct Types : Types<decltype(&F::operator())> {};
template <class C, class R, class A, class B>
struct Types<R (C::*)(A, B, bool&) const> {
  using Result = R;
  using First = A;
  using Second = B;
  static constexpr int source_count = 2;
};
template <class C, class R, class A>
struct Types<R (C::*)(A, bool&) const> {
  using Result = R;
  using First = A;
  using Second = A;
  static constexpr int source_count = 1;
};

template <class F, Spread spread_kind>
void run_scalar(Wave& w, const Instruction& in) {
  using S = Types<F>;
  using A = typename S::First;
  using B = typename S::Second;
  using R = typename S::Result;
  using U = std::make_unsigned_t<R>;
  const A a = read<A>(w, in.src(0));
  bool scc = w.scc;
  R r;
  B b{};
  if constexpr (S::source_count == 2) {
    b = read<B>(w, in.src(1));
    r = F{}(a, b, scc);
  } else {
    r = F{}(a, scc);
  }
  bool dirty = false;
  U undefined = 0;
  if (w.track) {
    dirty = any_undefined_scalar(w, in) || ((in.opcode->flags & reads_scc) && w.scc_undefined);
    if (dirty) {
      const auto ua = read_undefined<A>(w, in.src(0));
      std::make_unsigned_t<B> ub = 0;
      if constexpr (S::source_count == 2) ub = read_undefined<B>(w, in.src(1));
      const bool carry = (in.opcode->flags & reads_scc) && w.scc_undefined;
      if constexpr (S::source_count == 1 && spread_kind == Spread::bit_xor) {
        undefined = static_cast<U>(ua);
      } else if constexpr (spread_kind == Spread::shift) {
        bool ignored = false;
        undefined = ub ? ~U{0} : static_cast<U>(F{}(static_cast<A>(ua), b, ignored));
      } else if constexpr (spread_kind != Spread::all) {
        undefined = spread<spread_kind, U>(static_cast<U>(a), static_cast<U>(b), static_cast<U>(ua),
                                           static_cast<U>(ub), 0);
      } else {
        undefined = ua || ub || carry ? ~U{0} : U{0};
      }
    }
  }
  if (in.opcode->flags & writes_scc) w.scc = scc;
  write<R>(w, in.dst(), r);
  if (w.track) finish<U>(w, in, static_cast<U>(r), undefined);
}

// Comparisons set SCC only.
template <class F>
void run_scalar_compare(Wave& w, const Instruction& in) {
  using S = Types<F>;
  using A = typename S::First;
  using B = typename S::Second;
  bool scc = w.scc;
  F{}(read<A>(w, in.src(0)), read<B>(w, in.src(1)), scc);
  w.scc = scc;
  if (w.track) w.scc_undefined = any_undefined_scalar(w, in);
}

template <Spread spread_kind = Spread::all, class F>
void add(std::string_view name, F, u16 flags = writes_scc) {
  using S = Types<F>;
  Opcode opcode = handler_op(name, &run_scalar<F, spread_kind>, Unit::salu, 1, flags);
  opcode.src_type[0] = type_of<typename S::First>();
  opcode.src_type[1] = type_of<typename S::Second>();
  register_opcode(opcode);
}

template <class F>
void add_compare(std::string_view name, F) {
  using S = Types<F>;
  Opcode opcode = handler_op(name, &run_scalar_compare<F>, Unit::salu, 0, writes_scc);
  opcode.src_type[0] = type_of<typename S::First>();
  opcode.src_type[1] = type_of<typename S::Second>();
  register_opcode(opcode);
}

}  // namespace instinct::INSTINCT_LEVEL
