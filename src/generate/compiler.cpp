#include "generate/compiler.h"

#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "core/check.h"
#include "generate/files.h"
#include "generate/headers.h"
#include "wavefire/config.h"

namespace wavefire::generate {
namespace {

/// A compiler that is a program.
struct Command {
  Platform platform;
  const char* source_name;
  const char* object_name;
  std::span<const char* const> flags;
  std::vector<std::string> (*target_flags)(const Target& target);
};

std::vector<std::string> host_flags(const Target& target) {
  return {target.flags.begin(), target.flags.end()};
}
std::vector<std::string> nvcc_flags(const Target& target) {
  return {target.is_ptx ? "-ptx" : "-cubin", core::join("-arch=", target.compiler_name)};
}
std::vector<std::string> clang_flags(const Target& target) {
  return {core::join("--offload-arch=", target.compiler_name)};
}

// Arithmetic as it is written, as in cmake/WavefireCpuKernels.cmake. What a kernel needs of others
// is the handful of functions that compilers call by themselves.
constexpr const char* host_common[] = {"-std=c++20",
                                       "-O3",
                                       "-fPIC",
                                       "-shared",
                                       "-nostdlib",
                                       "-fvisibility=hidden",
                                       "-ffp-contract=off",
                                       "-fno-math-errno",
                                       "-fno-exceptions",
                                       "-fno-rtti",
                                       "-Wno-psabi"};
constexpr Command host = {Platform::cpu, "kernel.cpp", "kernel.so", host_common, host_flags};
constexpr const char* nvcc_common[] = {"-std=c++20", "--expt-relaxed-constexpr", "-O3"};
constexpr Command nvcc = {Platform::cuda, "kernel.cu", "kernel.out", nvcc_common, nvcc_flags};
constexpr const char* clang_common[] = {"-x",
                                        "hip",
                                        "--offload-device-only",
                                        "--no-gpu-bundle-output",
                                        "-nogpuinc",
                                        "-nogpulib",
                                        "-O3",
                                        "-std=c++20",
                                        "-mcode-object-version=5"};
constexpr Command hip_clang = {Platform::hip, "kernel.hip", "kernel.co", clang_common, clang_flags};

class CommandCompiler final : public Compiler {
 public:
  CommandCompiler(const Command& command, std::string program, std::string name,
                  std::string version)
      : Compiler(std::move(name), std::move(version)),
        command_(command),
        program_(std::move(program)) {}

  std::vector<std::string> flags(const Target& target) const override {
    std::vector<std::string> all(command_.flags.begin(), command_.flags.end());
    for (std::string& flag : command_.target_flags(target)) all.push_back(std::move(flag));
    return all;
  }

  std::string compile(const KernelSpec& spec, const std::string& source,
                      const std::filesystem::path& folder) const override {
    write_headers(folder / "include");
    write_file(folder / command_.source_name, source);
    std::vector<std::string> line = {program_};
    for (std::string& flag : flags(target_of(spec.architecture))) line.push_back(std::move(flag));
    const std::filesystem::path object = folder / command_.object_name;
    line.insert(line.end(),
                {"-I", folder / "include", "-o", object, folder / command_.source_name});
    if (command_.platform == Platform::cpu) line.insert(line.end(), {"-lm", "-lc"});
    const Finished finished = run_program(line);
    if (finished.status != 0) fail(spec, finished.output);
    return read_file(object);
  }

 private:
  const Command& command_;
  std::string program_;
};

/// The line of `--version` that has the version.
std::string version_line(const std::string& text) {
  const std::size_t at = text.find("release");  // nvcc's comes behind its copyright
  const std::size_t begin = at == std::string::npos ? 0 : text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::unique_ptr<Compiler> find_command(const Command& command, const std::string& configured,
                                       std::vector<std::string> candidates, std::string& reason) {
  if (!configured.empty()) candidates = {configured};
  const std::string program = find_program(candidates);
  if (program.empty()) {
    reason = "no ";
    for (const std::string& name : candidates) {
      reason += core::join(name == candidates.front() ? "" : ", ", name);
    }
    return nullptr;
  }
  const Finished version = run_program({program, "--version"});
  if (version.status != 0) {
    reason = core::join(program, " --version failed: ", version.output);
    return nullptr;
  }
  return std::make_unique<CommandCompiler>(
      command, program, core::join(program, " (", version_line(version.output), ")"),
      version.output);
}

std::unique_ptr<Compiler> find_host(std::string& reason) {
  return find_command(host, config().host_compiler, {"g++", "clang++", "c++"}, reason);
}
std::unique_ptr<Compiler> find_nvcc(std::string& reason) {
  return find_command(nvcc, config().nvcc, {"nvcc", "/usr/local/cuda/bin/nvcc"}, reason);
}
std::unique_ptr<Compiler> find_hip_clang(std::string& reason) {
  return find_command(hip_clang, config().hip_compiler,
                      {"clang++-22", "clang++-21", "clang++-20", "/opt/rocm/llvm/bin/clang++"},
                      reason);
}

constexpr std::array remedies = {
    "install g++ or clang++, or set WAVEFIRE_HOST_COMPILER",
    "install NVRTC (pip install nvidia-cuda-nvrtc) or the CUDA toolkit, or set WAVEFIRE_NVRTC or "
    "WAVEFIRE_NVCC",
    "install ROCm, or clang 20 or newer, or set WAVEFIRE_HIPRTC or WAVEFIRE_HIP_COMPILER"};

}  // namespace

std::string Compiler::identity(const Target& target) const {
  std::string text = core::join(name_, "\n", version_);
  for (const std::string& flag : flags(target)) text += "\n" + flag;
  return text;
}

void Compiler::fail(const KernelSpec& spec, const std::string& output) const {
  throw Error(ErrorKind::compile, core::join("generate: ", name_of(spec), ": ", name_,
                                             " does not compile it:\n", output));
}

const std::vector<CompilerKind>& compiler_kinds() {
  // Libraries first: they compile in the process, and frameworks bring them along.
  static const std::vector<CompilerKind> kinds = {
      {Platform::cpu, "host C++ compiler", find_host},
      {Platform::cuda, "NVRTC", find_nvrtc},
      {Platform::cuda, "nvcc", find_nvcc},
      {Platform::hip, "hipRTC", find_hiprtc},
      {Platform::hip, "clang", find_hip_clang},
  };
  return kinds;
}

std::shared_ptr<const Compiler> compiler_for(const KernelSpec& spec) {
  using Key = std::array<std::string, 6>;
  static std::mutex mutex;
  static std::map<std::pair<Platform, Key>, std::shared_ptr<const Compiler>> found;
  const Platform platform = target_of(spec.architecture).platform;
  const Config& c = config();
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Compiler>& compiler = found[{
      platform, Key{c.search_path, c.host_compiler, c.nvcc, c.nvrtc, c.hip_compiler, c.hiprtc}}];
  std::string reasons;
  for (const CompilerKind& kind : compiler_kinds()) {
    if (compiler != nullptr) return compiler;
    if (kind.platform != platform) continue;
    std::string reason;
    compiler = kind.find(reason);
    reasons += core::join(reasons.empty() ? "" : "; ", kind.name, ": ", reason);
  }
  if (compiler != nullptr) return compiler;
  throw Error(ErrorKind::compile, core::join("generate: ", name_of(spec), ": no compiler for ",
                                             name_of(spec.architecture), " (", reasons, "); ",
                                             remedies[static_cast<std::size_t>(platform)]));
}

}  // namespace wavefire::generate
