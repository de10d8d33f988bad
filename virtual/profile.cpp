#include "virtual/profile.h"

#include <algorithm>

#include "virtual/model.h"
#include "virtual/opcode.h"

namespace instinct {

const char* name_of(Unit unit) {
  switch (unit) {
    case Unit::salu: return "scalar";
    case Unit::branch: return "branch";
    case Unit::scalar_memory: return "scalar memory";
    case Unit::valu: return "vector";
    case Unit::transcendental: return "transcendental";
    case Unit::matrix: return "matrix";
    case Unit::lds: return "LDS";
    case Unit::vector_memory: return "vector memory";
    case Unit::other: return "other";
  }
  return "";
}

u64 UnitCounts::total() const {
  u64 sum = 0;
  for (const u64 count : executed) sum += count;
  return sum;
}

double Cycles::matrix_share() const {
  return total ? static_cast<double>(busy[static_cast<int>(Unit::matrix)]) / total : 0;
}

std::string Profile::text() const {
  std::string out = kernel + ": " + std::to_string(instructions) + " instructions of " +
                    std::to_string(waves) + " waves\n";
  for (int i = 0; i < kUnits; ++i) {
    if (!counts.executed[i]) continue;
    out += "  " + std::string(name_of(static_cast<Unit>(i))) + " " +
           std::to_string(counts.executed[i]) + "\n";
  }
  return out;
}

void fill_profile(const LaunchState& state, const std::vector<u64>& executed, Profile& profile) {
  profile = {};
  profile.kernel = state.launch.kernel.name;
  profile.waves = state.launch.grid.count() * state.waves;
  profile.executed = executed;
  for (size_t i = 0; i < executed.size(); ++i) {
    const Opcode* opcode = state.program.instructions()[i].opcode;
    if (!opcode) continue;
    profile.counts.executed[static_cast<int>(opcode->unit)] += executed[i];
    profile.instructions += executed[i];
  }
}

}  // namespace instinct
