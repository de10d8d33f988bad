#include "wavefire/sampling.h"

#include <atomic>
#include <cmath>
#include <optional>
#include <vector>

#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "generate/target.h"
#include "math/philox.h"
#include "ops/launch.h"
#include "ops/rows.h"
#include "tune/rows.h"

namespace wavefire {
namespace {

void check_matrix(const char* operation, const char* argument, const TensorView& view) {
  core::check(operation, argument, view)
      .defined()
      .one_of({DType::f32, DType::f16, DType::bf16})
      .rank(2)
      .last_dim_contiguous();
  core::require(view.shape[1] >= 1, operation, argument, to_string(view),
                "a vocabulary of at least 1");
}

/// What a row parameter may be: for all rows, and for one of them.
struct Accepted {
  const char* text;
  bool (*value)(double);
  bool (*row)(double);
};

bool is_whole(double k) { return k == std::floor(k) && std::isfinite(k); }
bool is_share(double p) { return p >= 0 && p <= 1; }
bool is_positive_share(double p) { return p > 0 && p <= 1; }
bool is_positive(double t) { return std::isfinite(t) && t > 0; }
bool is_count(double k) { return is_whole(k) && k >= 1; }

/// A row has fewer than 2^31 entries: larger counts mean all of them.
i64 as_count(double k) { return static_cast<i64>(std::min(k, 0x1p31)); }

constexpr Accepted any_count = {"a whole number of 1 or more",
                                [](double k) { return is_whole(k) && k >= 0; },
                                is_count};  // 0 for all rows: no such filter
constexpr Accepted count = {"a whole number of 1 or more", is_count, is_count};
constexpr Accepted mass = {"a number in (0, 1]", is_positive_share, is_positive_share};
constexpr Accepted share = {"a number in [0, 1]", is_share, is_share};
constexpr Accepted positive = {"a positive finite number", is_positive, is_positive};

sampling::Numbers numbers_of(const TensorView& view) {
  return {view.data, view.strides[0], view.dtype};
}

/// A row parameter, checked against what it may be; those of rows on the CPU only.
class Parameter {
 public:
  Parameter(const ops::Place& place, const char* operation, const char* argument,
            const RowParameter& parameter, std::int64_t rows, const Accepted& accepted)
      : value_(parameter.value), rows_(parameter.rows) {
    if (!rows_.defined()) {
      core::require(accepted.value(value_), operation, argument, value_, accepted.text);
      return;
    }
    core::check(operation, argument, rows_)
        .one_of({DType::f32, DType::i32, DType::i64})
        .shape({rows});
    for (std::int64_t i = 0; place.on_cpu() && i < rows; ++i) {
      const double value = (*this)[i];
      if (!accepted.row(value)) {
        core::fail_argument(operation, argument, core::join(value, " at ", i), accepted.text);
      }
    }
  }

  double operator[](std::int64_t row) const {
    if (!rows_.defined()) return value_;
    if (rows_.dtype != DType::f32) return static_cast<double>(ops::read_int(rows_, row));
    return double{rows_.as<const float>()[row * rows_.strides[0]]};
  }
  sampling::RowNumber for_gpu() const {
    if (!rows_.defined()) return {value_};
    return {value_, numbers_of(rows_)};
  }

 private:
  double value_;
  TensorView rows_;
};

struct FilterParameters {
  Parameter top_k, top_p, min_p;
  bool top_k_first;
  bool has_top_p, has_others;  // of the call, whatever they are in a row
  bool by_top_p;               // each row has a top_p of its own

  FilterParameters(const ops::Place& place, const char* operation, const SamplingFilters& filters,
                   std::int64_t rows)
      : top_k(place, operation, "top_k", filters.top_k, rows, any_count),
        top_p(place, operation, "top_p", filters.top_p, rows, mass),
        min_p(place, operation, "min_p", filters.min_p, rows, share),
        top_k_first(filters.top_k_first),
        has_top_p(!is_off(filters.top_p, 1)),
        has_others(!is_off(filters.top_k, 0) || !is_off(filters.min_p, 0)),
        by_top_p(filters.top_p.rows.defined()) {}

