#include "wavefire/sampling.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "math/philox.h"
#include "ops/rows.h"

namespace wavefire {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

void check_matrix(const char* operation, const char* argument, const TensorView& view) {
  core::check(operation, argument, view)
      .defined()
      .on_cpu()
      .one_of({DType::f32, DType::f16, DType::bf16})
      .rank(2)
      .last_dim_contiguous();
  core::require(view.shape[1] >= 1, operation, argument, view, "a vocabulary of at least 1");
}

/// Reads a row parameter once, checked against what it may be.
class Parameter {
 public:
  template <class Accept>
  Parameter(const char* operation, const char* argument, const RowParameter& parameter,
            std::int64_t rows, const char* accepted, Accept accept)
      : values_(parameter.rows.defined() ? static_cast<std::size_t>(rows) : 1, parameter.value) {
    if (parameter.rows.defined()) {
      core::check(operation, argument, parameter.rows)
          .on_cpu()
          .one_of({DType::f32, DType::i32, DType::i64})
          .shape({rows});
      for (std::int64_t i = 0; i < rows; ++i)
        values_[static_cast<std::size_t>(i)] = read(parameter.rows, i);
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      core::require(accept(values_[i]), operation, argument,
                    parameter.rows.defined() ? std::string(core::join(values_[i], " at ", i))
                                             : std::string(core::join(values_[i])),
                    accepted);
    }
  }

  double operator[](std::int64_t row) const {
    return values_[values_.size() == 1 ? 0 : static_cast<std::size_t>(row)];
  }

 private:
  static double read(const TensorView& view, std::int64_t i) {
    if (view.dtype == DType::f32) return double{view.as<const float>()[i * view.strides[0]]};
    return static_cast<double>(ops::read_int(view, i));
  }

  std::vector<double> values_;
};

struct FilterParameters {
  Parameter top_k, top_p, min_p;
  bool top_k_first;

  FilterParameters(const char* operation, const SamplingFilters& filters, std::int64_t rows)
      : top_k(operation, "top_k", filters.top_k, rows, "1 or more (0: all)",
              [](double k) { return k >= 0 && k == std::floor(k); }),
        top_p(operation, "top_p", filters.top_p, rows, "a number in (0, 1]",
              [](double p) { return p > 0 && p <= 1; }),
        min_p(operation, "min_p", filters.min_p, rows, "a number in [0, 1]",
              [](double p) { return p >= 0 && p <= 1; }),
        top_k_first(filters.top_k_first) {}

  sampling::Filter operator[](std::int64_t row) const {
    return {static_cast<i64>(top_k[row]), static_cast<float>(top_p[row]),
            static_cast<float>(min_p[row]), top_k_first};
  }
};

/// Memory of one thread: a row as float32, selection scratch, the histogram.
struct RowMemory {
  explicit RowMemory(std::int64_t vocabulary)
      : weights(static_cast<std::size_t>(vocabulary)),
        scratch(static_cast<std::size_t>(vocabulary)) {}

  std::vector<float> weights, scratch;
  sampling::Histogram histogram;
};

const char* row_of(const TensorView& view, std::int64_t row) {
  return view.as<const char>() + row * view.strides[0] * size_of(view.dtype);
}
char* row_of_output(const TensorView& view, std::int64_t row) {
  return view.as<char>() + row * view.strides[0] * size_of(view.dtype);
}

struct RowMass {
  double total;
  float maximum;
  bool valid;
};

/// The row as float32 weights, with their mass. Not valid: NaN, infinite, negative, or no mass.
RowMass read_weights(const TensorView& view, std::int64_t row, bool logits, float temperature,
                     RowMemory& memory) {
  const cpu::RowKernels& kernels = cpu::row_kernels();
  const std::int64_t size = view.shape[1];
  float* weights = memory.weights.data();
  kernels.widen(view.dtype, row_of(view, row), size, weights);
  const float maximum = kernels.maximum(weights, size);
  if (logits) {
    if (!std::isfinite(maximum)) return {0, 0, false};
    return {kernels.exponentials(weights, size, maximum, temperature, weights), 1.f, true};
  }
  bool negative = false;
  for (std::int64_t i = 0; i < size; ++i) negative |= weights[i] < 0;
  const double total = kernels.total(weights, size);
  return {total, maximum, std::isfinite(maximum) && !negative && total > 0};
}

[[noreturn]] void fail_row(const char* operation, const char* argument, std::int64_t row) {
  core::fail_argument(operation, argument,
                      core::join("NaN, infinite, negative or without mass in row ", row),
                      "rows of finite weights with some mass (or ask for 'valid')");
}

/// Calls f(row, memory) for every row, in parallel. A row's work is long: one is a task.
template <class F>
void for_rows(std::int64_t rows, std::int64_t vocabulary, F f) {
  cpu::parallel_ranges(rows, ops::rows_per_task(vocabulary * 4),
                       [&](std::int64_t begin, std::int64_t end) {
                         RowMemory memory(vocabulary);
                         for (std::int64_t row = begin; row < end; ++row) f(row, memory);
                       });
}

void note_first(std::atomic<std::int64_t>& first, std::int64_t row) {
  std::int64_t seen = first.load();
  while ((seen < 0 || row < seen) && !first.compare_exchange_weak(seen, row)) {
  }
}

}  // namespace

