// The compilers that turn a source into an object: commands (the host's C++ compiler, nvcc, clang)
// and libraries (NVRTC, hipRTC). All are found at run time.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "generate/target.h"

namespace wavefire::generate {

class Compiler {
 public:
  Compiler(std::string name, std::string version)
      : name_(std::move(name)), version_(std::move(version)) {}
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;
  virtual ~Compiler() = default;

  /// For people: "/usr/bin/g++ (g++ (Debian 12.2.0-14) 12.2.0)".
  const std::string& name() const { return name_; }
  /// What decides what it makes of a source: place, version, flags.
  std::string identity(const Target& target) const;

  virtual std::vector<std::string> flags(const Target& target) const = 0;
  /// The object: a shared library (CPU), cubin or PTX (CUDA), or code object (HIP). `folder` is for
  /// its files. Throws `Error` (compile) with what the compiler said.
  virtual std::string compile(const KernelSpec& spec, const std::string& source,
                              const std::filesystem::path& folder) const = 0;

 protected:
  [[noreturn]] void fail(const KernelSpec& spec, const std::string& output) const;

 private:
  std::string name_;
  std::string version_;
};

/// A way to get a compiler. `find` gives null when it is not here, and says what it looked for.
struct CompilerKind {
  Platform platform;
  const char* name;  // "nvcc"
  std::function<std::unique_ptr<Compiler>(std::string& reason)> find;
};

/// All kinds, the preferred one of a platform first.
const std::vector<CompilerKind>& compiler_kinds();

std::unique_ptr<Compiler> find_nvrtc(std::string& reason);
std::unique_ptr<Compiler> find_hiprtc(std::string& reason);

/// The compiler of `spec`'s architecture, found once per configuration. Throws `Error` (compile)
/// that names the spec, what was looked for, and how to get one.
std::shared_ptr<const Compiler> compiler_for(const KernelSpec& spec);

}  // namespace wavefire::generate
