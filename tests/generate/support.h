// What the tests of the generator share.
#pragma once

#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "wavefire/compile.h"
#include "wavefire/config.h"

namespace wavefire::generate {

/// An empty cache of the test's own, in force as long as this lives.
class TestCache {
 public:
  TestCache() : before_(config()) {
    std::string pattern = std::filesystem::temp_directory_path() / "wavefire_cache.XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root_ = pattern;
    Config changed = before_;
    changed.cache_dir = folder();
    set_config(changed);
  }
  TestCache(const TestCache&) = delete;
  TestCache& operator=(const TestCache&) = delete;
  ~TestCache() {
    set_config(before_);
    std::filesystem::remove_all(root_);
  }

  std::filesystem::path folder() const { return root_ / "kernels"; }
  int count(const std::string& part) const {
    int found = 0;
    if (!std::filesystem::exists(folder())) return 0;
    for (const auto& file : std::filesystem::directory_iterator(folder())) {
      if (file.path().filename().string().find(part) != std::string::npos) ++found;
    }
    return found;
  }

 private:
  Config before_;
  std::filesystem::path root_;
};

/// Counts the compilations that start as long as it lives.
class CompileCounter {
 public:
  CompileCounter() {
    set_compile_observer([this](const CompileEvent& event) {
      if (event.stage == CompileEvent::Stage::started) ++count_;
    });
  }
  CompileCounter(const CompileCounter&) = delete;
  CompileCounter& operator=(const CompileCounter&) = delete;
  ~CompileCounter() { set_compile_observer({}); }

  int count() const { return count_; }

 private:
  std::atomic<int> count_ = 0;
};

}  // namespace wavefire::generate
