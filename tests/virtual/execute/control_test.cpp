// Branches, calls, ends.
#include "machine.h"

namespace instinct {
namespace {

const std::vector<std::string> others = {"s_nop 0", "s_nop 0", "s_nop 0"};

// A program that begins with `text`.
struct Start {
  explicit Start(const std::string& text, Checks checks = Checks::none())
      : m(Target::gfx942, checks, 1, {text, others[0], others[1], others[2]}) {}
  // The index of the instruction that follows.
  u32 next() {
    m.step(0);
    return m.wave().next->index;
  }
  Machine m;
};

struct Flags {
  bool scc = false;
  u64 vcc = 0;
  u64 exec = 0;
};

u32 next_after(const std::string& text, const Flags& flags) {
  Start start(text);
  start.m.wave().scc = flags.scc;
  start.m.set_s64(vcc_register, flags.vcc);
  start.m.wave().set_exec(flags.exec);
  return start.next();
}

TEST(Control, Branches) {
  const Flags none, all{true, u64{1} << 63, u64{1} << 40};
  for (const Flags& flags : {none, all}) EXPECT_EQ(next_after("s_branch 1", flags), 2u);
  const std::pair<const char*, bool> cases[] = {
      {"s_cbranch_scc0", false}, {"s_cbranch_scc1", true},   {"s_cbranch_vccz", false},
      {"s_cbranch_vccnz", true}, {"s_cbranch_execz", false}, {"s_cbranch_execnz", true}};
  for (const auto& [name, if_set] : cases) {
    const std::string text = name + std::string(" 2");
    EXPECT_EQ(next_after(text, all), if_set ? 3u : 1u) << name;
    EXPECT_EQ(next_after(text, none), if_set ? 1u : 3u) << name;
  }
}

TEST(Control, Calls) {
  Start get("s_getpc_b64 s[4:5]");
  EXPECT_EQ(get.next(), 1u);
  EXPECT_EQ(get.m.s64(4), 4u);
  Start set("s_setpc_b64 s[4:5]");
  set.m.set_s64(4, 12);
  EXPECT_EQ(set.next(), 3u);
  Start swap("s_swappc_b64 s[4:5], s[4:5]");  // reads before it writes
  swap.m.set_s64(4, 8);
  EXPECT_EQ(swap.next(), 2u);
  EXPECT_EQ(swap.m.s64(4), 4u);
  Start call("s_call_b64 s[6:7], 1");
  EXPECT_EQ(call.next(), 2u);
  EXPECT_EQ(call.m.s64(6), 4u);
}

TEST(Control, TargetsOutsideTheCode) {
  const auto fault_of = [](const char* text, u64 target) {
    Start start(text);
    start.m.set_s64(4, target);
    return start.m.fault_of_step(0);
  };
  EXPECT_EQ(fault_of("s_branch 100", 0), Fault::bad_program_counter);
  EXPECT_EQ(fault_of("s_call_b64 s[6:7], 65000", 0), Fault::bad_program_counter);
  EXPECT_EQ(fault_of("s_setpc_b64 s[4:5]", 1 << 20), Fault::bad_program_counter);
  EXPECT_EQ(fault_of("s_setpc_b64 s[4:5]", 6),
            Fault::bad_program_counter);  // within an instruction
  EXPECT_EQ(fault_of("s_swappc_b64 s[6:7], s[4:5]", 1 << 20), Fault::bad_program_counter);
  EXPECT_EQ(fault_of("s_setpc_b64 s[4:5]", 8), std::nullopt);
}

TEST(Control, UndefinedConditions) {
  Checks checks = Checks::none();
  checks.undefined = true;
  for (const char* text : {"s_cbranch_scc1 1", "s_setpc_b64 s[4:5]", "s_cbranch_vccz 1"}) {
    Start start(text, checks);
    start.m.wave().scc_undefined = true;
    EXPECT_EQ(start.m.fault_of_step(0), Fault::undefined_value) << text;
  }
}

TEST(Control, States) {
  const auto state_after = [](const char* text) {
    Start start(text);
    start.m.step(0);
    return start.m.wave().state;
  };
  EXPECT_EQ(state_after("s_endpgm"), Wave::State::ended);
  EXPECT_EQ(state_after("s_endpgm_saved"), Wave::State::ended);
  EXPECT_EQ(state_after("s_barrier"), Wave::State::at_barrier);
  EXPECT_EQ(Start("s_trap 2").m.fault_of_step(0), Fault::unsupported);
}

}  // namespace
}  // namespace instinct
