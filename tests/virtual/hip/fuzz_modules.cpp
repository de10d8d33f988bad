// Mutates code objects, loads them through HIP's functions, and launches what still loads. Every
// outcome is a HIP error with a reason or a result; a crash or a hang is a bug.
//
//   fuzz_modules COUNT [SEED [FIRST]]     FIRST: begin with this one, to repeat a failure

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "support.h"
#include "virtual/hip/hip_api.h"
#include "virtual/hip/virtual_instinct.h"

namespace instinct {
namespace {

constexpr unsigned seconds_per_file = 20;  // for one file

char current[100];  // what to repeat, for the handler

extern "C" void on_signal(int) {
  [[maybe_unused]] const auto written = write(2, current, std::strlen(current));
  std::_Exit(1);
}

using File = std::vector<std::byte>;

class Mutator {
 public:
  explicit Mutator(u64 seed) : engine_(seed) {}

  u64 below(u64 limit) { return limit ? engine_() % limit : 0; }

  File mutate(File file) {
    const u64 changes = 1 + below(6);
    for (u64 i = 0; i < changes && !file.empty(); ++i) change(file);
    return file;
  }

 private:
  // Headers and metadata decide more than code does.
  u64 place(const File& file) {
    switch (below(4)) {
      case 0: return below(std::min<u64>(file.size(), 64 + 10 * 56));  // ELF and program headers
      case 1: return below(std::min<u64>(file.size(), 4096));          // notes
      case 2: {                                                        // section headers
        const u64 tail = std::min<u64>(file.size(), 30 * 64);
        return file.size() - tail + below(tail);
      }
      default: return below(file.size());
    }
  }

  u64 interesting() {
    constexpr u64 interesting_values[] = {
        0,          1,     0x7f,       0x80, 0xff, 0xffff,     0x7fffffff, 0x80000000,
        0xffffffff, ~0ull, 1ull << 63, 64,   4096, 1ull << 20, 1ull << 40};
    return interesting_values[below(std::size(interesting_values))] + below(3) - 1;
  }

  void change(File& file) {
    const u64 at = place(file);
    const u64 length = std::min<u64>(1 + below(64), file.size() - at);
    switch (below(8)) {
      case 0: file[at] ^= static_cast<std::byte>(1u << below(8)); break;
      case 1: file[at] = static_cast<std::byte>(engine_()); break;
      case 2: overwrite(file, at, interesting(), 1ull << below(4)); break;
      case 3: overwrite(file, at & ~7ull, interesting(), 8); break;
      case 4: std::memset(file.data() + at, static_cast<int>(below(2) * 255), length); break;
      case 5: file.resize(below(file.size())); break;
      case 6:
        std::memmove(file.data() + at, file.data() + below(file.size() - length), length);
        break;
      default: overwrite(file, at & ~3ull, engine_(), 4); break;
    }
  }

  static void overwrite(File& file, u64 at, u64 value, u64 bytes) {
    for (u64 i = 0; i < bytes && at + i < file.size(); ++i) {
      file[at + i] = static_cast<std::byte>(value >> 8 * i);
    }
  }

  std::mt19937_64 engine_;
};

struct Original {
  std::string name;
  int device;
  File file;
  std::vector<std::string> kernels;
};

std::vector<Original> originals() {
  const std::map<std::string, std::vector<std::string>> kernels = {
      {"loading", {"arguments", "symbols", "shares", "sizes"}},
      {"loading.v6", {"arguments", "sizes"}},
      {"memory", {"buffer_b96", "lds_wide", "scratch", "global_atomics", "dma_swizzled"}},
      {"lanes", {"dpp_moves", "permutes", "ballots"}},
      {"control", {"diverging_loop", "calls", "recursion", "function_pointers", "places"}},
      {"arithmetic", {"floats", "words", "doubles", "conversions", "dots"}},
      {"matrix", {"f32_32x32x8f16", "f32_16x16x32_fp8_fp8", "i32_16x16x32_i8", "chained"}},
  };
  std::vector<Original> list;
  for (const auto& [name, names] : kernels) {
    for (int device = 0; device < 2; ++device) {
      const Target target = device == 0 ? Target::gfx942 : Target::gfx950;
      list.push_back({name, device, read_kernels(name, target), names});
    }
  }
  return list;
}

struct Counts {
  u64 refused = 0;
  u64 loaded = 0;
  u64 launched = 0;
  u64 faulted = 0;
};

[[noreturn]] void fail(const char* what, hipError_t code) {
  std::fprintf(stderr, "%s: %s, %s\n%s", what, hipGetErrorName(code), wavefireVirtualLastError(),
               current);
  std::exit(1);
}

class Fuzzer {
 public:
  Fuzzer() {
    for (int device = 0; device < 2; ++device) {
      expect(hipSetDevice(device));
      expect(hipMalloc(&memory_[device], memory_bytes));
      expect(hipMemset(memory_[device], 0, memory_bytes));
    }
  }

