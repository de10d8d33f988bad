// A libcuda for tests of what happens around a driver: it has the functions that Wavefire looks up,
// GPUs whose capability and memory a test chooses, and executes nothing. Tests link to it, so that
// it is the copy that their process has mapped, whatever the machine has.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fake_cuda {

struct Gpu {
  int capability = 90;
  std::size_t memory_bytes = 0;
  std::size_t used_bytes = 0;
};

struct Launch {
  std::string kernel;
  int gpu = 0;
};

struct Driver {
  std::vector<Gpu> gpus;
  int init_status = 0;
  int ptx_status = 0;  // of loading PTX
  int launch_status = 0;
  std::vector<Launch> launches;  // since a test cleared them
};

/// The one that the functions work on.
Driver& driver();

}  // namespace fake_cuda
