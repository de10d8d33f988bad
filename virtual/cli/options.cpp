#include "virtual/cli/options.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

namespace instinct::cli {

const char* const usage_text =
    R"(wavefire-virtual: run AMD kernels for gfx942 and gfx950 on this CPU

  wavefire-virtual list FILE.co                 kernels, their arguments and resources
  wavefire-virtual run FILE.co OPTIONS          run a kernel (checks: bounds)
  wavefire-virtual check FILE.co OPTIONS        run it with all checks, in several orders of waves
  wavefire-virtual profile FILE.co OPTIONS      count instructions, model cycles

  --kernel NAME      the kernel (default: the only one)
  --grid X[,Y[,Z]]   workgroups (default 1)
  --block X[,Y[,Z]]  work items of a workgroup (default 64)
  --arg VALUE        the next argument:
                       12, -1.5            a number, of the size that the kernel has for it
                       i32=12, f32=1.5     a number of this type
                       f32:1024            memory for 1024 values, undefined
                       f32:1024=random     ... filled: random (normal; integers: 0 to 99), iota,
                                           a number, or @FILE with the bytes of a file
                     types: i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
  --lds BYTES        dynamic LDS
  --print N          print argument N (from 0) afterwards
  --save N=FILE      write the bytes of argument N to a file
  --checks LIST      all, none, or of bounds,races,undefined,waits,hazards,barriers
  --seed N           order of waves and random values (0: waves in order)
  --orders N         check: how many orders of waves (default 4)
  --threads N        workgroups in parallel (default: one for each core)
  --limit N          instructions of a wave before it counts as stuck

Exit status: 0 all well, 1 something was found, 2 it could not run.
)";

namespace {

constexpr u32 max_threads = 0xffff;

[[noreturn]] void fail(const std::string& what) { throw Error(Error::Kind::invalid_value, what); }

u32 parse_u32(const std::string& text, const char* what) {
  const u64 value = parse_number(text, what);
  if (value > 0xffffffff) fail(std::string(what) + " '" + text + "'; 0 to 4294967295 is accepted");
  return static_cast<u32>(value);
}

Dim3 parse_dim(const std::string& text, const char* what) {
  u32 sizes[3] = {1, 1, 1};
  std::size_t begin = 0;
  for (u32& size : sizes) {
    const std::size_t comma = text.find(',', begin);
    size = parse_u32(text.substr(begin, comma - begin), what);
    if (comma == std::string::npos) return {sizes[0], sizes[1], sizes[2]};
    begin = comma + 1;
  }
  fail(std::string(what) + " '" + text +
       "' has more than three sizes; X, X,Y or X,Y,Z is accepted");
}

Output parse_save(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size())
    fail("--save '" + text + "'; N=FILE is accepted");
  return {parse_number(text.substr(0, equals), "--save"), text.substr(equals + 1)};
}

using Setter = std::function<void(Options&, const std::string&)>;

const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> setters = {
      {"--kernel", [](Options& o, const std::string& v) { o.kernel = v; }},
      {"--grid", [](Options& o, const std::string& v) { o.grid = parse_dim(v, "--grid"); }},
      {"--block", [](Options& o, const std::string& v) { o.block = parse_dim(v, "--block"); }},
      {"--arg", [](Options& o, const std::string& v) { o.arguments.push_back(v); }},
      {"--lds", [](Options& o, const std::string& v) { o.dynamic_lds = parse_u32(v, "--lds"); }},
      {"--print",
       [](Options& o, const std::string& v) {
         o.outputs.push_back({parse_number(v, "--print"), ""});
       }},
      {"--save", [](Options& o, const std::string& v) { o.outputs.push_back(parse_save(v)); }},
      {"--checks", [](Options& o, const std::string& v) { o.checks = v; }},
      {"--seed", [](Options& o, const std::string& v) { o.seed = parse_number(v, "--seed"); }},
      {"--orders", [](Options& o, const std::string& v) { o.orders = parse_u32(v, "--orders"); }},
      {"--threads",
       [](Options& o, const std::string& v) {
         o.threads = static_cast<int>(std::min(parse_u32(v, "--threads"), max_threads));
       }},
      {"--limit", [](Options& o, const std::string& v) { o.limit = parse_number(v, "--limit"); }},
  };
  return setters;
}

}  // namespace

u64 parse_number(const std::string& text, const char* what) {
  u64 value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end)
    fail(std::string(what) + ": '" + text + "' is no whole number from 0 to 2^64 - 1");
  return value;
}

Options parse_options(int count, char** words) {
  if (count < 2) fail("no command (--help tells more)");
  Options options;
  options.command = words[1];
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    if (!word.starts_with("--")) {
      if (!options.file.empty()) fail("'" + word + "': there is a file already");
      options.file = word;
      continue;
    }
    const std::size_t equals = word.find('=');
    const auto setter = setters().find(word.substr(0, equals));
    if (setter == setters().end()) fail("'" + word + "' is no option (--help lists them)");
    if (equals != std::string::npos) {
      setter->second(options, word.substr(equals + 1));
    } else {
      if (++i == count) fail("'" + word + "' lacks a value");
      setter->second(options, words[i]);
    }
  }
  if (options.file.empty()) fail("no file (--help tells more)");
  return options;
}

}  // namespace instinct::cli
