// The bundle: kernels that were compiled with the library, in one file beside it.
//
//   a line "wavefire bundle 2 COUNT", then COUNT lines "ID OFFSET BYTES SIZE", then the entries,
//   encoded as in the cache and compressed from SIZE to BYTES; offsets are from the start of the
//   file
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generate/cache.h"
#include "generate/spec.h"

namespace wavefire::generate {

class Bundle {
 public:
  /// Without such a file it is empty; one that is no bundle is logged and empty.
  explicit Bundle(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  /// The entry of a kernel (`kernel_id`); nothing if there is none or it is broken.
  std::optional<Entry> load(const std::string& id) const;
  std::vector<std::string> ids() const;

 private:
  struct Place {
    std::uint64_t offset = 0, bytes = 0, size = 0;
  };
  std::filesystem::path path_;
  std::map<std::string, Place> places_;
};

/// The one of this library: kernels.bundle in its folder. Kernels of other headers than the
/// library's have other ids, so an old file is never used.
const Bundle& built_in();

/// The kernels that a list names, for `architectures`. A line such as "norm:kind=layer" is for each
/// of them, one that names an architecture for that one; sm90a goes with sm90. "ptx" stands for
/// PTX of every kernel that has it, for the oldest GPU that takes it: compute80 or, of lines that
/// name sm90, compute90. '#' begins a comment.
std::vector<KernelSpec> specs_of_list(const std::string& list,
                                      std::span<const std::string_view> architectures);

/// Throws `Error` (compile) if a compiled kernel keeps anything in local memory, or more than is
/// known of it: those that are built in must not, since it would pass by the tests.
void require_registers_only(const KernelSpec& spec, std::string_view object);

/// Writes a bundle of entries with their ids.
void write_bundle(const std::filesystem::path& path, const std::map<std::string, Entry>& entries);

}  // namespace wavefire::generate
