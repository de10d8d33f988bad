// BatchAttention: plan and run. Arguments are checked in attention_problem.cpp (plan) and
// attention_tensors.cpp (run).
#include "wavefire/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include "core/check.h"
#include "device/cpu/parallel.h"
#include "ops/attention_kernel.h"
#include "ops/attention_memory.h"
#include "ops/attention_problem.h"
#include "ops/attention_tensors.h"
#include "plan/attention_plan.h"

namespace wavefire {
namespace {

constexpr const char* operation = "attention";
constexpr const char* plan_operation = "attention plan";

/// Requests of few rows and of many go to different kernels (src/tune/attention.h).
constexpr std::size_t most_parts = 2;

/// The requests of a batch that one kernel takes.
struct Part {
  ops::AttentionKernel kernel;
  plan::AttentionPlan work;

  std::size_t partial_rows() const {
    return static_cast<std::size_t>(work.partial_rows * kernel.heads_per_item);
  }
};

/// What a run needs besides its tensors. Sizes in elements, scratch in bytes.
struct WorkspaceSizes {
  std::size_t joins = 0, partial_rows = 0, partial_values = 0, scratch = 0;

  std::size_t bytes() const {
    return joins * sizeof(i32) + (partial_rows + partial_values) * sizeof(float) + scratch;
  }
};

struct FreeAligned {
  void operator()(void* p) const { std::free(p); }
};

/// Memory of one run at a time: join counters (zero between runs), partial results, scratch.
struct Workspace {
  std::vector<i32> arrivals;
  std::vector<float> partial_o, partial_lse;
  std::unique_ptr<char, FreeAligned> scratch;
  std::size_t scratch_bytes = 0;

  void fit(const WorkspaceSizes& sizes) {
    const auto grow = [](auto& vector, std::size_t size) {
      if (vector.size() < size) vector.resize(size);
    };
    grow(arrivals, sizes.joins);
    grow(partial_o, sizes.partial_values);
    grow(partial_lse, sizes.partial_rows);
    if (scratch_bytes >= sizes.scratch) return;
    scratch.reset(static_cast<char*>(std::aligned_alloc(scratch_alignment, sizes.scratch)));
    scratch_bytes = scratch != nullptr ? sizes.scratch : 0;
    if (scratch == nullptr) {
      throw Error(ErrorKind::out_of_memory,
                  core::join(operation, ": no memory for ", sizes.scratch, " bytes of scratch"));
    }
    std::memset(scratch.get(), 0, sizes.scratch);
  }

  static constexpr std::size_t scratch_alignment = 64;
};

/// Runs may go on at the same time; each takes a workspace and puts it back.
class WorkspacePool {
 public:
  std::unique_ptr<Workspace> take(const WorkspaceSizes& sizes) {
    std::unique_ptr<Workspace> workspace;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        workspace = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (workspace == nullptr) workspace = std::make_unique<Workspace>();
    workspace->fit(sizes);
    return workspace;
  }
  void put_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

/// What the first plan fixes for the runs that graphs capture: kernels, and room for their work.
struct GraphLimits {
  struct PartLimits {
    ops::AttentionKernel kernel;
    std::size_t requests = 0;
    plan::Capacity work;
  };
  std::vector<PartLimits> parts;
};

/// All that plan() decides. Refilled from plan to plan, it allocates only to grow.
struct Plan {
  AttentionOptions options;
  ops::Place place;
  ops::AttentionBatch batch;
  std::array<Part, most_parts> parts;
  std::size_t part_count = 0;
  std::vector<float> rope_frequency, alibi;

  void distribute(const GraphLimits& limits);
  GraphLimits limits() const;
  void upload(ops::AttentionMemory& memory, const GraphLimits& limits) const;
  std::size_t scratch_stride() const;
  WorkspaceSizes sizes() const;

