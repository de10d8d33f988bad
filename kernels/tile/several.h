// Several elements in one lane: what a GPU lane loads with one instruction and works on together.
// The same names as for one float (element.h).
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(tile)

template <class Lane, int n>
struct Several {
  Lane e[n];
};
/// Words: clang would keep a struct of one bool in memory.
template <int n>
struct Several<bool, n> {
  u32 e[n];
};
template <int n>
using Floats = Several<float, n>;

/// Sixteen bytes that are moved together.
struct alignas(16) Words {
  u32 word[4];
};

/// Lane i of the result is f(lane i of each of `a`).
template <class Result, int n, class F, class... Lanes>
WF_DEVICE Several<Result, n> map_several(F&& f, const Several<Lanes, n>&... a) {
  Several<Result, n> r;
  WF_UNROLL
  for (int i = 0; i < n; ++i) r.e[i] = f(a.e[i]...);
  return r;
}

template <class L, int n>
WF_DEVICE Several<L, n> operator+(Several<L, n> a, Several<L, n> b) {
  return map_several<L>([](L x, L y) { return x + y; }, a, b);
}
template <class L, int n>
WF_DEVICE Several<L, n> operator-(Several<L, n> a, Several<L, n> b) {
  return map_several<L>([](L x, L y) { return x - y; }, a, b);
}
template <class L, int n>
WF_DEVICE Several<L, n> operator*(Several<L, n> a, Several<L, n> b) {
  return map_several<L>([](L x, L y) { return x * y; }, a, b);
}
template <class L, int n>
WF_DEVICE Several<L, n> operator/(Several<L, n> a, Several<L, n> b) {
  return map_several<L>([](L x, L y) { return x / y; }, a, b);
}
template <class L, int n>
WF_DEVICE Several<L, n> operator-(Several<L, n> a) {
  return map_several<L>([](L x) { return -x; }, a);
}
template <int n>
WF_DEVICE Several<i32, n> operator|(Several<i32, n> a, Several<i32, n> b) {
  return map_several<i32>([](i32 x, i32 y) { return x | y; }, a, b);
}
template <int n>
WF_DEVICE Several<i32, n> operator^(Several<i32, n> a, Several<i32, n> b) {
  return map_several<i32>([](i32 x, i32 y) { return x ^ y; }, a, b);
}
template <int n>
WF_DEVICE Several<i32, n> operator|(Several<i32, n> a, i32 b) {
  return map_several<i32>([b](i32 x) { return x | b; }, a);
}
template <int n>
WF_DEVICE Several<i32, n> operator&(Several<i32, n> a, i32 b) {
  return map_several<i32>([b](i32 x) { return x & b; }, a);
}
template <int n>
WF_DEVICE Several<i32, n> operator+(Several<i32, n> a, i32 b) {
  return map_several<i32>([b](i32 x) { return x + b; }, a);
}
template <int n>
WF_DEVICE Several<i32, n> operator<<(Several<i32, n> a, int count) {
  return map_several<i32>([count](i32 x) { return x << count; }, a);
}

template <int n>
WF_DEVICE Floats<n> fma(Floats<n> a, Floats<n> b, Floats<n> c) {
  return map_several<float>([](float x, float y, float z) { return fma(x, y, z); }, a, b, c);
}
template <class L, int n>
WF_DEVICE Several<L, n> min(Several<L, n> a, Several<L, n> b) {
  return map_several<L>([](L x, L y) { return min(x, y); }, a, b);
}
template <class L, int n>
WF_DEVICE Several<L, n> max(Several<L, n> a, Several<L, n> b) {
  return map_several<L>([](L x, L y) { return max(x, y); }, a, b);
}
template <int n>
WF_DEVICE Floats<n> abs(Floats<n> a) {
  return map_several<float>([](float x) { return abs(x); }, a);
}

template <class L, int n>
WF_DEVICE Several<bool, n> less(Several<L, n> a, Several<L, n> b) {
  return map_several<bool>([](L x, L y) { return x < y; }, a, b);
}
template <class L, int n>
WF_DEVICE Several<bool, n> less_equal(Several<L, n> a, Several<L, n> b) {
  return map_several<bool>([](L x, L y) { return x <= y; }, a, b);
}
template <class L, int n>
WF_DEVICE Several<bool, n> equal(Several<L, n> a, Several<L, n> b) {
  return map_several<bool>([](L x, L y) { return x == y; }, a, b);
}
template <class L, int n>
WF_DEVICE Several<L, n> select(Several<bool, n> keep, Several<L, n> a, Several<L, n> b) {
  return map_several<L>([](bool k, L x, L y) { return k ? x : y; }, keep, a, b);
}

template <int n>
WF_DEVICE Several<i32, n> round_to_int(Floats<n> a) {
  return map_several<i32>([](float x) { return round_to_int(x); }, a);
}
template <int n>
WF_DEVICE Floats<n> to_float(Several<i32, n> a) {
  return map_several<float>([](i32 x) { return to_float(x); }, a);
}
template <int n>
WF_DEVICE Several<i32, n> to_bits(Floats<n> a) {
  return map_several<i32>([](float x) { return to_bits(x); }, a);
}
template <int n>
WF_DEVICE Floats<n> from_bits(Several<i32, n> a) {
  return map_several<float>([](i32 x) { return from_bits(x); }, a);
}

template <int n>
WF_DEVICE float reduce_add(Floats<n> a) {
  float sum = a.e[0];
  WF_UNROLL
  for (int i = 1; i < n; ++i) sum += a.e[i];
  return sum;
}

template <int n>
struct ElementTraits<Floats<n>> {
  static constexpr int width = n;
  using Int = Several<i32, n>;
  using Mask = Several<bool, n>;
  WF_DEVICE static Floats<n> splat(float a) {
    return map_several<float>([a](float) { return a; }, Floats<n>{});
  }
  WF_DEVICE static Int splat_int(i32 a) {
    return map_several<i32>([a](i32) { return a; }, Int{});
  }
  WF_DEVICE static Floats<n> load(const float* p) {
    Floats<n> a;
    WF_UNROLL
    for (int i = 0; i < n; ++i) a.e[i] = p[i];
    return a;
  }
  WF_DEVICE static void store(float* p, Floats<n> a) {
    WF_UNROLL
    for (int i = 0; i < n; ++i) p[i] = a.e[i];
  }
};

/// Lanes 2i and 2i + 1 exchanged.
template <int n>
WF_DEVICE Floats<n> swap_pairs(Floats<n> a) {
  Floats<n> r;
  WF_UNROLL
  for (int i = 0; i < n; ++i) r.e[i] = a.e[i ^ 1];
  return r;
}

WF_NAMESPACE_END
