// wavefire-virtual: runs, checks and profiles kernels of a code object.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "virtual/cli/options.h"
#include "virtual/cli/values.h"
#include "virtual/code_object.h"
#include "virtual/execute.h"
#include "virtual/instruction.h"
#include "virtual/kernarg.h"
#include "virtual/memory.h"
#include "virtual/model.h"
#include "virtual/opcode.h"

namespace instinct::cli {
namespace {

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(Error::Kind::not_found, "cannot read '" + path + "'");
  const auto bytes = std::as_bytes(std::span(content));
  return {bytes.begin(), bytes.end()};
}

// The instructions of a kernel by unit, as they stand in the code.
void list_instructions(const CodeObject& object, const Program& program, const Kernel& kernel) {
  u32 counts[unit_count] = {}, all = 0;
  for (const Instruction& in : program.instructions()) {
    if (object.function_at(in.address) != kernel.name) continue;
    if (in.opcode != nullptr) ++counts[static_cast<int>(in.opcode->unit)];
    ++all;
  }
  std::printf("  %u instructions:", all);
  for (int unit = 0; unit < unit_count; ++unit) {
    const char* separator = unit == 0 ? "" : ",";
    std::printf("%s %u %s", separator, counts[unit], name_of(static_cast<Unit>(unit)));
  }
  std::printf("\n");
}

void list(const CodeObject& object) {
  const auto program = Program::decode(object);
  std::printf("%s, %zu kernels\n", name_of(object.target()), object.kernels().size());
  for (const Kernel& kernel : object.kernels()) {
    std::printf("\n%s\n", kernel.name.c_str());
    std::printf(
        "  %u VGPRs (%u AGPRs), %u SGPRs, %u + %u spilled; %u bytes of LDS, %u of scratch\n",
        kernel.vgprs, kernel.agprs, kernel.sgprs, kernel.vgpr_spills, kernel.sgpr_spills,
        kernel.descriptor.lds_bytes, kernel.descriptor.scratch_bytes);
    const u32 waves = (kernel.max_threads + 63) / 64;
    std::printf("  blocks of up to %u work items, %u of them on a compute unit\n",
                kernel.max_threads,
                resident_workgroups(kernel, waves, kernel.descriptor.lds_bytes, object.target()));
    list_instructions(object, *program, kernel);
    u32 index = 0;
    for (const KernelArgument& argument : kernel.arguments) {
      if (!argument.is_explicit()) continue;
      std::printf("  argument %u: %u bytes at %u, %s %s\n", index++, argument.size, argument.offset,
                  argument.value_kind.c_str(), argument.name.c_str());
    }
  }
}

const Kernel& choose(const CodeObject& object, const std::string& name) {
  if (const Kernel* kernel = object.find_kernel(name)) return *kernel;
  if (name.empty() && object.kernels().size() == 1) return object.kernels()[0];
  std::string names;
  for (const Kernel& kernel : object.kernels()) names += " " + kernel.name;
  throw Error(Error::Kind::not_found,
              (name.empty() ? "--kernel is missing" : "no kernel '" + name + "'") +
                  std::string("; there are:") + names.substr(0, 2000));
}

// A kernel with its arguments in memory.
class Session {
 public:
  Session(const CodeObject& object, const Options& options)
      : object_(object), options_(options), kernel_(choose(object, options.kernel)) {
    for (const Segment& segment : object.segments()) {
      memory_.add(segment.address, segment.size, Allocation::Kind::code, segment.writable);
    }
    check_launch(object, kernel_, options.grid, options.block, options.dynamic_lds);
    std::vector<void*> pointers;
    for (const KernelArgument& argument : kernel_.arguments) {
      if (!argument.is_explicit()) continue;
      if (values_.size() == options.arguments.size()) {
        throw Error(Error::Kind::invalid_value,
                    "argument " + std::to_string(values_.size()) + " is missing (--arg)");
      }
      values_.push_back(
          make_value(options.arguments[values_.size()], argument, memory_, options.seed));
    }
    if (values_.size() < options.arguments.size()) {
      throw Error(Error::Kind::invalid_value, "the kernel has " + std::to_string(values_.size()) +
                                                  " arguments, given are " +
                                                  std::to_string(options.arguments.size()));
    }
    pointers.reserve(values_.size());
    for (Value& value : values_) pointers.push_back(value.bytes.data());
    kernarg_ = make_kernarg(kernel_, pack_arguments(kernel_, pointers.data()), options.grid,
                            options.block, options.dynamic_lds);
  }