  sampling::Filter operator[](std::int64_t row) const {
    const double share = top_p[row];
    const bool in_rounds = has_top_p && !has_others && share >= sampling::least_in_rounds;
    return {as_count(top_k[row]), share, static_cast<float>(min_p[row]), top_k_first, in_rounds};
  }
  /// How a GPU draws.
  sampling::Kind kind() const {
    if (has_others) return sampling::Kind::filtered;
    if (!has_top_p) return sampling::Kind::draw;
    const bool in_rounds = by_top_p || top_p[0] >= sampling::least_in_rounds;
    return in_rounds ? sampling::Kind::top_p : sampling::Kind::filtered;
  }
  void write(sampling::Launch& p) const {
    p.top_k = top_k.for_gpu();
    p.top_p = top_p.for_gpu();
    p.min_p = min_p.for_gpu();
    p.top_k_first = top_k_first;
  }

 private:
  static bool is_off(const RowParameter& parameter, double off) {
    return !parameter.rows.defined() && parameter.value == off;
  }
};

sampling::Row row_of(const TensorView& view, std::int64_t row, bool logits = false,
                     double temperature = 1) {
  return {view.as<const char>() + row * view.strides[0] * size_of(view.dtype), view.dtype,
          view.shape[1], logits, static_cast<float>(temperature)};
}
char* output_row(const TensorView& view, std::int64_t row) {
  return view.as<char>() + row * view.strides[0] * size_of(view.dtype);
}

/// A thread's memory, kept for the next call.
sampling::Buffers buffers_for(std::int64_t vocabulary) {
  thread_local std::vector<float> memory;
  const auto size = static_cast<std::size_t>(vocabulary + sampling::buffer_slack);
  if (memory.size() < 2 * size) memory.resize(2 * size);
  return {memory.data(), memory.data() + size};
}

/// Calls f(row, buffers) for every row, in parallel.
template <class F>
void for_rows(std::int64_t rows, std::int64_t vocabulary, F f) {
  cpu::parallel_ranges(rows, ops::rows_per_task(vocabulary * 4),
                       [&](std::int64_t begin, std::int64_t end) {
                         const sampling::Buffers buffers = buffers_for(vocabulary);
                         for (std::int64_t row = begin; row < end; ++row) f(row, buffers);
                       });
}

/// The first of the rows that cannot be used.
class BadRow {
 public:
  void note(std::int64_t row) {
    std::int64_t seen = first_.load();
    while ((seen < 0 || row < seen) && !first_.compare_exchange_weak(seen, row)) {
    }
  }
  void require_none(const char* operation, const char* argument, const char* what,
                    const char* accepted) const {
    if (first_ < 0) return;
    core::fail_argument(operation, argument, core::join(what, " in row ", first_.load()), accepted);
  }