 private:
  Part& part_of(const ops::AttentionKernel& kernel);
  void assign_requests();
};

Part& Plan::part_of(const ops::AttentionKernel& kernel) {
  for (std::size_t i = 0; i < part_count; ++i) {
    if (parts[i].kernel == kernel) return parts[i];
  }
  Part& part = parts.at(part_count++);
  part.kernel = kernel;
  part.work.requests.clear();
  return part;
}

/// Requests to kernels.
void Plan::assign_requests() {
  const int group = options.num_qo_heads / options.num_kv_heads;
  Part* chosen = nullptr;
  i32 q_len = -1;  // for which it was chosen: neighbours tend to agree
  for (const attention::Request& request : batch.requests) {
    if (request.q_len != q_len) {
      q_len = request.q_len;
      chosen = &part_of(
          ops::attention_kernel(place, options, !batch.mask.empty(), std::int64_t{q_len} * group));
    }
    chosen->work.requests.push_back(request);
  }
}

/// Requests to kernels, work to workers.
void Plan::distribute(const GraphLimits& limits) {
  const int group = options.num_qo_heads / options.num_kv_heads;
  ops::require_lengths(batch, group);
  if (options.position_mode == PositionMode::rope_llama) ops::require_rotatable(batch, options);
  part_count = 0;
  for (const auto& part : limits.parts) part_of(part.kernel);
  assign_requests();
  const bool fixed = !limits.parts.empty();
  core::require(!fixed || part_count == limits.parts.size(), plan_operation, "qo_indptr",
                "lengths for another kernel",
                "lengths like those of the first plan, whose launches a graph has captured");
  for (std::size_t i = 0; i < part_count; ++i) {
    Part& part = parts[i];
    part.work.traits = {.num_kv_heads = options.num_kv_heads / part.kernel.heads_per_item,
                        .group = group,
                        .tile_rows = part.kernel.tile_rows,
                        .tile_kv = part.kernel.tile_kv,
                        .workers = part.kernel.workers,
                        .causal = options.causal ? 1 : 0,
                        .window_left = options.window_left,
                        .fixed_split_kv = options.fixed_split_kv,
                        .allow_split = options.allow_split ? 1 : 0,
                        .item_overhead = 1,
                        .row_overhead = part.kernel.row_overhead,
                        .deal_first = part.kernel.deals_units ? 1 : 0};
    if (fixed) {
      core::require(part.work.requests.size() <= limits.parts[i].requests, plan_operation,
                    "qo_indptr", core::join(part.work.requests.size(), " requests"),
                    core::join("up to ", limits.parts[i].requests, ", as in the first plan"));
    }
    plan::make_attention_plan(part.work, fixed ? &limits.parts[i].work : nullptr);
  }
}

GraphLimits Plan::limits() const {
  GraphLimits limits;
  for (std::size_t i = 0; i < part_count; ++i) {
    const Part& part = parts[i];
    limits.parts.push_back({part.kernel, part.work.requests.size(), plan::bounds_of(part.work)});
  }
  return limits;
}

/// Arrays of a plan on a GPU: these of each part, then those of the whole.
enum PartArray : unsigned char { requests, items, worker_begin, joins, arrivals, part_arrays };
enum BatchArray : unsigned char { slopes, frequencies, mask, page_table };
std::size_t array_of(std::size_t part, PartArray which) { return part * part_arrays + which; }
std::size_t array_of(std::size_t part_count, BatchArray which) {
  return part_count * part_arrays + which;
}

/// Room for `least` elements or what the graph's limits say.
template <class Vector>
ops::PlanArray plan_array(const Vector& vector, std::size_t least = 0) {
  const std::size_t size = sizeof(vector[0]);
  return {vector.data(), vector.size() * size, std::max(vector.size(), least) * size};
}

/// Rows of partial results that a part has room for on a GPU.
std::size_t partial_rows_of(const Part& part, const GraphLimits& limits, std::size_t i) {
  return limits.parts.empty() ? part.partial_rows()
                              : static_cast<std::size_t>(limits.parts[i].work.partial_rows);
}

void Plan::upload(ops::AttentionMemory& memory, const GraphLimits& limits) const {
  std::vector<ops::PlanArray> arrays;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < part_count; ++i) {
    const plan::AttentionPlan& work = parts[i].work;
    const GraphLimits::PartLimits most =
        limits.parts.empty() ? GraphLimits::PartLimits{} : limits.parts[i];
    const auto most_joins = static_cast<std::size_t>(most.work.joins);
    arrays.push_back(plan_array(work.requests, most.requests));
    arrays.push_back(plan_array(work.items, static_cast<std::size_t>(most.work.items)));
    arrays.push_back(plan_array(work.worker_begin));
    arrays.push_back(plan_array(work.joins, most_joins));
    const std::size_t join_count = std::max(work.joins.size(), most_joins);
    arrays.push_back({nullptr, join_count * sizeof(i32), join_count * sizeof(i32)});
    rows += partial_rows_of(parts[i], limits, i);
  }
  arrays.push_back(plan_array(alibi));
  arrays.push_back(plan_array(rope_frequency));
  arrays.push_back(plan_array(batch.mask));
  arrays.push_back(plan_array(batch.page_table, static_cast<std::size_t>(options.graph_pages)));
  memory.reserve_workspace(
      place, rows * sizeof(float) * (1 + static_cast<std::size_t>(options.head_dim_vo)));
  memory.set_arrays(place, arrays);  // last: from here on it is the plan
}

std::size_t Plan::scratch_stride() const {
  constexpr std::size_t align = Workspace::scratch_alignment;
  std::size_t bytes = align;
  for (std::size_t i = 0; i < part_count; ++i) {
    if (parts[i].kernel.cpu == nullptr) continue;
    bytes = std::max(bytes, parts[i].kernel.cpu->scratch_bytes);
  }
  return (bytes + align - 1) / align * align;
}

WorkspaceSizes Plan::sizes() const {
  WorkspaceSizes sizes;
  for (std::size_t i = 0; i < part_count; ++i) {
    sizes.joins += parts[i].work.joins.size();
    sizes.partial_rows += parts[i].partial_rows();
  }
  sizes.partial_values = sizes.partial_rows * static_cast<std::size_t>(options.head_dim_vo);
  const int workers = part_count > 0 && place.on_cpu() ? parts[0].kernel.workers : 0;
  sizes.scratch = scratch_stride() * static_cast<std::size_t>(workers);
  return sizes;
}

/// Gives each part its share of the plan's and the workspace's arrays.
std::array<attention::Params, most_parts> params_of(const Plan& plan, Workspace& workspace,
                                                    const attention::Params& common) {
  std::array<attention::Params, most_parts> params;
  std::size_t join = 0, row = 0;
  for (std::size_t i = 0; i < plan.part_count; ++i) {
    const Part& part = plan.parts[i];
    attention::Params& p = params[i] = common;
    p.requests = part.work.requests.data();
    p.items = part.work.items.data();
    p.worker_begin = part.work.worker_begin.data();
    p.joins = part.work.joins.data();
    p.join_arrivals = workspace.arrivals.data() + join;
    p.partial_o = workspace.partial_o.data() + row * static_cast<std::size_t>(p.head_dim_vo);
    p.partial_lse = workspace.partial_lse.data() + row;
    p.heads_per_item = part.kernel.heads_per_item;
    p.workers = part.kernel.workers;
    join += part.work.joins.size();
    row += part.partial_rows();
  }
  return params;
}

void run_on_cpu(const Plan& plan, WorkspacePool& pool, const attention::Params& common) {
  if (plan.part_count == 0) return;
  auto workspace = pool.take(plan.sizes());
  const auto params = params_of(plan, *workspace, common);
  const std::size_t stride = plan.scratch_stride();
  const auto work = [&](int worker) {
    char* scratch = workspace->scratch.get() + stride * static_cast<std::size_t>(worker);
    for (std::size_t i = 0; i < plan.part_count; ++i) {
      plan.parts[i].kernel.cpu->run(params[i], worker, scratch);
    }
  };
  // By reference: std::function allocates nothing.
  cpu::parallel_for(plan.parts[0].kernel.workers, std::ref(work));
  pool.put_back(std::move(workspace));
}

/// One launch a part. All outputs of partial results lie before all LSEs: rows of outputs are then
/// aligned in every part.
void run_on_gpu(const Plan& plan, const ops::AttentionMemory& memory, const GraphLimits& limits,
                const attention::Params& common) {
  const std::size_t count = plan.part_count;
  const auto dim = static_cast<std::size_t>(common.head_dim_vo);
  auto* partial_o = reinterpret_cast<float*>(memory.workspace());
  float* partial_lse = partial_o;
  for (std::size_t i = 0; i < count; ++i) {
    partial_lse += partial_rows_of(plan.parts[i], limits, i) * dim;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Part& part = plan.parts[i];
    attention::Params p = common;
    p.requests = memory.array<attention::Request>(array_of(i, requests));
    p.items = memory.array<attention::WorkItem>(array_of(i, items));
    p.worker_begin = memory.array<i32>(array_of(i, worker_begin));
    p.joins = memory.array<attention::Join>(array_of(i, joins));
    p.join_arrivals = memory.array<i32>(array_of(i, arrivals));
    p.partial_o = partial_o;
    p.partial_lse = partial_lse;
    const std::size_t rows = partial_rows_of(part, limits, i);
    partial_o += rows * dim;
    partial_lse += rows;
    if (p.alibi_slopes == nullptr && !plan.alibi.empty()) {
      p.alibi_slopes = memory.array<float>(array_of(count, slopes));
    }
    if (!plan.rope_frequency.empty()) {
      p.rope_frequency = memory.array<float>(array_of(count, frequencies));
    }
    if (!plan.batch.mask.empty()) p.custom_mask = memory.array<u8>(array_of(count, mask));
    if (plan.batch.paged) {
      p.page_table = memory.array<i32>(array_of(count, page_table));
      p.page_table_size = std::max(p.page_table_size, i64{plan.options.graph_pages});
    }
    p.workers = part.kernel.workers;
    ops::launch(plan.place, part.kernel, p, plan.batch.kv_rows);
  }
  // Who passes tensors of the host to a virtual device expects results there.
  const device::Stream stream = plan.place.stream();
  if (plan.place.device.type == DeviceType::cpu && !stream.is_capturing()) stream.synchronize();
}

}  // namespace

/// Two plans: plan() fills the idle one and exchanges them when all is well.
struct BatchAttention::State {
  std::array<Plan, 2> plans;
  int active = -1;
  WorkspacePool pool;           // of runs on the CPU
  ops::AttentionMemory memory;  // on a GPU
  GraphLimits limits;           // none without graphs

