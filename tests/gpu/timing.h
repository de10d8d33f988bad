// Times by device events, and the ceilings of memory.
#pragma once

#include <algorithm>
#include <vector>

#include "gpu/driver.h"
#include "tile/target.h"

namespace wavefire::gpu {

/// Median milliseconds of `f`, which launches something, over `repeats` runs after two unmeasured
/// ones.
template <class F>
double median_ms(F&& f, int repeats = 15) {
  CUevent begin, end;
  WF_MUST(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  WF_MUST(cuEventCreate(&end, CU_EVENT_DEFAULT));
  std::vector<float> times;
  for (int i = -2; i < repeats; ++i) {
    WF_MUST(cuEventRecord(begin, nullptr));
    f();
    WF_MUST(cuEventRecord(end, nullptr));
    WF_MUST(cuEventSynchronize(end));
    float ms = 0;
    WF_MUST(cuEventElapsedTime(&ms, begin, end));
    if (i >= 0) times.push_back(ms);
  }
  cuEventDestroy(begin);
  cuEventDestroy(end);
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

/// TB/s.
inline double rate(double bytes, double ms) { return bytes / ms * 1e-9; }

struct StreamParams {
  const void* from;
  void* to;
  i64 count;  // of 16 bytes
};

/// The fastest of some grids reading (or copying) `bytes`: TB/s, of a copy read and written.
inline double stream_rate(const Module& module, const char* kernel, const Buffer& from,
                          const Buffer& to, std::size_t bytes, int multiprocessors) {
  const StreamParams params{from.as<void>(), to.as<void>(), static_cast<i64>(bytes / 16)};
  double best = 0;
  for (int blocks_each : {2, 4, 8, 16}) {
    const Launch launch{module.function(kernel),
                        static_cast<unsigned>(multiprocessors * blocks_each), 512};
    const double ms = median_ms([&] { launch(params); }, 7);
    best = std::max(best, rate(static_cast<double>(bytes), ms));
  }
  return best * (kernel[0] == 'c' ? 2 : 1);
}

}  // namespace wavefire::gpu
