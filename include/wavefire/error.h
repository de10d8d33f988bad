// Errors: one exception type with a kind. The text names the operation, the argument, the value it
// had and what would be accepted.
#pragma once

#include <stdexcept>
#include <string>

namespace wavefire {

enum class ErrorKind {
  invalid_argument,  // Python: ValueError
  unsupported,       // NotImplementedError
  out_of_memory,     // MemoryError
  compile,           // RuntimeError
  device,            // RuntimeError
  internal,          // RuntimeError: a fault of Wavefire itself
};

const char* name_of(ErrorKind kind);

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace wavefire