  const Plan* active_plan() const {
    return active < 0 ? nullptr : &plans[static_cast<std::size_t>(active)];
  }

  /// `read_batch` fills the batch of the plan to be.
  template <class ReadBatch>
  void make_plan(const AttentionOptions& options, ReadBatch&& read_batch) {
    const int next = active == 0 ? 1 : 0;
    Plan& plan = plans[static_cast<std::size_t>(next)];
    const AttentionOptions& o = plan.options = ops::complete(options);
    plan.place = ops::attention_place(o.device);
    ops::HostCopies on_host(o.device);
    read_batch(plan.batch, on_host);
    if (o.graph_pages > 0) ops::require_graph_pages(plan.batch, o.graph_pages);
    const GraphLimits none;
    plan.distribute(o.graph_pages > 0 ? limits : none);
    plan.rope_frequency.clear();
    if (o.position_mode == PositionMode::rope_llama) {
      for (double f : ops::rope_frequencies(o.rope, o.head_dim_qk)) {
        plan.rope_frequency.push_back(static_cast<float>(f));
      }
    }
    plan.alibi.clear();
    if (o.position_mode == PositionMode::alibi) {
      plan.alibi.resize(static_cast<std::size_t>(o.num_qo_heads));
      alibi_slopes(o.num_qo_heads, plan.alibi.data());
    }
    if (!plan.place.on_cpu()) {
      GraphLimits fixed;
      if (o.graph_pages > 0) fixed = limits.parts.empty() ? plan.limits() : limits;
      plan.upload(memory, fixed);
      limits = std::move(fixed);
    }
    active = next;
  }
};

namespace {

CustomMask mask_on_host(ops::HostCopies& on_host, const CustomMask& mask) {
  return {on_host("custom_mask", mask.bits), on_host("custom_mask indptr", mask.indptr)};
}

}  // namespace

BatchAttention::BatchAttention() : state_(std::make_unique<State>()) {}
BatchAttention::~BatchAttention() = default;
BatchAttention::BatchAttention(BatchAttention&&) noexcept = default;
BatchAttention& BatchAttention::operator=(BatchAttention&&) noexcept = default;

void BatchAttention::plan(const AttentionOptions& options, const TensorView& qo_indptr,
                          const PageTable& pages, const CustomMask& mask) {
  if (state_ == nullptr) state_ = std::make_unique<State>();  // moved from
  state_->make_plan(options, [&](ops::AttentionBatch& batch, ops::HostCopies& on_host) {
    const PageTable table{on_host("kv_indptr", pages.indptr), on_host("kv_indices", pages.indices),
                          on_host("kv_last_page_len", pages.last_page_len), pages.page_size};
    ops::read_batch(batch, on_host("qo_indptr", qo_indptr), table, mask_on_host(on_host, mask));
  });
}

void BatchAttention::plan(const AttentionOptions& options, const TensorView& qo_indptr,
                          const TensorView& kv_indptr, const CustomMask& mask) {
  if (state_ == nullptr) state_ = std::make_unique<State>();
  state_->make_plan(options, [&](ops::AttentionBatch& batch, ops::HostCopies& on_host) {
    ops::read_batch(batch, on_host("qo_indptr", qo_indptr), on_host("kv_indptr", kv_indptr),
                    mask_on_host(on_host, mask));
  });
}

void BatchAttention::run(const AttentionTensors& tensors) const {
  if (!planned()) {
    throw Error(ErrorKind::invalid_argument,
                "attention: run() before plan(); accepted: a planned batch");
  }
  const Plan& plan = *state_->active_plan();
  attention::Params p = ops::read_tensors(tensors, plan.options, plan.batch);
  if (!plan.place.on_cpu()) {
    ops::require_gpu_tensors(plan.place, p);
    return run_on_gpu(plan, state_->memory, state_->limits, p);
  }
  if (p.alibi_slopes == nullptr && !plan.alibi.empty()) p.alibi_slopes = plan.alibi.data();
  p.rope_frequency = plan.rope_frequency.empty() ? nullptr : plan.rope_frequency.data();
  run_on_cpu(plan, state_->pool, p);
}

bool BatchAttention::planned() const {
  return state_ != nullptr && state_->active_plan() != nullptr;
}

std::int64_t BatchAttention::workspace_bytes() const {
  return planned() ? static_cast<std::int64_t>(state_->active_plan()->sizes().bytes()) : 0;
}

int BatchAttention::work_items() const {
  std::size_t items = 0;
  if (planned()) {
    const Plan& plan = *state_->active_plan();
    for (std::size_t i = 0; i < plan.part_count; ++i) items += plan.parts[i].work.items.size();
  }
  return static_cast<int>(items);
}

int BatchAttention::joins() const {
  return planned() ? static_cast<int>(state_->active_plan()->sizes().joins) : 0;
}

void single_attention(const AttentionOptions& options, const AttentionTensors& tensors,
                      const CustomMask& mask) {
  core::check(operation, "q", tensors.q).defined().rank(3);
  core::check(operation, "k", tensors.k).defined().rank(3);
  const std::int64_t rows = tensors.k.shape[options.kv_layout == KvLayout::nhd ? 0 : 1];
  for (const auto& [name, length] : {std::pair("q", tensors.q.shape[0]), std::pair("k", rows)}) {
    core::require(length <= ops::longest_request, operation, name, core::join(length, " tokens"),
                  core::join("up to ", ops::longest_request, " tokens"));
  }
  i32 qo_indptr[] = {0, static_cast<i32>(tensors.q.shape[0])};
  i32 kv_indptr[] = {0, static_cast<i32>(rows)};
  BatchAttention attention;
  attention.plan(options, TensorView::contiguous(qo_indptr, DType::i32, {2}),
                 TensorView::contiguous(kv_indptr, DType::i32, {2}), mask);
  attention.run(tensors);
}

void alibi_slopes(int num_heads, float* out) {
  // For a power of two n: 2^(-8 (i + 1) / n). Otherwise those of the next smaller power, then every
  // other slope of the next larger one.
  int power = 1;
  while (power * 2 <= num_heads) power *= 2;
  for (int i = 0; i < num_heads; ++i) {
    out[i] =
        i < power
            ? std::exp2(-8.f * static_cast<float>(i + 1) / static_cast<float>(power))
            : std::exp2(-4.f * static_cast<float>(2 * (i - power) + 1) / static_cast<float>(power));
  }
}

}  // namespace wavefire