void softmax(const TensorView& logits, const RowParameter& temperature,
             const TensorView& probabilities) {
  constexpr const char* operation = "softmax";
  check_matrix(operation, "logits", logits);
  const std::int64_t rows = logits.shape[0], size = logits.shape[1];
  core::check(operation, "out", probabilities)
      .defined()
      .on_cpu()
      .dtype(DType::f32)
      .shape({rows, size})
      .last_dim_contiguous()
      .writable();
  const Parameter temperatures(operation, "temperature", temperature, rows,
                               "a positive finite number",
                               [](double t) { return std::isfinite(t) && t > 0; });
  const cpu::RowKernels& kernels = cpu::row_kernels();
  for_rows(rows, size, [&](std::int64_t row, RowMemory& memory) {
    float* out = reinterpret_cast<float*>(row_of_output(probabilities, row));
    kernels.widen(logits.dtype, row_of(logits, row), size, memory.weights.data());
    const float maximum = kernels.maximum(memory.weights.data(), size);
    const double sum = kernels.exponentials(memory.weights.data(), size, maximum,
                                            static_cast<float>(temperatures[row]), out);
    const float factor = static_cast<float>(1 / sum);
    for (std::int64_t i = 0; i < size; ++i) out[i] *= factor;
  });
}

void sample(const SamplingInput& input, const SamplingFilters& filters, std::uint64_t seed,
            std::uint64_t offset, const TensorView& samples, const TensorView& valid) {
  constexpr const char* operation = "sampling";
  const char* argument = input.logits ? "logits" : "probs";
  check_matrix(operation, argument, input.weights);
  const TensorView& indices = input.indices;
  if (indices.defined()) {
    core::check(operation, "indices", indices).on_cpu().one_of({DType::i32, DType::i64}).rank(1);
  }
  const std::int64_t count = indices.defined() ? indices.shape[0] : input.weights.shape[0];
  for (std::int64_t i = 0; indices.defined() && i < count; ++i) {
    const std::int64_t row = ops::read_int(indices, i);
    core::require(row >= 0 && row < input.weights.shape[0], operation, "indices",
                  core::join(row, " at ", i), core::join("0 to ", input.weights.shape[0] - 1));
  }
  core::check(operation, "samples", samples)
      .defined()
      .on_cpu()
      .one_of({DType::i32, DType::i64})
      .shape({count})
      .writable();
  if (valid.defined())
    core::check(operation, "valid", valid).on_cpu().dtype(DType::b1).shape({count}).writable();
  const FilterParameters parameters(operation, filters, count);
  const cpu::RowKernels& kernels = cpu::row_kernels();
  const std::int64_t size = input.weights.shape[1];
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));
  std::vector<std::uint8_t> good(static_cast<std::size_t>(count));
  std::atomic<std::int64_t> first_bad{-1};
  for_rows(count, size, [&](std::int64_t i, RowMemory& memory) {
    const std::int64_t row = indices.defined() ? ops::read_int(indices, i) : i;
    const RowMass mass = read_weights(input.weights, row, input.logits, 1.f, memory);
    good[static_cast<std::size_t>(i)] = mass.valid ? 1 : 0;
    if (!mass.valid) return note_first(first_bad, row);
    const float* weights = memory.weights.data();
    const float threshold =
        kernels.filter_threshold(weights, size, mass.total, mass.maximum, parameters[i],
                                 memory.scratch.data(), memory.histogram);
    const float uniform =
        math::to_uniform(math::philox(seed, offset, static_cast<std::uint64_t>(i)).word[0]);
    drawn[static_cast<std::size_t>(i)] = kernels.draw(weights, size, threshold, uniform);
  });
  if (!valid.defined() && first_bad >= 0) fail_row(operation, argument, first_bad);
  for (std::int64_t i = 0; i < count; ++i) {
    ops::write_int(samples, i, drawn[static_cast<std::size_t>(i)]);
    if (valid.defined())
      valid.as<std::uint8_t>()[i * valid.strides[0]] = good[static_cast<std::size_t>(i)];
  }
}

