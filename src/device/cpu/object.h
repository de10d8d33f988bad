// Compiled CPU code that is loaded from memory.
#pragma once

#include <string>
#include <string_view>

namespace wavefire::cpu {

/// A shared library's code; it stays loaded as long as this lives.
class Object {
 public:
  /// `bytes` are a shared library of this machine. Throws `Error` (device) in the loader's words.
  Object(const std::string& name, std::string_view bytes);
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object();

  /// The address of a symbol. Throws `Error` (device) if there is none of that name.
  void* find(const std::string& symbol) const;

 private:
  std::string name_;
  void* handle_ = nullptr;
};

}  // namespace wavefire::cpu
