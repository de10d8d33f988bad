// What the virtual Instinct offers beside HIP's functions. See docs/virtual_instinct.md.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "virtual/hip/hip_types.h"

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(readability-identifier-naming): named like HIP's functions.

// Why the last HIP function that failed on this thread did so, in one line. Valid until the next
// failure; empty if none failed.
const char* wavefireVirtualLastError(void);

// What the checks found: the text of the last report, empty if there is none (valid until the
// thread's next call), and how many there were in this process.
const char* wavefireVirtualLastReport(void);
uint64_t wavefireVirtualReportCount(void);

// The devices of this process, in order ("gfx942,gfx950"), unless WAVEFIRE_VIRTUAL_DEVICES or an
// earlier call named them. hipErrorIllegalState once there are devices: after any call of HIP's.
hipError_t wavefireVirtualSetDevices(const char* targets);

// For the launches that follow: which checks run ("all", "none", or names with commas: bounds,
// races, undefined, waits, hazards, barriers); in which order waves take turns (0: in order); on
// how many threads workgroups run (0: one for each core).
hipError_t wavefireVirtualSetChecks(const char* checks);
hipError_t wavefireVirtualSetSeed(uint64_t seed);
hipError_t wavefireVirtualSetThreads(int threads);

// Counts instructions and models cycles from now on (1) or not (0); the table of the last kernel
// that ran while it did (valid until the thread's next call).
hipError_t wavefireVirtualSetProfiling(int on);
const char* wavefireVirtualLastProfile(void);

// Like hipModuleLoadData, with the size of the image: one that is cut short is found out for sure.
hipError_t wavefireVirtualModuleLoad(hipModule_t* module, const void* image, size_t bytes);

// NOLINTEND(readability-identifier-naming)

#ifdef __cplusplus
}
#endif