void renormalize(const TensorView& probabilities, const SamplingFilters& filters,
                 const TensorView& out) {
  constexpr const char* operation = "renorm_probs";
  check_matrix(operation, "probs", probabilities);
  const std::int64_t rows = probabilities.shape[0], size = probabilities.shape[1];
  check_matrix(operation, "out", out);
  core::check(operation, "out", out).shape({rows, size}).writable();
  const FilterParameters parameters(operation, filters, rows);
  const cpu::RowKernels& kernels = cpu::row_kernels();
  std::atomic<std::int64_t> first_bad{-1};
  for_rows(rows, size, [&](std::int64_t row, RowMemory& memory) {
    const RowMass mass = read_weights(probabilities, row, false, 1.f, memory);
    if (!mass.valid) return note_first(first_bad, row);
  });
  if (first_bad >= 0) fail_row(operation, "probs", first_bad);
  for_rows(rows, size, [&](std::int64_t row, RowMemory& memory) {
    const RowMass mass = read_weights(probabilities, row, false, 1.f, memory);
    float* weights = memory.weights.data();
    const float threshold =
        kernels.filter_threshold(weights, size, mass.total, mass.maximum, parameters[row],
                                 memory.scratch.data(), memory.histogram);
    double kept = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      if (weights[i] < threshold) weights[i] = 0;
      kept += double{weights[i]};
    }
    const double factor = 1 / kept;
    for (std::int64_t i = 0; i < size; ++i)
      weights[i] = static_cast<float>(double{weights[i]} * factor);
    kernels.narrow(out.dtype, weights, size, row_of_output(out, row));
  });
}

void mask_logits(const TensorView& logits, const RowParameter& top_k, const TensorView& out) {
  constexpr const char* operation = "top_k_mask_logits";
  check_matrix(operation, "logits", logits);
  const std::int64_t rows = logits.shape[0], size = logits.shape[1];
  check_matrix(operation, "out", out);
  core::check(operation, "out", out).dtype(logits.dtype).shape({rows, size}).writable();
  const Parameter count(operation, "top_k", top_k, rows, "1 or more",
                        [](double k) { return k >= 1 && k == std::floor(k); });
  const cpu::RowKernels& kernels = cpu::row_kernels();
  std::atomic<std::int64_t> first_bad{-1};
  for_rows(rows, size, [&](std::int64_t row, RowMemory& memory) {
    kernels.widen(logits.dtype, row_of(logits, row), size, memory.weights.data());
    if (std::isnan(kernels.maximum(memory.weights.data(), size))) note_first(first_bad, row);
  });
  if (first_bad >= 0) fail_row(operation, "logits", first_bad);
  for_rows(rows, size, [&](std::int64_t row, RowMemory& memory) {
    float* values = memory.weights.data();
    kernels.widen(logits.dtype, row_of(logits, row), size, values);
    const auto k = static_cast<i64>(count[row]);
    if (k < size) {
      const float threshold = kernels.select_threshold(values, size, false, k, 0, -infinity,
                                                       memory.scratch.data(), memory.histogram);
      for (std::int64_t i = 0; i < size; ++i) {
        if (values[i] < threshold) values[i] = -infinity;
      }
    }
    kernels.narrow(out.dtype, values, size, row_of_output(out, row));
  });
}

}  // namespace wavefire
