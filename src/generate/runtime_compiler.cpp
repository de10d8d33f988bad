// NVRTC and hipRTC: compilers that are libraries, with the same functions under two prefixes.
#include <mutex>

#include "core/check.h"
#include "generate/compiler.h"
#include "generate/headers.h"
#include "generate/runtime_functions.h"
#include "generate/source.h"
#include "wavefire/config.h"

namespace wavefire::generate {
namespace {

/// What differs between the two.
struct Dialect {
  Platform platform;
  const char* name;
  std::span<const char* const> flags;
  const char* target_flag;
};

// Functions without an execution space are constexpr ones that both sides may call.
constexpr const char* nvrtc_flags[] = {"-std=c++20", "-default-device"};
constexpr Dialect nvrtc = {Platform::cuda, "NVRTC", nvrtc_flags, "--gpu-architecture="};
constexpr const char* hiprtc_flags[] = {"-std=c++20", "-O3"};
constexpr Dialect hiprtc = {Platform::hip, "hipRTC", hiprtc_flags, "--offload-arch="};

class RuntimeCompiler final : public Compiler {
 public:
  RuntimeCompiler(const Dialect& dialect, const RtcFunctions& functions, std::string name,
                  std::string version)
      : Compiler(std::move(name), std::move(version)), dialect_(dialect), functions_(functions) {}

  std::vector<std::string> flags(const Target& target) const override {
    std::vector<std::string> all(dialect_.flags.begin(), dialect_.flags.end());
    all.push_back(core::join(dialect_.target_flag, target.compiler_name));
    return all;
  }

  std::string compile(const KernelSpec& spec, const std::string& source,
                      const std::filesystem::path& folder) const override;

 private:
  /// A program that is destroyed with its owner.
  struct Program {
    const RtcFunctions& functions;
    void* handle = nullptr;
    explicit Program(const RtcFunctions& functions) : functions(functions) {}
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
      if (handle != nullptr) functions.destroy(&handle);
    }
  };

  void must(const KernelSpec& spec, int result, const char* what) const {
    if (result != 0) fail(spec, core::join(what, ": ", functions_.error_string(result)));
  }

  const Dialect& dialect_;
  RtcFunctions functions_;
};

std::string RuntimeCompiler::compile(const KernelSpec& spec, const std::string& source,
                                     const std::filesystem::path&) const {
  std::vector<const char*> texts, paths, options;
  for (const Header& header : headers()) {
    texts.push_back(header.text);
    paths.push_back(header.path);
  }
  const std::vector<std::string> all_flags = flags(target_of(spec.architecture));
  for (const std::string& flag : all_flags) options.push_back(flag.c_str());

  Program program(functions_);
  must(spec,
       functions_.create(&program.handle, source.c_str(), "generated",
                         static_cast<int>(texts.size()), texts.data(), paths.data()),
       "create program");
  const int result =
      functions_.compile(program.handle, static_cast<int>(options.size()), options.data());
  if (result != 0) {
    std::size_t bytes = 0;
    functions_.log_size(program.handle, &bytes);
    std::string log(bytes, '\0');
    if (bytes > 0) functions_.log(program.handle, log.data());
    fail(spec, log.empty() ? functions_.error_string(result) : log.c_str());
  }
  const bool is_ptx = target_of(spec.architecture).is_ptx;
  std::size_t bytes = 0;
  must(spec, (is_ptx ? functions_.ptx_size : functions_.object_size)(program.handle, &bytes),
       "size of the object");
  std::string object(bytes, '\0');
  must(spec, (is_ptx ? functions_.ptx : functions_.object)(program.handle, object.data()),
       "object");
  return object;
}

std::unique_ptr<Compiler> find_runtime_compiler(
    const Dialect& dialect, const std::string& configured, std::vector<std::string> candidates,
    std::span<const device::Symbol<RtcFunctions>> symbols, std::string& reason) {
  if (!configured.empty()) candidates = {configured};
  const device::LibraryName name = {"generate", dialect.name, candidates, "see docs/generator.md"};
  try {
    const device::Library library = device::Library::open(name);
    const auto functions = device::load_table<RtcFunctions>(name, library, symbols);
    int major = 0, minor = 0;
    functions.version(&major, &minor);
    const std::string version = core::join(dialect.name, " ", major, ".", minor);
    return std::make_unique<RuntimeCompiler>(
        dialect, functions, core::join(library.path(), " (", version, ")"), version);
  } catch (const Error& error) {
    reason = error.what();
    return nullptr;
  }
}

}  // namespace

// A program that was asked for by name comes before a library that was not.
std::unique_ptr<Compiler> find_nvrtc(std::string& reason) {
  if (config().nvrtc.empty() && !config().nvcc.empty()) {
    reason = "WAVEFIRE_NVCC asks for nvcc";
    return nullptr;
  }
  return find_runtime_compiler(
      nvrtc, config().nvrtc,
      {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"}, nvrtc_symbols,
      reason);
}

std::unique_ptr<Compiler> find_hiprtc(std::string& reason) {
  if (config().hiprtc.empty() && !config().hip_compiler.empty()) {
    reason = "WAVEFIRE_HIP_COMPILER asks for a program";
    return nullptr;
  }
  return find_runtime_compiler(hiprtc, config().hiprtc,
                               {"libhiprtc.so.7", "libhiprtc.so.6", "/opt/rocm/lib/libhiprtc.so"},
                               hiprtc_symbols, reason);
}

}  // namespace wavefire::generate
