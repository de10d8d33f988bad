// For the units that compare the tables of functions with a vendor's headers, where a build finds
// them.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "device/library.h"

namespace wavefire::device {

/// Two types that are passed alike: integers and enumerations of one size, pointers to what is
/// alike. Opaque objects are alike, and void is like everything.
template <class Ours, class Theirs>
struct Alike {
  static constexpr bool value = std::is_void_v<Ours> || std::is_void_v<Theirs> ||
                                std::is_same_v<Ours, Theirs> ||
                                (std::is_class_v<Ours> && std::is_class_v<Theirs>);
};
template <class Ours, class Theirs>
inline constexpr bool alike = Alike<std::remove_cv_t<Ours>, std::remove_cv_t<Theirs>>::value;

template <class T>
concept Number = std::is_integral_v<T> || std::is_enum_v<T>;
template <Number Ours, Number Theirs>
struct Alike<Ours, Theirs> {
  static constexpr bool value = sizeof(Ours) == sizeof(Theirs);
};
// The token of a context (an integer) is NVIDIA's pointer.
template <class Theirs>
  requires std::is_class_v<Theirs>
struct Alike<std::ptrdiff_t, Theirs*> {
  static constexpr bool value = true;
};
template <class Ours, class Theirs>
struct Alike<Ours*, Theirs*> {
  static constexpr bool value = alike<Ours, Theirs>;
};
template <class Ours, class... OurArguments, class Theirs, class... TheirArguments>
struct Alike<Ours (*)(OurArguments...), Theirs (*)(TheirArguments...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(OurArguments) == sizeof...(TheirArguments)) {
      return alike<Ours, Theirs> && (alike<OurArguments, TheirArguments> && ...);
    } else {
      return false;
    }
  }();
};

/// The name of a function whose prototype in the vendor's header is like our member's.
template <auto member, auto function>
consteval std::string_view prototype(std::string_view name) {
  using Member = FunctionMember<decltype(member)>;
  static_assert(alike<typename Member::Pointer, decltype(function)>,
                "a table of functions and the vendor's header differ");
  return name;
}

/// Every symbol of a table has been compared, in the table's order.
template <class Symbols, std::size_t count>
consteval bool covers(const std::string_view (&prototypes)[count], const Symbols& symbols) {
  if (count != std::size(symbols)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (prototypes[i] != symbols[i].name) return false;
  }
  return true;
}

}  // namespace wavefire::device