 private:
  std::atomic<std::int64_t> first_{-1};
};

constexpr const char* bad_weights = "NaN, infinite, negative or without mass";

void check_samples(const ops::Place& place, const char* operation, const SamplingInput& input,
                   std::int64_t count, const RandomNumbers& random, const TensorView& samples,
                   const TensorView& valid) {
  const std::int64_t rows = input.weights.shape[0];
  for (std::int64_t i = 0; place.on_cpu() && input.indices.defined() && i < count; ++i) {
    const std::int64_t row = ops::read_int(input.indices, i);
    if (row < 0 || row >= rows) {
      core::fail_argument(operation, "indices", core::join(row, " at ", i),
                          core::join("0 to ", rows - 1));
    }
  }
  const auto check_keys = [&](const char* argument, const TensorView& keys) {
    if (!keys.defined()) return;
    core::check(operation, argument, keys).dtype(DType::i64).rank(1);
    core::require(keys.shape[0] == 1 || keys.shape[0] == count, operation, argument, keys,
                  core::join("one entry or ", count));
  };
  check_keys("seed", random.seeds);
  check_keys("offset", random.offsets);
  core::check(operation, "samples", samples)
      .defined()
      .one_of({DType::i32, DType::i64})
      .shape({count})
      .writable();
  if (valid.defined()) {
    core::check(operation, "valid", valid).dtype(DType::b1).shape({count}).writable();
  }
}

/// Keys of all samples: one, or one of each.
bool is_shared(const TensorView& keys) { return !keys.defined() || keys.shape[0] == 1; }

math::Uniforms uniforms_of(const RandomNumbers& random, std::int64_t sample) {
  const auto key = [&](const TensorView& keys, std::uint64_t value) {
    if (!keys.defined()) return value;
    return static_cast<std::uint64_t>(ops::read_int(keys, is_shared(keys) ? 0 : sample));
  };
  const auto row = is_shared(random.seeds) ? static_cast<std::uint64_t>(sample) : 0;
  return {key(random.seeds, random.seed), key(random.offsets, random.offset), row};
}

// ---- on GPUs

sampling::Matrix matrix_of(const TensorView& view) {
  return {view.data, view.strides[0], view.dtype};
}
sampling::Key key_of(std::uint64_t value, const TensorView& keys) {
  if (!keys.defined()) return {value};
  return {value, numbers_of(keys), is_shared(keys)};
}

sampling::Launch launch_of(const TensorView& in, const TensorView& out = {}) {
  sampling::Launch p;
  p.in = matrix_of(in);
  p.out = matrix_of(out);
  p.rows = in.shape[0];
  p.size = in.shape[1];
  return p;
}

/// A group of blocks for each of `count` rows or samples.
void launch(const ops::Place& place, sampling::Kind kind, std::int64_t count,
            const sampling::Launch& p) {
  if (count == 0) return;
  const device::Properties& gpu = place.gpu->properties();
  const generate::Target& target =
      generate::target_of(generate::architecture_of_gpu(gpu.architecture));
  const generate::SamplingConfig config = tune::sampling_rows(
      kind, p.size, count, {target.has_clusters, gpu.shared_bytes_per_block, gpu.multiprocessors});
  const unsigned blocks = ops::blocks_for(count * config.blocks, 1);
  generate::kernel_on(*place.gpu, config).launch(blocks, p, place.stream());
}

void launch_samples(const ops::Place& place, const SamplingInput& input,
                    const FilterParameters& parameters, const RandomNumbers& random,
                    const TensorView& samples, const TensorView& valid) {
  sampling::Launch p = launch_of(input.weights);
  p.logits = input.logits;
  parameters.write(p);
  if (input.indices.defined()) p.indices = numbers_of(input.indices);
  p.seed = key_of(random.seed, random.seeds);
  p.offset = key_of(random.offset, random.offsets);
  p.samples = matrix_of(samples);
  if (valid.defined()) {
    p.valid = valid.as<u8>();
    p.valid_stride = valid.strides[0];
  }
  const sampling::Kind kind = parameters.kind();
  p.by_top_p = kind == sampling::Kind::top_p && parameters.by_top_p;
  if (p.by_top_p) launch(place, sampling::Kind::filtered, samples.shape[0], p);
  launch(place, kind, samples.shape[0], p);
}

}  // namespace

void softmax(const TensorView& logits, const RowParameter& temperature,
             const TensorView& probabilities) {
  constexpr const char* operation = "softmax";
  const ops::Place place = ops::place_of(
      operation, {{"logits", logits}, {"temperature", temperature.rows}, {"out", probabilities}});
  check_matrix(operation, "logits", logits);
  const std::int64_t rows = logits.shape[0], size = logits.shape[1];
  core::check(operation, "out", probabilities)
      .defined()
      .dtype(DType::f32)
      .shape({rows, size})
      .last_dim_contiguous()
      .writable();
  const Parameter temperatures(place, operation, "temperature", temperature, rows, positive);
  if (!place.on_cpu()) {
    sampling::Launch p = launch_of(logits, probabilities);
    p.temperature = temperatures.for_gpu();
    return launch(place, sampling::Kind::softmax, rows, p);
  }
  const cpu::RowKernels& kernels = cpu::row_kernels();
  for_rows(rows, size, [&](std::int64_t row, const sampling::Buffers& buffers) {
    kernels.softmax(row_of(logits, row, true, temperatures[row]), buffers,
                    reinterpret_cast<float*>(output_row(probabilities, row)));
  });
}

void sample(const SamplingInput& input, const SamplingFilters& filters, const RandomNumbers& random,
            const TensorView& samples, const TensorView& valid) {
  constexpr const char* operation = "sampling";
  const char* argument = input.logits ? "logits" : "probs";
  const TensorView& indices = input.indices;
  const ops::Place place = ops::place_of(operation, {{argument, input.weights},
                                                     {"indices", indices},
                                                     {"top_k", filters.top_k.rows},
                                                     {"top_p", filters.top_p.rows},
                                                     {"min_p", filters.min_p.rows},
                                                     {"seed", random.seeds},
                                                     {"offset", random.offsets},
                                                     {"samples", samples},
                                                     {"valid", valid}});
  check_matrix(operation, argument, input.weights);
  if (indices.defined()) {
    core::check(operation, "indices", indices).one_of({DType::i32, DType::i64}).rank(1);
  }
  const std::int64_t count = indices.defined() ? indices.shape[0] : input.weights.shape[0];
  check_samples(place, operation, input, count, random, samples, valid);
  const FilterParameters parameters(place, operation, filters, count);
  if (!place.on_cpu()) {
    return launch_samples(place, input, parameters, random, samples, valid);
  }
  const cpu::RowKernels& kernels = cpu::row_kernels();
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));  // -1: not valid
  BadRow bad;
  for_rows(count, input.weights.shape[1], [&](std::int64_t i, const sampling::Buffers& buffers) {
    const std::int64_t row = indices.defined() ? ops::read_int(indices, i) : i;
    i64 token;
    const bool good = kernels.sample(row_of(input.weights, row, input.logits), parameters[i],
                                     uniforms_of(random, i), buffers, token);
    drawn[static_cast<std::size_t>(i)] = good ? token : -1;
    if (!good) bad.note(row);
  });
  if (!valid.defined()) {
    bad.require_none(operation, argument, bad_weights,
                     "rows of finite weights with some mass (or ask for 'valid')");
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t token = drawn[static_cast<std::size_t>(i)];
    ops::write_int(samples, i, std::max<std::int64_t>(token, 0));
    if (valid.defined()) valid.as<std::uint8_t>()[i * valid.strides[0]] = token >= 0 ? 1 : 0;
  }
}

