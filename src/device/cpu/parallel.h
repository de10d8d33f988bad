// Parallel loops on the threads that the process already has.
#pragma once

#include <cstdint>
#include <functional>

namespace wavefire::cpu {

/// Threads that a loop may use now: of the OpenMP runtime that the process has mapped (so that a
/// framework's thread settings hold), bounded by Config::num_threads. 1 inside a parallel region.
int thread_count();

/// Calls f(i) for every i in [0, count), spread over up to thread_count() threads. The first
/// exception is thrown again when all are done.
void parallel_for(int count, const std::function<void(int)>& f);

/// Splits [0, size) into contiguous parts of at least `grain` and calls f(begin, end) for each.
void parallel_ranges(std::int64_t size, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& f);

}  // namespace wavefire::cpu
