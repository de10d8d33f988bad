// How a HIP function fails: exceptions inside, codes outside.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "virtual/hip/hip_types.h"
#include "virtual/types.h"

namespace instinct::hip {

// Ends the current HIP function with a code.
class Failure : public std::runtime_error {
 public:
  Failure(hipError_t code, const std::string& what) : std::runtime_error(what), code_(code) {}
  hipError_t code() const { return code_; }

 private:
  hipError_t code_;
};

inline void require(bool condition, const char* what, hipError_t code = hipErrorInvalidValue) {
  if (!condition) throw Failure(code, what);
}

hipError_t code_of(Error::Kind kind);

// An address or a handle as errors write it: 0x7f...
std::string hex(u64 address);

// What hipGetLastError and wavefireVirtualLastError tell the calling thread.
struct LastError {
  hipError_t code = hipSuccess;
  std::string text;
};
LastError& last_error();

// Keeps an error for the calling thread, and writes it to stderr if WAVEFIRE_VIRTUAL_LOG is set.
hipError_t remember(hipError_t code, const char* function, const char* what);

// The body of a HIP function. It returns nothing, or a code that is no error (hipErrorNotReady).
template <class Body>
hipError_t call(const char* function, Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return hipSuccess;
    } else {
      return body();
    }
  } catch (const Failure& failure) {
    return remember(failure.code(), function, failure.what());
  } catch (const Error& error) {
    return remember(code_of(error.kind()), function, error.what());
  } catch (const std::bad_alloc&) {
    return remember(hipErrorOutOfMemory, function, "the host has no more memory");
  } catch (const std::exception& error) {
    return remember(hipErrorUnknown, function, error.what());
  }
}

}  // namespace instinct::hip