void renormalize(const TensorView& probabilities, const SamplingFilters& filters,
                 const TensorView& out) {
  constexpr const char* operation = "renorm_probs";
  const ops::Place place = ops::place_of(operation, {{"probs", probabilities},
                                                     {"top_k", filters.top_k.rows},
                                                     {"top_p", filters.top_p.rows},
                                                     {"min_p", filters.min_p.rows},
                                                     {"out", out}});
  check_matrix(operation, "probs", probabilities);
  const std::int64_t rows = probabilities.shape[0], size = probabilities.shape[1];
  check_matrix(operation, "out", out);
  core::check(operation, "out", out).shape({rows, size}).writable();
  const FilterParameters parameters(place, operation, filters, rows);
  if (!place.on_cpu()) {
    sampling::Launch p = launch_of(probabilities, out);
    parameters.write(p);
    return launch(place, sampling::Kind::renorm, rows, p);
  }
  const cpu::RowKernels& kernels = cpu::row_kernels();
  BadRow bad;
  for_rows(rows, size, [&](std::int64_t row, const sampling::Buffers& buffers) {
    if (!kernels.renormalize(row_of(probabilities, row), parameters[row], buffers, out.dtype,
                             output_row(out, row))) {
      bad.note(row);
    }
  });
  bad.require_none(operation, "probs", bad_weights, "rows of finite weights with some mass");
}

void mask_logits(const TensorView& logits, const RowParameter& top_k, const TensorView& out) {
  constexpr const char* operation = "top_k_mask_logits";
  const ops::Place place =
      ops::place_of(operation, {{"logits", logits}, {"top_k", top_k.rows}, {"out", out}});
  check_matrix(operation, "logits", logits);
  const std::int64_t rows = logits.shape[0], size = logits.shape[1];
  check_matrix(operation, "out", out);
  core::check(operation, "out", out).dtype(logits.dtype).shape({rows, size}).writable();
  const Parameter counts(place, operation, "top_k", top_k, rows, count);
  if (!place.on_cpu()) {
    sampling::Launch p = launch_of(logits, out);
    p.top_k = counts.for_gpu();
    return launch(place, sampling::Kind::mask, rows, p);
  }
  const cpu::RowKernels& kernels = cpu::row_kernels();
  BadRow bad;
  for_rows(rows, size, [&](std::int64_t row, const sampling::Buffers& buffers) {
    if (!kernels.mask(row_of(logits, row), as_count(counts[row]), buffers, output_row(out, row))) {
      bad.note(row);
    }
  });
  bad.require_none(operation, "logits", "NaN", "rows without NaN");
}

}  // namespace wavefire
