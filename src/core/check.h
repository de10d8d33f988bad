// Building the one-line messages of `Error`: operation, argument, value, what is accepted.
#pragma once

#include <sstream>
#include <string>
#include <string_view>

#include "wavefire/error.h"
#include "wavefire/tensor_view.h"

namespace wavefire::core {

template <class... Parts>
std::string join(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Throws: "operation: 'argument' is VALUE; accepted: ACCEPTED".
[[noreturn]] void fail_argument(std::string_view operation, std::string_view argument,
                                const std::string& value, const std::string& accepted);
[[noreturn]] void fail_unsupported(std::string_view operation, const std::string& what);

template <class Value>
void require(bool condition, std::string_view operation, std::string_view argument,
             const Value& value, std::string_view accepted) {
  if (!condition) fail_argument(operation, argument, join(value), std::string(accepted));
}

/// What an operation accepts of a tensor. Extents of -1 match anything.
struct TensorRule {
  std::string_view operation;
  std::string_view argument;
  const TensorView& view;

  const TensorRule& defined() const;
  const TensorRule& on_cpu() const;
  const TensorRule& dtype(DType accepted) const;
  const TensorRule& one_of(std::initializer_list<DType> accepted) const;
  const TensorRule& rank(int accepted) const;
  const TensorRule& shape(std::initializer_list<std::int64_t> accepted) const;
  const TensorRule& last_dim_contiguous() const;
  const TensorRule& contiguous() const;
  /// No two elements share an address through a stride of zero: required of outputs.
  const TensorRule& writable() const;
};

inline TensorRule check(std::string_view operation, std::string_view argument,
                        const TensorView& view) {
  return {operation, argument, view};
}

}  // namespace wavefire::core
