// --level=<name>: which level of the CPU the handlers are taken from. Unless the tests are
// filtered, an instruction that none of them runs is a failure.
#include <gtest/gtest.h>

#include <string_view>

#include "machine.h"
#include "virtual/opcode.h"

namespace instinct {
namespace {

class EveryOpcodeIsTested : public testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    for (const Target target : {Target::gfx942, Target::gfx950}) {
      for (const Opcode* opcode : all_opcodes(target)) {
        if (!tested_opcodes().contains(opcode)) {
          ADD_FAILURE() << "no test runs " << opcode->name << " on " << name_of(target);
        }
      }
    }
  }
};

}  // namespace
}  // namespace instinct

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--level=")) instinct::choose_level(argument.substr(8));
  }
  testing::AddGlobalTestEnvironment(new instinct::EveryOpcodeIsTested);
  return RUN_ALL_TESTS();
}
