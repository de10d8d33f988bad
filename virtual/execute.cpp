#include "virtual/execute.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "virtual/model.h"
#include "virtual/opcode.h"
#include "virtual/workgroup.h"

namespace instinct {
namespace {

constexpr u32 thread_limit = 1024;
constexpr u32 dynamic_stack = 16 << 10;  // bytes for each lane, where the compiler knows no bound

// What a queue entry says of the grid ("HSA Platform System Architecture", kernel dispatch packet).
struct DispatchPacket {
  u16 header, setup, workgroup[3], reserved0;
  u32 grid[3], private_bytes, group_bytes;
  u64 kernel_object, kernarg, reserved2, completion_signal;
};
static_assert(sizeof(DispatchPacket) == 64);

DispatchPacket make_packet(const Launch& launch, u32 lds, u64 kernarg) {
  DispatchPacket packet{};
  packet.header = 2;  // kernel dispatch
  packet.setup = 3;   // dimensions
  const Dim3 &grid = launch.grid, &block = launch.block;
  packet.workgroup[0] = static_cast<u16>(block.x);
  packet.workgroup[1] = static_cast<u16>(block.y);
  packet.workgroup[2] = static_cast<u16>(block.z);
  packet.grid[0] = grid.x * block.x;
  packet.grid[1] = grid.y * block.y;
  packet.grid[2] = grid.z * block.z;
  packet.private_bytes = launch.kernel.descriptor.scratch_bytes;
  packet.group_bytes = lds;
  packet.kernarg = kernarg;
  return packet;
}

[[noreturn]] void reject(const Launch& launch, const std::string& what) {
  throw Error(Error::Kind::invalid_value, launch.kernel.name + ": " + what);
}

void check_launch(const Launch& launch, u32 lds) {
  const u64 threads = launch.block.count();
  const u32 most = std::min(launch.kernel.max_threads, thread_limit);
  if (threads == 0 || threads > most) {
    reject(launch, "a block of " + std::to_string(threads) + " threads; the kernel takes 1 to " +
                       std::to_string(most));
  }
  if (launch.grid.count() == 0) reject(launch, "the grid is empty");
  if (lds > lds_limit(launch.object.target())) {
    reject(launch, std::to_string(lds) + " bytes of LDS; " + name_of(launch.object.target()) +
                       " has " + std::to_string(lds_limit(launch.object.target())));
  }
  if (launch.kernarg.size() < launch.kernel.descriptor.kernarg_bytes) {
    reject(launch, std::to_string(launch.kernarg.size()) +
                       " bytes of arguments; the kernel takes " +
                       std::to_string(launch.kernel.descriptor.kernarg_bytes));
  }
}

// Workgroups are taken from a counter by as many threads as there are.
class Runner {
 public:
  explicit Runner(const LaunchState& state) : state_(state) {}

  void run(u32 threads) {
    std::vector<std::thread> others;
    for (u32 i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    work();
    for (std::thread& other : others) other.join();
    if (error_) std::rethrow_exception(error_);
  }

  std::optional<Report> report;
  std::vector<u64> counts;
  std::vector<Trace> traces;  // of the first workgroups; sized by who wants them

 private:
  void work() {
    try {
      Workgroup group(state_);
      run_some(group);
      const std::lock_guard lock(mutex_);
      counts.resize(group.counts.size());
      for (size_t i = 0; i < counts.size(); ++i) counts[i] += group.counts[i];
    } catch (const Stop& stop) {
      fail([&] {
        if (!report) report = stop.report;
      });
    } catch (...) {
      fail([&] { error_ = std::current_exception(); });
    }
  }

  void run_some(Workgroup& group) {
    const Dim3& grid = state_.launch.grid;
    const u64 total = grid.count();
    while (!stopped_.load(std::memory_order_relaxed)) {
      const u64 i = next_.fetch_add(1);
      if (i >= total) return;
      group.trace = i < traces.size() ? &traces[i] : nullptr;
      if (group.trace) group.trace->assign(state_.waves, {});
      group.run(static_cast<u32>(i % grid.x), static_cast<u32>(i / grid.x % grid.y),
                static_cast<u32>(i / grid.x / grid.y));
    }
  }

  template <class F>
  void fail(F note) {
    stopped_ = true;
    const std::lock_guard lock(mutex_);
    note();
  }

  const LaunchState& state_;
  std::atomic<u64> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

u32 thread_count(const Launch& launch) {
  const u32 wanted = launch.threads > 0 ? static_cast<u32>(launch.threads)
                                        : std::max(1u, std::thread::hardware_concurrency());
  return static_cast<u32>(std::min<u64>(wanted, launch.grid.count()));
}

void add_code(const CodeObject& object, std::vector<Allocation>& internal) {
  for (const Segment& segment : object.segments()) {
    internal.push_back({.base = segment.address,
                        .size = segment.size,
                        .kind = Allocation::Kind::code,
                        .writable = segment.writable});
  }
}

}  // namespace

u32 lds_limit(Target target) { return (target == Target::gfx950 ? 160u : 64u) << 10; }

std::optional<Report> execute(const Launch& launch) {
  const KernelDescriptor& descriptor = launch.kernel.descriptor;
  const u32 lds = descriptor.lds_bytes + launch.dynamic_lds;
  check_launch(launch, lds);
  const Program& program =
      launch.object.program([](const CodeObject& object) { return Program::decode(object); });
  if (!program.at(launch.kernel.entry)) reject(launch, "its entry is not in the code");

  // Kernels may read a little behind their arguments.
  std::vector<std::byte> kernarg(std::max<size_t>(launch.kernarg.size(), 64) + 64);
  if (!launch.kernarg.empty()) {
    std::memcpy(kernarg.data(), launch.kernarg.data(), launch.kernarg.size());
  }
  const u64 kernarg_address = (reinterpret_cast<u64>(kernarg.data()) + 63) & ~u64{63};
  std::memmove(reinterpret_cast<void*>(kernarg_address), kernarg.data(), launch.kernarg.size());
  const DispatchPacket packet = make_packet(launch, lds, kernarg_address);

  LaunchState state{.launch = launch, .program = program, .map = launch.memory.map()};
  state.checks = launch.checks;
  state.target = launch.object.target();
  state.waves = static_cast<u32>((launch.block.count() + wave_lanes - 1) / wave_lanes);
  state.lds_bytes = lds;
  state.scratch_bytes =
      descriptor.scratch_bytes + (descriptor.uses_dynamic_stack() ? dynamic_stack : 0);
  state.kernarg = kernarg_address;
  state.dispatch_packet = reinterpret_cast<u64>(&packet);
  state.instruction_limit = launch.instruction_limit ? launch.instruction_limit : u64{1} << 36;
  const auto add = [&](u64 base, u64 size) {
    state.internal.push_back(
        {.base = base, .size = size, .kind = Allocation::Kind::process, .writable = false});
  };
  add(kernarg_address, std::max<size_t>(launch.kernarg.size(), 64));
  add(state.dispatch_packet, sizeof(packet));
  add_code(launch.object, state.internal);

  Runner runner(state);
  if (launch.profile) {
    runner.traces.resize(std::min<u64>(resident_workgroups(state), launch.grid.count()));
  }
  runner.run(thread_count(launch));
  if (launch.profile && !runner.report) {
    fill_profile(state, runner.counts, runner.traces, *launch.profile);
  }
  return runner.report;
}

}  // namespace instinct
