// --level=<name>: which level of the CPU the handlers are taken from.
#include <gtest/gtest.h>

#include <string_view>

#include "virtual/opcode.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--level=")) instinct::choose_level(argument.substr(8));
  }
  return RUN_ALL_TESTS();
}