  const Kernel& kernel() const { return kernel_; }

  std::optional<Report> run(const Checks& checks, u64 seed, Profile* profile = nullptr) {
    return execute({.object = object_,
                    .kernel = kernel_,
                    .grid = options_.grid,
                    .block = options_.block,
                    .dynamic_lds = options_.dynamic_lds,
                    .kernarg = kernarg_,
                    .memory = memory_,
                    .checks = checks,
                    .seed = seed,
                    .profile = profile,
                    .threads = options_.threads,
                    .instruction_limit = options_.limit});
  }

  void write_outputs() const {
    for (const Output& output : options_.outputs) {
      if (output.argument >= values_.size()) {
        throw Error(Error::Kind::invalid_value,
                    "there is no argument " + std::to_string(output.argument));
      }
      const Value& value = values_[output.argument];
      if (output.path.empty()) {
        std::printf("argument %zu:\n%s", output.argument, text_of(value).c_str());
        continue;
      }
      const char* data = value.address ? reinterpret_cast<const char*>(value.address)
                                       : reinterpret_cast<const char*>(value.bytes.data());
      const u64 bytes = value.address ? value.count * bytes_of(value.type) : value.bytes.size();
      std::ofstream file(output.path, std::ios::binary);
      file.write(data, static_cast<std::streamsize>(bytes));
      file.close();
      if (!file) throw Error(Error::Kind::not_found, "cannot write '" + output.path + "'");
    }
  }

 private:
  const CodeObject& object_;
  const Options& options_;
  const Kernel& kernel_;
  Memory memory_;
  std::vector<Value> values_;
  std::vector<std::byte> kernarg_;
};

int tell(const Report& report) {
  std::printf("%s\n", report.text().c_str());
  return 1;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run(const CodeObject& object, const Options& options) {
  Session session(object, options);
  const auto start = std::chrono::steady_clock::now();
  const auto report = session.run(Checks::parse(options.checks.value_or("bounds")), options.seed);
  if (report) return tell(*report);
  std::printf("%s: %.3f s\n", session.kernel().name.c_str(), seconds_since(start));
  session.write_outputs();
  return 0;
}

// Each order starts from fresh memory.
int check(const CodeObject& object, const Options& options) {
  const Checks checks = Checks::parse(options.checks.value_or("all"));
  for (u64 order = 0; order < std::max(options.orders, 1u); ++order) {
    Session session(object, options);
    const u64 seed = order == 0 ? options.seed : options.seed * 1000 + order;
    if (const auto report = session.run(checks, seed)) {
      std::printf("order of waves: --seed %llu\n", static_cast<unsigned long long>(seed));
      return tell(*report);
    }
    if (order == 0) session.write_outputs();
  }
  std::printf("%s: nothing found in %u orders of waves\n",
              choose(object, options.kernel).name.c_str(), std::max(options.orders, 1u));
  return 0;
}

int profile(const CodeObject& object, const Options& options) {
  Session session(object, options);
  Profile profile;
  const auto report =
      session.run(Checks::parse(options.checks.value_or("bounds")), options.seed, &profile);
  if (report) return tell(*report);
  std::printf("%s", profile.text().c_str());
  session.write_outputs();
  return 0;
}

int main(int count, char** words) {
  const std::string first = count > 1 ? words[1] : "";
  if (first == "--help" || first == "-h" || first == "help") {
    std::printf("%s", usage_text);
    return 0;
  }
  const Options options = parse_options(count, words);
  using Command = int (*)(const CodeObject&, const Options&);
  const Command command = options.command == "run"       ? run
                          : options.command == "check"   ? check
                          : options.command == "profile" ? profile
                                                         : nullptr;
  if (!command && options.command != "list") {
    throw Error(Error::Kind::invalid_value,
                "'" + options.command + "' is none of list, run, check, profile");
  }
  const auto object = CodeObject::load(read_file(options.file));
  if (command) return command(*object, options);
  list(*object);
  return 0;
}

}  // namespace
}  // namespace instinct::cli

int main(int count, char** words) {
  try {
    return instinct::cli::main(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wavefire-virtual: %s\n", error.what());
    return 2;
  }
}
