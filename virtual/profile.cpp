#include "virtual/profile.h"

#include <algorithm>
#include <cstdio>

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
  const u64 matrix = busy[static_cast<int>(Unit::matrix)];
  return total ? static_cast<double>(matrix) / static_cast<double>(total) : 0;
}

namespace {

using Text = std::string;

template <class... Args>
Text format(const char* pattern, Args... args) {
  char line[256];
  std::snprintf(line, sizeof(line), pattern, args...);
  return line;
}

double percent(u64 part, u64 whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Text table(const UnitCounts& counts, const Cycles& cycles) {
  Text out = format("    %-16s %14s %8s %10s\n", "", "instructions", "share", "unit busy");
  const u64 total = counts.total();
  for (int i = 0; i < unit_count; ++i) {
    if (!counts.executed[i]) continue;
    out += format("    %-16s %14llu %7.1f%%", name_of(static_cast<Unit>(i)),
                  static_cast<unsigned long long>(counts.executed[i]),
                  percent(counts.executed[i], total));
    if (cycles.total && static_cast<Unit>(i) != Unit::other) {
      out += format(" %9.1f%%", percent(cycles.busy[i], cycles.total));
    }
    out += "\n";
  }
  return out;
}

Text where_time_goes(const Cycles& c) {
  Text out = format("    %llu cycles; a wave issues in %.1f%% of them\n",
                    static_cast<unsigned long long>(c.total), percent(c.issuing, c.total));
  out += format(
      "    else waiting for: memory %.1f%%, LDS %.1f%%, barriers %.1f%%, results %.1f%%, a "
      "busy unit %.1f%%\n",
      percent(c.waiting_memory, c.total), percent(c.waiting_lds, c.total),
      percent(c.waiting_barrier, c.total), percent(c.waiting_result, c.total),
      percent(c.waiting_unit, c.total));
  if (c.busy[static_cast<int>(Unit::matrix)]) {
    out +=
        format("    predicted share of peak (matrix unit busy): %.1f%%\n", 100 * c.matrix_share());
  }
  return out;
}

}  // namespace

std::string Profile::text() const {
  Text out =
      format("%s: %llu instructions of %llu waves\n", kernel.c_str(),
             static_cast<unsigned long long>(instructions), static_cast<unsigned long long>(waves));
  out +=
      format("  whole kernel, modelled on a compute unit with %u workgroups, %u waves on a SIMD\n",
             workgroups_modelled, waves_per_simd);
  out += table(counts, cycles) + where_time_goes(cycles);
  if (!main_loop.iterations) return out;
  out += format("  main loop, %llx to %llx, %llu iterations of all waves\n",
                static_cast<unsigned long long>(main_loop.first),
                static_cast<unsigned long long>(main_loop.last),
                static_cast<unsigned long long>(main_loop.iterations));
  out += table(main_loop.counts, main_loop.cycles);
  if (main_loop.cycles.total) out += where_time_goes(main_loop.cycles);
  return out + "  cycles are those of a model, not of a machine\n";
}

namespace {

u64 executed_in(const std::vector<u64>& executed, u32 first, u32 last) {
  u64 sum = 0;
  for (u32 i = first; i <= last; ++i) sum += executed[i];
  return sum;
}

// Backward branches that were taken make loops. The main one is the busiest of those in which no
// other loop does most of the work.
LoopRange find_main_loop(const Program& program, const std::vector<u64>& executed) {
  std::vector<LoopRange> loops;
  for (const Instruction& in : program.instructions()) {
    if (in.target < 0 || in.target > in.index || !executed[in.index]) continue;
    loops.push_back({static_cast<u32>(in.target), in.index});
  }
  const auto work = [&](const LoopRange& loop) {
    return executed_in(executed, loop.first, loop.last);
  };
  LoopRange best;
  u64 most = 0;
  for (const LoopRange& loop : loops) {
    const u64 all = work(loop);
    const bool outer = std::ranges::any_of(loops, [&](const LoopRange& other) {
      const bool within = other.first >= loop.first && other.last <= loop.last;
      const bool same = other.first == loop.first && other.last == loop.last;
      return within && !same && 2 * work(other) > all;
    });
    if (!outer && all > most) {
      best = loop;
      most = all;
    }
  }
  return best;
}

void count(const Program& program, const std::vector<u64>& executed, u32 first, u32 last,
           UnitCounts& counts) {
  for (u32 i = first; i <= last; ++i) {
    const Opcode* opcode = program.instructions()[i].opcode;
    if (opcode) counts.executed[static_cast<int>(opcode->unit)] += executed[i];
  }
}

}  // namespace

void fill_profile(const LaunchState& state, const std::vector<u64>& executed,
                  const std::vector<Trace>& traces, Profile& profile) {
  const Program& program = state.program;
  profile = {};
  profile.kernel = state.launch.kernel.name;
  profile.waves = state.launch.grid.count() * state.waves;
  profile.executed = executed;
  if (executed.empty()) return;
  count(program, executed, 0, static_cast<u32>(executed.size() - 1), profile.counts);
  profile.instructions = profile.counts.total();
  const LoopRange loop = find_main_loop(program, executed);
  if (!loop.empty()) {
    const auto& all = program.instructions();
    profile.main_loop.first = state.launch.object.file_address(all[loop.first].address);
    profile.main_loop.last = state.launch.object.file_address(all[loop.last].address);
    profile.main_loop.iterations = executed[loop.last];
    count(program, executed, loop.first, loop.last, profile.main_loop.counts);
  }
  profile.workgroups_modelled = static_cast<u32>(traces.size());
  profile.waves_per_simd = (profile.workgroups_modelled * state.waves + 3) / 4;
  const ModelResult result = simulate(program, traces, loop);
  profile.cycles = result.whole;
  profile.main_loop.cycles = result.loop;
}

}  // namespace instinct
