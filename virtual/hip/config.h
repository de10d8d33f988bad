// What the environment and wavefireVirtualSet... decide.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "virtual/execute.h"
#include "virtual/types.h"

namespace instinct::hip {

// The variables are described in docs/virtual_instinct.md.
struct Config {
  u64 memory_bytes = 0;                    // WAVEFIRE_VIRTUAL_MEMORY, of each device
  std::atomic<bool> log = false;           // WAVEFIRE_VIRTUAL_LOG
  std::atomic<bool> quiet = false;         // WAVEFIRE_VIRTUAL_QUIET: no reports on stderr
  std::atomic<bool> deferred = false;      // WAVEFIRE_VIRTUAL_STREAMS=deferred
  std::atomic<bool> host_memory = false;   // WAVEFIRE_VIRTUAL_HOST_MEMORY=any
  std::atomic<int> threads = 0;            // WAVEFIRE_VIRTUAL_THREADS
  std::atomic<u64> seed = 0;               // WAVEFIRE_VIRTUAL_SEED
  std::atomic<u64> instruction_limit = 0;  // WAVEFIRE_VIRTUAL_LIMIT
  std::string error;                       // why the environment was not understood

  Checks checks() const;
  void set_checks(const Checks& checks);

  // Of a list with commas. The first list counts, and WAVEFIRE_VIRTUAL_DEVICES comes first. False
  // if the devices have been taken already. Throws Error for an unknown one.
  bool set_devices(std::string_view list);
  // For the runtime, once. Without a list: gfx942.
  std::vector<Target> take_devices();

 private:
  mutable std::mutex mutex_;
  std::vector<Target> devices_;
  bool devices_are_taken_ = false;
  Checks checks_;  // WAVEFIRE_VIRTUAL_CHECKS
};

Config& config();

}  // namespace instinct::hip