  void one(const Original& original, const File& file) {
    expect(hipSetDevice(original.device));
    hipModule_t module = nullptr;
    const hipError_t code = wavefireVirtualModuleLoad(&module, file.data(), file.size());
    if (code != hipSuccess) {
      const bool known = code == hipErrorInvalidImage || code == hipErrorNoBinaryForGpu ||
                         code == hipErrorNotFound || code == hipErrorOutOfMemory ||
                         code == hipErrorNotSupported;
      if (!known || !*wavefireVirtualLastError()) fail("an unclear refusal", code);
      ++counts_.refused;
      return;
    }
    ++counts_.loaded;
    for (const std::string& name : original.kernels) launch(module, name, original.device);
    expect(hipModuleUnload(module));
  }

  const Counts& counts() const { return counts_; }

 private:
  static constexpr std::size_t memory_bytes = 1 << 16;
  static constexpr std::size_t argument_count = 1 << 16;  // more than a file can describe
  static constexpr std::size_t argument_bytes = 1 << 16;

  static void expect(hipError_t code) {
    if (code != hipSuccess) fail("a call that cannot fail did", code);
  }

  void launch(hipModule_t module, const std::string& name, int device) {
    hipFunction_t function = nullptr;
    if (hipModuleGetFunction(&function, module, name.c_str()) != hipSuccess) return;
    // Each argument points into the middle of the memory, and is a small number if it is one.
    for (std::size_t i = 0; i + 8 <= argument_bytes; i += 8) {
      const char* pointer = memory_[device] + memory_bytes / 2;
      std::memcpy(argument_.data() + i, &pointer, 8);
    }
    const hipError_t code =
        hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, pointers_.data(), nullptr);
    ++(code == hipSuccess ? counts_.launched : counts_.faulted);
    if (code != hipSuccess && !*wavefireVirtualLastError()) fail("an unclear failure", code);
    [[maybe_unused]] const hipError_t told = hipDeviceSynchronize();
  }

  char* memory_[2] = {};
  std::vector<std::byte> argument_ = std::vector<std::byte>(argument_bytes);
  std::vector<void*> pointers_ = std::vector<void*>(argument_count, argument_.data());
  Counts counts_;
};

void run(u64 count, u64 seed, u64 first) {
  const std::vector<Original> list = originals();
  Fuzzer fuzzer;
  for (u64 i = first; i < first + count; ++i) {
    std::snprintf(current, sizeof(current), "to repeat: fuzz_modules 1 %llu %llu\n",
                  static_cast<unsigned long long>(seed), static_cast<unsigned long long>(i));
    alarm(seconds_per_file);
    Mutator mutator(seed * 0x9e3779b97f4a7c15ull + i);
    const Original& original = list[mutator.below(list.size())];
    fuzzer.one(original, mutator.mutate(original.file));
  }
  alarm(0);
  const Counts& counts = fuzzer.counts();
  std::printf("%llu files: %llu refused, %llu loaded; of their kernels %llu ran, %llu failed\n",
              static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(counts.refused),
              static_cast<unsigned long long>(counts.loaded),
              static_cast<unsigned long long>(counts.launched),
              static_cast<unsigned long long>(counts.faulted));
}

}  // namespace
}  // namespace instinct

int main(int argc, char** argv) {
  setenv("WAVEFIRE_VIRTUAL_DEVICES", "gfx942,gfx950", 1);
  setenv("WAVEFIRE_VIRTUAL_QUIET", "1", 1);
  setenv("WAVEFIRE_VIRTUAL_LIMIT", "5000", 1);  // instructions: mutated loops may not end
  setenv("WAVEFIRE_VIRTUAL_THREADS", "1", 1);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
    std::signal(number, instinct::on_signal);
  }
  const auto number = [&](int index, unsigned long long otherwise) {
    return argc > index ? std::strtoull(argv[index], nullptr, 10) : otherwise;
  };
  instinct::run(number(1, 1000), number(2, 1), number(3, 0));
  return 0;
}
