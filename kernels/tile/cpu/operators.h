// Operators of the wrapped vector types. A level wraps its registers in structs (`Vec`, `IVec`), so
// that the functions on them are found by argument in templates that are read before the level is.
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(tile)

/// A struct around one compiler vector `v`; `Lane` is the type of one of its lanes.
template <class V>
concept WrappedVector = requires(V a) {
  a.v;
  typename V::Lane;
};

/// Integer lanes, added and subtracted as `Unsigned` ones: they wrap around, as on every machine,
/// where C++ leaves the overflow of signed ones undefined.
template <class V>
concept WrappedInteger = WrappedVector<V> && requires { typename V::Unsigned; };

template <WrappedInteger V>
WF_DEVICE V operator+(V a, V b) {
  using U = typename V::Unsigned;
  return {(decltype(a.v))((U)a.v + (U)b.v)};
}
template <WrappedInteger V>
WF_DEVICE V operator-(V a, V b) {
  using U = typename V::Unsigned;
  return {(decltype(a.v))((U)a.v - (U)b.v)};
}
template <WrappedInteger V>
WF_DEVICE V operator+(V a, typename V::Lane b) {
  using U = typename V::Unsigned;
  return {(decltype(a.v))((U)a.v + static_cast<u32>(b))};
}
template <WrappedInteger V>
WF_DEVICE V operator-(V a, typename V::Lane b) {
  using U = typename V::Unsigned;
  return {(decltype(a.v))((U)a.v - static_cast<u32>(b))};
}

template <WrappedVector V>
WF_DEVICE V operator+(V a, V b) {
  return {a.v + b.v};
}
template <WrappedVector V>
WF_DEVICE V operator-(V a, V b) {
  return {a.v - b.v};
}
template <WrappedVector V>
WF_DEVICE V operator*(V a, V b) {
  return {a.v * b.v};
}
template <WrappedVector V>
WF_DEVICE V operator/(V a, V b) {
  return {a.v / b.v};
}
template <WrappedVector V>
WF_DEVICE V operator&(V a, V b) {
  return {a.v & b.v};
}
template <WrappedVector V>
WF_DEVICE V operator|(V a, V b) {
  return {a.v | b.v};
}
template <WrappedVector V>
WF_DEVICE V operator^(V a, V b) {
  return {a.v ^ b.v};
}
template <WrappedVector V>
WF_DEVICE V operator-(V a) {
  return {-a.v};
}
template <WrappedVector V>
WF_DEVICE V operator+(V a, typename V::Lane b) {
  return {a.v + b};
}
template <WrappedVector V>
WF_DEVICE V operator-(V a, typename V::Lane b) {
  return {a.v - b};
}
template <WrappedVector V>
WF_DEVICE V operator*(V a, typename V::Lane b) {
  return {a.v * b};
}
template <WrappedVector V>
WF_DEVICE V operator&(V a, typename V::Lane b) {
  return {a.v & b};
}
template <WrappedVector V>
WF_DEVICE V operator|(V a, typename V::Lane b) {
  return {a.v | b};
}
template <WrappedVector V>
WF_DEVICE V operator^(V a, typename V::Lane b) {
  return {a.v ^ b};
}
template <WrappedVector V>
WF_DEVICE V operator<<(V a, int count) {
  return {a.v << count};
}
template <WrappedVector V>
WF_DEVICE V& operator+=(V& a, V b) {
  a.v += b.v;
  return a;
}
template <WrappedVector V>
WF_DEVICE V& operator*=(V& a, V b) {
  a.v *= b.v;
  return a;
}

WF_NAMESPACE_END
