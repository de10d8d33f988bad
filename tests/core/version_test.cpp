#include "wavefire/version.h"

#include <gtest/gtest.h>

#include <regex>

namespace {

TEST(Version, IsMajorMinorPatch) {
  EXPECT_TRUE(std::regex_match(wavefire::version(), std::regex(R"(\d+\.\d+\.\d+)")));
}

}  // namespace
