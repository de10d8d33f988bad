#include "virtual/opcode.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>

namespace instinct {

// One of these for each level of the CPU for which the handlers were compiled.
#ifdef INSTINCT_WITH_base
namespace base {
void register_handlers();
}
#endif
#ifdef INSTINCT_WITH_avx2
namespace avx2 {
void register_handlers();
}
#endif
#ifdef INSTINCT_WITH_avx512
namespace avx512 {
void register_handlers();
}
#endif

namespace {

struct Table {
  std::vector<Opcode> opcodes;
  std::unordered_map<std::string_view, u32> by_name[2];
};

Table& table() {
  static Table instance;
  return instance;
}

struct Level {
  std::string_view name;
  bool runs;
  void (*register_handlers)();
};

std::vector<Level> levels() {
  std::vector<Level> all;
#ifdef INSTINCT_WITH_base
  all.push_back({"base", true, &base::register_handlers});
#endif
#ifdef INSTINCT_WITH_avx2
  all.push_back({"avx2",
                 __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                     __builtin_cpu_supports("bmi2"),
                 &avx2::register_handlers});
#endif
#ifdef INSTINCT_WITH_avx512
  all.push_back({"avx512",
                 __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
                 &avx512::register_handlers});
#endif
  std::erase_if(all, [](const Level& level) { return !level.runs; });
  return all;
}

std::string& chosen_level() {
  static std::string name;
  return name;
}

void register_level() {
  const std::vector<Level> all = levels();
  for (const Level& level : all) {
    if (level.name == chosen_level()) return level.register_handlers();
  }
  all.back().register_handlers();
}

const Table& filled_table() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_level();
    Table& all = table();
    for (u32 i = 0; i < all.opcodes.size(); ++i) {
      for (u32 target = 0; target < 2; ++target) {
        if (all.opcodes[i].targets >> target & 1) {
          all.by_name[target][all.opcodes[i].name] = i;
        }
      }
    }
  });
  return table();
}

}  // namespace

std::vector<std::string_view> runnable_levels() {
  std::vector<std::string_view> names;
  for (const Level& level : levels()) names.push_back(level.name);
  return names;
}

void choose_level(std::string_view level) { chosen_level() = level; }

void register_opcode(const Opcode& opcode) { table().opcodes.push_back(opcode); }

const Opcode* find_opcode(std::string_view mnemonic, Target target) {
  const Table& all = filled_table();
  const auto& names = all.by_name[target == Target::gfx950];
  const auto found = names.find(mnemonic);
  return found == names.end() ? nullptr : &all.opcodes[found->second];
}

std::vector<const Opcode*> all_opcodes(Target target) {
  std::vector<const Opcode*> result;
  for (const auto& [name, i] : filled_table().by_name[target == Target::gfx950]) {
    result.push_back(&table().opcodes[i]);
  }
  std::ranges::sort(result, {}, &Opcode::name);
  return result;
}

}  // namespace instinct
