// The main of tests that run on any device (test_device.h).
#include <gtest/gtest.h>

#include <cstdio>

#include "cases/test_device.h"

int main(int argc, char** argv) {
  constexpr int skipped = 77;  // SKIP_RETURN_CODE of the runs on GPUs
  ::testing::InitGoogleTest(&argc, argv);
  const char* name = std::getenv("WAVEFIRE_TEST_DEVICE");
  const std::string device = name != nullptr ? name : "cpu";
  const std::string kind = device.substr(0, device.find(':'));
  if (kind != "cpu") {
    const std::string reason = wavefire::why_no_driver(kind);
    if (!reason.empty()) {
      std::fprintf(stderr, "not run on %s: %s\n", name, reason.c_str());
      return skipped;
    }
  }
  return RUN_ALL_TESTS();
}
