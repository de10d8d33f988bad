#include "wavefire/rope.h"

#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "ops/attention_problem.h"
#include "ops/index.h"
#include "ops/launch.h"
#include "ops/rows.h"
#include "tune/rows.h"

namespace wavefire {
namespace {

constexpr const char* operation = "apply_rope";

rope::Heads read_heads(const char* argument, const char* out_argument, const TensorView& in,
                       const TensorView& out, std::int64_t tokens, std::int64_t head_dim) {
  core::check(operation, argument, in)
      .one_of({DType::f32, DType::f16, DType::bf16})
      .shape({tokens, -1, head_dim})
      .last_dim_contiguous();
  core::check(operation, out_argument, out)
      .defined()
      .dtype(in.dtype)
      .shape({tokens, in.shape[1], head_dim})
      .last_dim_contiguous()
      .writable();
  return {in.data,
          out.data,
          in.strides[0],
          in.strides[1],
          out.strides[0],
          out.strides[1],
          static_cast<i32>(in.shape[1]),
          in.dtype};
}

/// [rotary_dim / 2] radians a position: as float32 and, behind them, what that leaves of them.
std::vector<float> split_frequencies(const RopeParameters& rope, i32 rotary_dim) {
  std::vector<float> frequencies, rest;
  for (double f : ops::rope_frequencies(rope, rotary_dim)) {
    frequencies.push_back(static_cast<float>(f));
    rest.push_back(static_cast<float>(f - double{frequencies.back()}));
  }
  frequencies.resize((frequencies.size() + 3) / 4 * 4);  // both at multiples of 16 bytes
  frequencies.insert(frequencies.end(), rest.begin(), rest.end());
  return frequencies;
}

/// The same on a GPU. Models use few, so they stay there; the first call waits for the copy.
const float* frequencies_on(const ops::Place& place, const RopeParameters& r, i32 rotary_dim) {
  using Key = std::array<float, 6>;
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<std::pair<device::Gpu*, Key>, device::DeviceMemory>;
  const Key key = {r.scale,           r.theta,
                   r.low_freq_factor, r.high_freq_factor,
                   r.old_context_len, static_cast<float>(rotary_dim)};
  const std::lock_guard lock(mutex);
  const auto found = known.find({place.gpu, key});
  if (found != known.end()) return found->second.as<float>();
  const std::vector<float> values = split_frequencies(r, rotary_dim);
  device::DeviceMemory memory = place.gpu->allocate(values.size() * sizeof(float));
  place.gpu->copy(memory.data(), values.data(), memory.bytes(), place.stream());
  place.stream().synchronize();
  return known.emplace(std::pair(place.gpu, key), std::move(memory)).first->second.as<float>();
}

void read_positions(const ops::Place& place, rope::Params& p, const TensorView& positions,
                    std::int64_t tokens, std::int64_t limit) {
  core::check(operation, "positions", positions)
      .defined()
      .one_of({DType::i32, DType::i64})
      .shape({tokens});
  p.positions = positions.data;
  p.position_stride = positions.strides[0];
  p.position_dtype = positions.dtype;
  p.position_limit = limit;
  for (std::int64_t i = 0; place.on_cpu() && i < tokens; ++i) {
    const std::int64_t position = ops::read_int(positions, i);
    if (position < 0 || position >= limit) {
      core::fail_argument(operation, "positions", core::join(position, " at ", i),
                          core::join("0 to ", limit - 1));
    }
  }
}

void run(const ops::Place& place, const rope::Params& p, std::int64_t tokens) {
  if (tokens == 0) return;
  if (!place.on_cpu()) {
    return ops::launch_rows(place, generate::RopeConfig{tune::rope_rows()}, tokens,
                            rope::Launch{p, tokens});
  }
  const cpu::RowKernels& kernels = cpu::row_kernels();
  const std::int64_t width = std::int64_t{p.head_dim} * (p.group[0].heads + p.group[1].heads);
  cpu::parallel_ranges(
      tokens, ops::rows_per_task(width),
      [&](std::int64_t begin, std::int64_t end) { kernels.rotate(p, begin, end); });
}

void launch(const TensorView& q, const TensorView& k, const TensorView& positions,
            const TensorView& cos_sin, const TensorView& q_out, const TensorView& k_out,
            const RopeOptions& options) {
  core::check(operation, "q", q).defined().rank(3);
  const std::int64_t tokens = q.shape[0], head_dim = q.shape[2];
  core::require(head_dim >= 2 && head_dim <= rope::max_head_dim, operation, "q", q,
                core::join("head dims from 2 to ", rope::max_head_dim));
  const ops::Place place = ops::place_of(operation, {{"q", q},
                                                     {"k", k},
                                                     {"positions", positions},
                                                     {"cos_sin_cache", cos_sin},
                                                     {"q_out", q_out},
                                                     {"k_out", k_out}});
  rope::Params p;
  p.group[0] = read_heads("q", "q_out", q, q_out, tokens, head_dim);
  if (k.defined()) p.group[1] = read_heads("k", "k_out", k, k_out, tokens, head_dim);
  p.head_dim = static_cast<i32>(head_dim);
  p.rotary_dim = options.rotary_dim == 0 ? p.head_dim : options.rotary_dim;
  core::require(p.rotary_dim % 2 == 0 && p.rotary_dim > 0 && p.rotary_dim <= head_dim, operation,
                "rotary_dim", p.rotary_dim, core::join("an even number up to ", head_dim));
  p.interleaved = options.interleaved;
  if (cos_sin.defined()) {
    core::check(operation, "cos_sin_cache", cos_sin)
        .one_of({DType::f32, DType::f16, DType::bf16})
        .shape({-1, p.rotary_dim})
        .last_dim_contiguous();
    p.cos_sin = cos_sin.data;
    p.cos_sin_stride = cos_sin.strides[0];
    p.cos_sin_dtype = cos_sin.dtype;
    read_positions(place, p, positions, tokens, cos_sin.shape[0]);
    return run(place, p, tokens);
  }
  ops::require_rope(operation, options.frequencies);
  read_positions(place, p, positions, tokens, ops::rope_limit(options.frequencies, p.rotary_dim));
  std::vector<float> on_host;
  if (place.on_cpu()) on_host = split_frequencies(options.frequencies, p.rotary_dim);
  p.frequency =
      place.on_cpu() ? on_host.data() : frequencies_on(place, options.frequencies, p.rotary_dim);
  p.frequency_rest = p.frequency + (p.rotary_dim / 2 + 3) / 4 * 4;
  run(place, p, tokens);
}

}  // namespace

void apply_rope(const TensorView& q, const TensorView& k, const TensorView& positions,
                const TensorView& q_out, const TensorView& k_out, const RopeOptions& options) {
  launch(q, k, positions, {}, q_out, k_out, options);
}

void apply_rope_with_cache(const TensorView& q, const TensorView& k, const TensorView& positions,
                           const TensorView& cos_sin, const TensorView& q_out,
                           const TensorView& k_out, const RopeOptions& options) {
  core::check(operation, "cos_sin_cache", cos_sin).defined();
  launch(q, k, positions, cos_sin, q_out, k_out, options);
}

void rope_positions(const TensorView& indptr, const TensorView& offsets,
                    const TensorView& positions) {
  const ops::Place place = ops::place_of(
      operation, {{"indptr", indptr}, {"offsets", offsets}, {"positions", positions}});
  const std::int64_t batch = ops::check_segments(operation, "indptr", indptr);
  core::check(operation, "offsets", offsets)
      .defined()
      .one_of({DType::i32, DType::i64})
      .shape({batch});
  core::check(operation, "positions", positions).defined().dtype(DType::i32).rank(1);
  if (!place.on_cpu()) {
    return ops::launch_index(place, index::Kind::rope_positions,
                             {.count = positions.shape[0],
                              .segments = batch,
                              .indptr = ops::index_numbers(indptr),
                              .values = ops::index_numbers(offsets),
                              .out = ops::index_output(positions)});
  }
  const std::int64_t tokens = ops::check_indptr(operation, "indptr", indptr);
  core::require(positions.shape[0] == tokens, operation, "indptr",
                core::join(tokens, " at the end"),
                core::join(positions.shape[0], ", the number of tokens"));
  for (std::int64_t b = 0; b + 1 < indptr.shape[0]; ++b) {
    const std::int64_t begin = ops::read_int(indptr, b), end = ops::read_int(indptr, b + 1);
    const std::int64_t offset = ops::read_int(offsets, b);
    const std::int64_t most = std::numeric_limits<std::int32_t>::max() - (end - begin);
    if (offset < 0 || offset > most) {
      core::fail_argument(operation, "offsets", core::join(offset, " at ", b),
                          core::join("0 to ", most));
    }
  }
  for (std::int64_t b = 0; b + 1 < indptr.shape[0]; ++b) {
    const std::int64_t begin = ops::read_int(indptr, b), end = ops::read_int(indptr, b + 1);
    const std::int64_t offset = ops::read_int(offsets, b);
    for (std::int64_t i = begin; i < end; ++i) ops::write_int(positions, i, offset + i - begin);
  }
}

}  // namespace wavefire
