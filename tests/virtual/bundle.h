// Offload bundles of compiled kernels, as clang-offload-bundler lays them out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "support.h"

namespace instinct {

// Of tests/virtual/kernels/loading.hip, for these targets.
inline std::vector<std::byte> bundle_of(const std::vector<Target>& targets) {
  std::string bundle = "__CLANG_OFFLOAD_BUNDLE__";
  const auto add = [&](u64 value) { bundle.append(reinterpret_cast<const char*>(&value), 8); };
  std::string content;
  const u64 start = 4096;
  add(targets.size() + 1);
  const auto entry = [&](const std::string& triple, const std::string& file) {
    add(start + content.size());
    add(file.size());
    add(triple.size());
    bundle += triple;
    content += file;
  };
  entry("host-x86_64-unknown-linux-gnu-", "");
  for (const Target target : targets) {
    const auto file = read_kernels("loading", target);
    entry(std::string("hipv4-amdgcn-amd-amdhsa--") + name_of(target) + ":sramecc+:xnack-",
          {reinterpret_cast<const char*>(file.data()), file.size()});
  }
  bundle.resize(start);
  bundle += content;
  const auto bytes = std::as_bytes(std::span(bundle));
  return {bytes.begin(), bytes.end()};
}

}  // namespace instinct
