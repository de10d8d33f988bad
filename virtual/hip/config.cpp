#include "virtual/hip/config.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace instinct::hip {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

[[noreturn]] void fail(const char* name, std::string_view value, const char* accepted) {
  throw Error(Error::Kind::invalid_value,
              std::string(name) + "='" + std::string(value) + "': accepted is " + accepted);
}

u64 number(const char* name, u64 otherwise) {
  const std::string_view text = variable(name);
  if (text.empty()) return otherwise;
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail(name, text, "a number");
  return value;
}

bool flag(const char* name) {
  const std::string_view text = variable(name);
  return !text.empty() && text != "0";
}

// One of two words; the second is true.
bool choice(const char* name, std::string_view no, std::string_view yes, const char* accepted) {
  const std::string_view text = variable(name);
  if (!text.empty() && text != no && text != yes) fail(name, text, accepted);
  return text == yes;
}

constexpr const char* devices_name = "WAVEFIRE_VIRTUAL_DEVICES";

std::vector<Target> parse_devices(std::string_view left) {
  std::vector<Target> targets;
  while (!left.empty()) {
    const std::string_view word = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), word.size() + 1));
    if (word == "gfx942") {
      targets.push_back(Target::gfx942);
    } else if (word == "gfx950") {
      targets.push_back(Target::gfx950);
    } else {
      fail(devices_name, word, "a list of gfx942 and gfx950, with commas");
    }
  }
  return targets;
}

u64 physical_memory() {
  return static_cast<u64>(sysconf(_SC_PHYS_PAGES)) * static_cast<u64>(sysconf(_SC_PAGE_SIZE));
}

void read(Config& config) {
  config.log = flag("WAVEFIRE_VIRTUAL_LOG");
  config.quiet = flag("WAVEFIRE_VIRTUAL_QUIET");
  const std::string_view devices = variable(devices_name);
  if (!devices.empty()) config.set_devices(devices);
  config.memory_bytes = number("WAVEFIRE_VIRTUAL_MEMORY", physical_memory());
  config.deferred =
      choice("WAVEFIRE_VIRTUAL_STREAMS", "eager", "deferred", "'eager' or 'deferred'");
  config.host_memory =
      choice("WAVEFIRE_VIRTUAL_HOST_MEMORY", "registered", "any", "'registered' or 'any'");
  config.threads = static_cast<int>(number("WAVEFIRE_VIRTUAL_THREADS", 0));
  config.seed = number("WAVEFIRE_VIRTUAL_SEED", 0);
  config.instruction_limit = number("WAVEFIRE_VIRTUAL_LIMIT", 0);
  const std::string_view checks = variable("WAVEFIRE_VIRTUAL_CHECKS");
  if (!checks.empty()) config.set_checks(Checks::parse(checks));
}

}  // namespace

Checks Config::checks() const {
  const std::lock_guard lock(mutex_);
  return checks_;
}

void Config::set_checks(const Checks& checks) {
  const std::lock_guard lock(mutex_);
  checks_ = checks;
}

bool Config::set_devices(std::string_view list) {
  std::vector<Target> targets = parse_devices(list);
  const std::lock_guard lock(mutex_);
  if (devices_are_taken_) return false;
  if (devices_.empty()) devices_ = std::move(targets);
  return true;
}

std::vector<Target> Config::take_devices() {
  const std::lock_guard lock(mutex_);
  devices_are_taken_ = true;
  if (devices_.empty()) devices_ = {Target::gfx942};
  return devices_;
}

Config& config() {
  static Config& config = *[] {
    auto* made = new Config;  // lives as long as the process: programs call HIP until the end
    try {
      read(*made);
    } catch (const Error& error) {
      made->error = error.what();
      made->log = true;
    }
    return made;
  }();
  return config;
}

}  // namespace instinct::hip
