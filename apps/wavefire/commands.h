// The commands of `wavefire`. Each takes what stands behind its name and returns an exit status.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace wavefire::cli {

using Arguments = std::span<const std::string_view>;

/// A command line that is not understood: shown with a hint to the help; status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

int doctor(Arguments arguments);
int kernels(Arguments arguments);
int cache(Arguments arguments);
int compile(Arguments arguments);
int bundle(Arguments arguments);

/// "12.3 KiB"
std::string bytes_text(double bytes);

}  // namespace wavefire::cli
