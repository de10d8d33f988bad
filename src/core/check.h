// Building the one-line messages of `Error`: operation, argument, value, what is accepted.
#pragma once

#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>

#include "wavefire/error.h"
#include "wavefire/tensor_view.h"

namespace wavefire {

/// As `to_string` writes it.
std::ostream& operator<<(std::ostream& out, const TensorView& view);

namespace core {

/// Parts of a message, put together only when somebody wants the text. It refers to its parts: use
/// it in the expression that makes it.
template <class... Parts>
struct Joined {
  std::tuple<const Parts&...> parts;

  friend std::ostream& operator<<(std::ostream& out, const Joined& joined) {
    std::apply([&](const Parts&... part) { (out << ... << part); }, joined.parts);
    return out;
  }
  operator std::string() const {  // NOLINT(google-explicit-constructor): it stands for the text
    std::ostringstream out;
    out << *this;
    return out.str();
  }
};

template <class... Parts>
Joined<Parts...> join(const Parts&... parts) {
  return {{parts...}};
}

/// Throws: "operation: 'argument' is VALUE; accepted: ACCEPTED".
[[noreturn]] void throw_invalid(std::string_view operation, std::string_view argument,
                                const std::string& value, const std::string& accepted);
/// The same with anything that can be written to a stream.
template <class Value, class Accepted>
[[noreturn]] void fail_argument(std::string_view operation, std::string_view argument,
                                const Value& value, const Accepted& accepted) {
  throw_invalid(operation, argument, join(value), join(accepted));
}
[[noreturn]] void fail_unsupported(std::string_view operation, const std::string& what);

template <class Value, class Accepted>
void require(bool condition, std::string_view operation, std::string_view argument,
             const Value& value, const Accepted& accepted) {
  if (!condition) fail_argument(operation, argument, value, accepted);
}

/// What an operation accepts of a tensor. Extents of -1 match anything.
struct TensorRule {
  std::string_view operation;
  std::string_view argument;
  const TensorView& view;

  const TensorRule& defined() const;
  /// On the device of a plan. Throws `Error` (invalid_argument).
  const TensorRule& on(Device accepted) const;
  const TensorRule& dtype(DType accepted) const;
  const TensorRule& one_of(std::initializer_list<DType> accepted) const;
  const TensorRule& rank(int accepted) const;
  const TensorRule& shape(std::initializer_list<std::int64_t> accepted) const;
  const TensorRule& last_dim_contiguous() const;
  const TensorRule& contiguous() const;
  /// No two elements share an address through a stride of zero: required of outputs.
  const TensorRule& writable() const;
};

/// An argument of an operation, for messages that compare several.
struct Argument {
  std::string_view name;
  const TensorView& view;
};
/// The device on which all defined tensors are. Throws `Error` (invalid_argument) with the first
/// that is elsewhere than those before it.
Device common_device(std::string_view operation, std::initializer_list<Argument> arguments);

/// Where every tensor of an operation passes. Throws `Error` (invalid_argument) for a rank that a
/// view cannot hold, and for elements without data. Undefined views pass: see `defined`.
TensorRule check(std::string_view operation, std::string_view argument, const TensorView& view);

}  // namespace core
}  // namespace wavefire
