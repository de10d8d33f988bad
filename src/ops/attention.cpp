// BatchAttention: validate, plan, run.
#include "wavefire/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "core/check.h"
#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "ops/attention_problem.h"
#include "plan/attention_plan.h"
#include "tune/attention.h"

namespace wavefire {
namespace {

constexpr const char* operation = "attention";

struct FreeAligned {
  void operator()(void* p) const { std::free(p); }
};

/// Memory of one run: join counters, partial results, the workers' scratch.
struct Workspace {
  std::vector<i32> arrivals;
  std::vector<float> partial_o, partial_lse;
  std::unique_ptr<char, FreeAligned> scratch;
};

/// The requests of a batch that one kernel takes.
struct Part {
  const cpu::AttentionKernel* kernel = nullptr;
  int heads_per_item = 1;
  plan::AttentionPlan work;

  std::size_t partial_rows() const {
    return static_cast<std::size_t>(work.partial_rows * heads_per_item);
  }
};

std::size_t aligned_size(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

struct BatchAttention::Plan {
  AttentionOptions options;
  ops::AttentionBatch batch;
  std::vector<Part> parts;  // at most two: few rows, many rows
  int workers = 1;
  std::vector<float> rope_frequency, alibi;

  // Runs may go on at the same time; each takes a workspace and puts it back.
  std::mutex mutex;
  std::vector<std::unique_ptr<Workspace>> idle;

  std::unique_ptr<Workspace> take_workspace();
  void put_back(std::unique_ptr<Workspace> workspace);
  std::size_t scratch_stride() const;
  void make_parts();
};

std::size_t BatchAttention::Plan::scratch_stride() const {
  std::size_t bytes = 0;
  for (const Part& part : parts) bytes = std::max(bytes, part.kernel->scratch_bytes);
  return aligned_size(bytes);
}

std::unique_ptr<Workspace> BatchAttention::Plan::take_workspace() {
  {
    const std::lock_guard lock(mutex);
    if (!idle.empty()) {
      auto workspace = std::move(idle.back());
      idle.pop_back();
      return workspace;
    }
  }
  auto workspace = std::make_unique<Workspace>();
  std::size_t joins = 0, rows = 0;
  for (const Part& part : parts) {
    joins += part.work.joins.size();
    rows += part.partial_rows();
  }
  workspace->arrivals.assign(joins, 0);
  workspace->partial_o.resize(rows * static_cast<std::size_t>(options.head_dim_vo));
  workspace->partial_lse.resize(rows);
  const std::size_t bytes = scratch_stride() * static_cast<std::size_t>(workers);
  workspace->scratch.reset(
      static_cast<char*>(std::aligned_alloc(64, std::max<std::size_t>(bytes, 64))));
  if (workspace->scratch == nullptr) {
    throw Error(ErrorKind::out_of_memory,
                core::join(operation, ": no memory for ", bytes, " bytes of scratch"));
  }
  std::memset(workspace->scratch.get(), 0, bytes);
  return workspace;
}

void BatchAttention::Plan::put_back(std::unique_ptr<Workspace> workspace) {
  const std::lock_guard lock(mutex);
  idle.push_back(std::move(workspace));
}

void BatchAttention::Plan::make_parts() {
  workers = options.workers > 0 ? options.workers : cpu::thread_count();
  const int group = options.num_qo_heads / options.num_kv_heads;
  const tune::AttentionProblem problem{
      options.head_dim_qk, options.head_dim_vo, options.num_kv_heads,
      options.q_dtype == DType::bf16 && options.kv_dtype == DType::bf16 &&
          cpu::has_bf16_products()};
  for (const attention::Request& request : batch.requests) {
    const auto* kernel = tune::select_attention(cpu::attention_kernels(), problem,
                                                std::int64_t{request.q_len} * group);
    const auto same = [&](const Part& part) { return part.kernel == kernel; };
    auto part = std::find_if(parts.begin(), parts.end(), same);
    if (part == parts.end()) {
      part = parts.insert(parts.end(), Part{kernel, 1, {}});
      part->heads_per_item = tune::bundle_heads(*kernel, options.num_kv_heads);
    }
    part->work.requests.push_back(request);
  }
  for (Part& part : parts) {
    part.work.traits = {
        .num_kv_heads = options.num_kv_heads / part.heads_per_item,
        .group = group,
        .tile_rows = part.kernel->tile_rows,
        .tile_kv = part.kernel->tile_kv,
        .workers = workers,
        .causal = options.causal ? 1 : 0,
        .window_left = options.window_left,
        .fixed_split_kv = options.fixed_split_kv,
        .allow_split = options.allow_split ? 1 : 0,
        .item_overhead = 1,
        // Few rows wait for memory: a tile costs about as much as the products of four rows. Many
        // rows pay for the transposition of K and the widening of V.
        .row_overhead = part.kernel->few_rows ? 4 : 8};
    plan::make_attention_plan(part.work);
  }
}

BatchAttention::BatchAttention() = default;
BatchAttention::~BatchAttention() = default;
BatchAttention::BatchAttention(BatchAttention&&) noexcept = default;
BatchAttention& BatchAttention::operator=(BatchAttention&&) noexcept = default;

void BatchAttention::plan(const AttentionOptions& options, const TensorView& qo_indptr,
                          const PageTable& pages, const CustomMask& mask) {
  auto plan = std::make_unique<Plan>();
  plan->options = ops::complete(options);
  plan->batch = ops::read_batch(qo_indptr, pages, mask);
  adopt(std::move(plan));
}

void BatchAttention::plan(const AttentionOptions& options, const TensorView& qo_indptr,
                          const TensorView& kv_indptr, const CustomMask& mask) {
  auto plan = std::make_unique<Plan>();
  plan->options = ops::complete(options);
  plan->batch = ops::read_batch(qo_indptr, kv_indptr, mask);
  adopt(std::move(plan));
}

void BatchAttention::adopt(std::unique_ptr<Plan> plan) {
  plan->make_parts();
  const AttentionOptions& o = plan->options;
  if (o.position_mode == PositionMode::rope_llama) {
    plan->rope_frequency = ops::rope_frequencies(o.rope, o.head_dim_qk);
  }
  if (o.position_mode == PositionMode::alibi) {
    plan->alibi.resize(static_cast<std::size_t>(o.num_qo_heads));
    alibi_slopes(o.num_qo_heads, plan->alibi.data());
  }
  plan_ = std::move(plan);
}

namespace {

/// One of k, v, k_tail: checked, with the strides of its layout.
attention::KvTensor read_kv(const char* argument, const TensorView& view, const AttentionOptions& o,
                            const ops::AttentionBatch& batch, std::int64_t dims) {
  const bool nhd = o.kv_layout == KvLayout::nhd;
  const core::TensorRule rule = core::check(operation, argument, view);
  rule.defined().on_cpu().dtype(o.kv_dtype);
  const std::int64_t heads = o.num_kv_heads;
  attention::KvTensor tensor{view.data, 0, 0, 0, static_cast<i32>(dims)};
  if (batch.paged) {
    if (nhd) {
      rule.shape({-1, batch.page_size, heads, dims});
    } else {
      rule.shape({-1, heads, batch.page_size, dims});
    }
    core::require(
        batch.max_page < view.shape[0], operation, "kv_indices",
        core::join("page ", batch.max_page),
        core::join("page indices below ", view.shape[0], ", the pages of '", argument, "'"));
    tensor.stride_page = view.strides[0];
    tensor.stride_token = view.strides[nhd ? 1 : 2];
    tensor.stride_head = view.strides[nhd ? 2 : 1];
  } else {
    if (nhd) {
      rule.shape({-1, heads, dims});
    } else {
      rule.shape({heads, -1, dims});
    }
    core::require(view.shape[nhd ? 0 : 1] >= batch.kv_rows, operation, argument, to_string(view),
                  core::join("at least ", batch.kv_rows, " rows, the last entry of kv_indptr"));
    tensor.stride_token = view.strides[nhd ? 0 : 1];
    tensor.stride_head = view.strides[nhd ? 1 : 0];
  }
  rule.last_dim_contiguous();
  return tensor;
}

const float* read_floats(const char* argument, const TensorView& view, std::int64_t size,
                         bool finite) {
  if (!view.defined()) return nullptr;
  core::check(operation, argument, view).on_cpu().dtype(DType::f32).shape({size}).contiguous();
  const float* values = view.as<const float>();
  for (std::int64_t i = 0; i < size; ++i) {
    const bool good = finite ? std::isfinite(values[i]) : !std::isnan(values[i]);
    core::require(good, operation, argument, core::join(values[i], " at ", i),
                  finite ? "finite numbers" : "numbers");
  }
  return values;
}

void require_scale(const char* argument, float scale) {
  core::require(std::isfinite(scale), operation, argument, scale, "a finite number");
}

void set_queries_and_output(attention::Params& p, const AttentionTensors& t,
                            const AttentionOptions& o, std::int64_t tokens) {
  core::check(operation, "q", t.q)
      .defined()
      .on_cpu()
      .dtype(o.q_dtype)
      .shape({tokens, o.num_qo_heads, o.head_dim_qk})
      .last_dim_contiguous();
  core::check(operation, "out", t.out)
      .defined()
      .on_cpu()
      .dtype(o.o_dtype)
      .shape({tokens, o.num_qo_heads, o.head_dim_vo})
      .last_dim_contiguous()
      .writable();
  p.q = t.q.data;
  p.o = t.out.data;
  p.q_stride_token = t.q.strides[0];
  p.q_stride_head = t.q.strides[1];
  p.o_stride_token = t.out.strides[0];
  p.o_stride_head = t.out.strides[1];
  p.q_dtype = o.q_dtype;
  p.kv_dtype = o.kv_dtype;
  p.o_dtype = o.o_dtype;
  if (t.lse.defined()) {
    core::check(operation, "lse", t.lse)
        .on_cpu()
        .dtype(DType::f32)
        .shape({tokens, o.num_qo_heads})
        .writable();
    p.lse = t.lse.as<float>();
    p.lse_stride_token = t.lse.strides[0];
    p.lse_stride_head = t.lse.strides[1];
  }
}

void set_keys_and_values(attention::Params& p, const AttentionTensors& t, const AttentionOptions& o,
                         const ops::AttentionBatch& batch) {
  std::int64_t tail = 0;
  if (t.k_tail.defined()) {
    core::require(t.k_tail.rank >= 1, operation, "k_tail", to_string(t.k_tail), "the rank of 'k'");
    tail = t.k_tail.shape[t.k_tail.rank - 1];
    core::require(tail > 0 && tail < o.head_dim_qk, operation, "k_tail", to_string(t.k_tail),
                  core::join("fewer than head_dim_qk (", o.head_dim_qk, ") columns"));
    p.k[1] = read_kv("k_tail", t.k_tail, o, batch, tail);
    p.k_segments = 2;
  }
  p.k[0] = read_kv("k", t.k, o, batch, o.head_dim_qk - tail);
  p.v = read_kv("v", t.v, o, batch, o.head_dim_vo);
  const auto& k = p.k[0];
  p.v_aliases_k = k.data == p.v.data && k.stride_page == p.v.stride_page &&
                          k.stride_token == p.v.stride_token && k.stride_head == p.v.stride_head
                      ? 1
                      : 0;
  p.num_pages = batch.paged ? std::min(t.k.shape[0], t.v.shape[0]) : 0;
  if (batch.paged && t.k_tail.defined())
    p.num_pages = std::min<i64>(p.num_pages, t.k_tail.shape[0]);
}

void set_logits(attention::Params& p, const AttentionTensors& t, const AttentionOptions& o) {
  require_scale("q_scale", t.q_scale);
  require_scale("k_scale", t.k_scale);
  require_scale("v_scale", t.v_scale);
  p.sm_scale = *o.sm_scale * t.q_scale * t.k_scale;
  p.v_scale = t.v_scale;
  p.q_head_scale = read_floats("q_head_scale", t.q_head_scale, o.num_qo_heads, true);
  p.k_head_scale = read_floats("k_head_scale", t.k_head_scale, o.num_kv_heads, true);
  p.v_head_scale = read_floats("v_head_scale", t.v_head_scale, o.num_kv_heads, true);
  p.sinks = read_floats("sinks", t.sinks, o.num_qo_heads, false);
  const float* slopes = read_floats("alibi_slopes", t.alibi_slopes, o.num_qo_heads, true);
  core::require(slopes == nullptr || o.position_mode == PositionMode::alibi, operation,
                "alibi_slopes", "given", "none unless the plan's position mode is ALIBI");
  if (slopes != nullptr) p.alibi_slopes = slopes;
  p.soft_cap = o.logits_soft_cap;
  p.causal = o.causal ? 1 : 0;
  p.window_left = o.window_left;
}

}  // namespace

void BatchAttention::run(const AttentionTensors& tensors) const {
  if (plan_ == nullptr) {
    throw Error(ErrorKind::invalid_argument,
                "attention: run() before plan(); accepted: a planned batch");
  }
  Plan& plan = *plan_;
  const AttentionOptions& o = plan.options;
  attention::Params p;
  set_queries_and_output(p, tensors, o, plan.batch.tokens);
  set_keys_and_values(p, tensors, o, plan.batch);
  p.alibi_slopes = plan.alibi.empty() ? nullptr : plan.alibi.data();
  set_logits(p, tensors, o);
  p.rope_frequency = plan.rope_frequency.empty() ? nullptr : plan.rope_frequency.data();
  p.custom_mask = plan.batch.mask.empty() ? nullptr : plan.batch.mask.data();
  p.page_table = plan.batch.paged ? plan.batch.page_table.data() : nullptr;
  p.page_table_size = static_cast<i64>(plan.batch.page_table.size());
  p.page_size = plan.batch.page_size;
  p.num_qo_heads = o.num_qo_heads;
  p.num_kv_heads = o.num_kv_heads;
  p.group = o.num_qo_heads / o.num_kv_heads;
  p.head_dim_qk = o.head_dim_qk;
  p.head_dim_vo = o.head_dim_vo;
  p.workers = plan.workers;
  launch(p);
}

void BatchAttention::launch(const attention::Params& common) const {
  Plan& plan = *plan_;
  auto workspace = plan.take_workspace();
  const std::size_t stride = plan.scratch_stride();
  std::vector<attention::Params> params(plan.parts.size(), common);
  std::size_t join = 0, row = 0;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const Part& part = plan.parts[i];
    attention::Params& p = params[i];
    p.requests = part.work.requests.data();
    p.items = part.work.items.data();
    p.worker_begin = part.work.worker_begin.data();
    p.joins = part.work.joins.data();
    p.join_arrivals = workspace->arrivals.data() + join;
    p.partial_o = workspace->partial_o.data() + row * static_cast<std::size_t>(p.head_dim_vo);
    p.partial_lse = workspace->partial_lse.data() + row;
    p.heads_per_item = part.heads_per_item;
    join += part.work.joins.size();
    row += part.partial_rows();
  }
  cpu::parallel_for(plan.workers, [&](int worker) {
    char* scratch = workspace->scratch.get() + stride * static_cast<std::size_t>(worker);
    for (std::size_t i = 0; i < plan.parts.size(); ++i) {
      plan.parts[i].kernel->run(params[i], worker, scratch);
    }
  });
  plan.put_back(std::move(workspace));
}

bool BatchAttention::planned() const { return plan_ != nullptr; }

std::int64_t BatchAttention::workspace_bytes() const {
  if (plan_ == nullptr) return 0;
  std::size_t bytes = plan_->scratch_stride() * static_cast<std::size_t>(plan_->workers);
  for (const Part& part : plan_->parts) {
    bytes += part.work.joins.size() * sizeof(i32);
    bytes += part.partial_rows() * static_cast<std::size_t>(plan_->options.head_dim_vo + 1) *
             sizeof(float);
  }
  return static_cast<std::int64_t>(bytes);
}

int BatchAttention::work_items() const {
  std::size_t items = 0;
  if (plan_ != nullptr) {
    for (const Part& part : plan_->parts) items += part.work.items.size();
  }
  return static_cast<int>(items);
}

int BatchAttention::joins() const {
  std::size_t joins = 0;
  if (plan_ != nullptr) {
    for (const Part& part : plan_->parts) joins += part.work.joins.size();
  }
  return static_cast<int>(joins);
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
