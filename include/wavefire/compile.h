// Compilation of kernels at run time, as seen from outside.
#pragma once

#include <functional>
#include <string>

namespace wavefire {

struct CompileEvent {
  enum class Stage { started, finished, failed };
  Stage stage = Stage::started;
  std::string kernel;    // its name: "norm.avx2:kind=rms,..."
  std::string compiler;  // "/usr/bin/g++ (g++ 12.2.0)"
  double seconds = 0;    // since it started
};

using CompileObserver = std::function<void(const CompileEvent& event)>;

/// Calls `observer` when a compilation starts and when it ends, on the thread that waits for it; an
/// empty one (the default) hears nothing. For showing progress: compilations take seconds.
void set_compile_observer(CompileObserver observer);

}  // namespace wavefire
