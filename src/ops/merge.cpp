#include "wavefire/merge.h"

#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "ops/launch.h"
#include "ops/rows.h"
#include "tune/rows.h"

namespace wavefire {
namespace {

void check_values(const char* operation, const char* argument, const TensorView& v, int rank,
                  bool output) {
  const auto rule = core::check(operation, argument, v);
  rule.defined().one_of({DType::f32, DType::f16, DType::bf16}).rank(rank).last_dim_contiguous();
  if (output) rule.writable();
}

/// `p` without the outputs.
void merge_rows(const ops::Place& place, merge::Launch p, DType dtype, const TensorView& out,
                const TensorView& s_out) {
  const std::int64_t size = size_of(out.dtype);
  p.out = out.as<char>();
  p.lse = s_out.as<float>();
  for (int i = 0; i < 2; ++i) {
    p.out_row[i] = out.strides[i] * size;
    p.lse_row[i] = s_out.strides[i];
  }
  p.heads = out.shape[1];
  p.dim = out.shape[2];
  p.rows = out.shape[0] * p.heads;
  if (p.rows == 0) return;
  if (!place.on_cpu()) {
    return ops::launch_rows(place, generate::MergeConfig{dtype, out.dtype, tune::head_rows()},
                            p.rows, p);
  }
  const merge::RowTypes types{dtype, out.dtype, p.dim};
  const cpu::RowKernels& kernels = cpu::row_kernels();
  cpu::parallel_ranges(
      p.rows, ops::rows_per_task(types.dim), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t token = i / p.heads, head = i % p.heads;
          const auto at = [&](const i64(&row)[2]) { return token * row[0] + head * row[1]; };
          merge::States states = p.first;
          states.v += at(p.v_row);
          states.s += at(p.s_row);
          states.v_stride += at(p.v_stride_row);
          states.s_stride += at(p.s_stride_row);
          if (p.mask != nullptr && p.mask[token * p.mask_stride] == 0) states.count = 1;
          p.lse[at(p.lse_row)] = kernels.merge_row(types, states, p.out + at(p.out_row));
        }
      });
}

void check_lse(const char* operation, const char* argument, const TensorView& s,
               std::initializer_list<std::int64_t> shape) {
  core::check(operation, argument, s).defined().dtype(DType::f32).shape(shape);
}

}  // namespace

void merge_state(const TensorView& v_a, const TensorView& s_a, const TensorView& v_b,
                 const TensorView& s_b, const TensorView& v, const TensorView& s,
                 const TensorView& mask) {
  constexpr const char* operation = "merge_state";
  check_values(operation, "v_a", v_a, 3, false);
  const std::int64_t tokens = v_a.shape[0], heads = v_a.shape[1], dim = v_a.shape[2];
  check_values(operation, "v_b", v_b, 3, false);
  core::check(operation, "v_b", v_b).dtype(v_a.dtype).shape({tokens, heads, dim});
  check_values(operation, "v", v, 3, true);
  core::check(operation, "v", v).shape({tokens, heads, dim});
  check_lse(operation, "s_a", s_a, {tokens, heads});
  check_lse(operation, "s_b", s_b, {tokens, heads});
  check_lse(operation, "s", s, {tokens, heads});
  core::check(operation, "s", s).writable();
  if (mask.defined()) {
    core::check(operation, "mask", mask).one_of({DType::b1, DType::u8}).shape({tokens});
  }
  const std::int64_t size = size_of(v_a.dtype);
  merge::Launch p;
  // Two tensors seen as one of two states: the distance between them is the stride.
  p.first = {v_a.as<const char>(), v_b.as<const char>() - v_a.as<const char>(),
             s_a.as<const float>(), s_b.as<const float>() - s_a.as<const float>(), 2};
  for (int i = 0; i < 2; ++i) {
    p.v_row[i] = v_a.strides[i] * size;
    p.v_stride_row[i] = (v_b.strides[i] - v_a.strides[i]) * size;
    p.s_row[i] = s_a.strides[i];
    p.s_stride_row[i] = s_b.strides[i] - s_a.strides[i];
  }
  if (mask.defined()) {
    p.mask = mask.as<const u8>();
    p.mask_stride = mask.strides[0];
  }
  merge_rows(ops::place_of(operation, {{"v_a", v_a},
                                       {"s_a", s_a},
                                       {"v_b", v_b},
                                       {"s_b", s_b},
                                       {"v", v},
                                       {"s", s},
                                       {"mask", mask}}),
             p, v_a.dtype, v, s);
}

void merge_states(const TensorView& v, const TensorView& s, const TensorView& v_out,
                  const TensorView& s_out) {
  constexpr const char* operation = "merge_states";
  check_values(operation, "v", v, 4, false);
  check_lse(operation, "s", s, {v.shape[0], v.shape[1], v.shape[2]});
  check_values(operation, "v_out", v_out, 3, true);
  core::check(operation, "v_out", v_out).shape({v.shape[0], v.shape[2], v.shape[3]});
  check_lse(operation, "s_out", s_out, {v.shape[0], v.shape[2]});
  core::check(operation, "s_out", s_out).writable();
  const std::int64_t size = size_of(v.dtype);
  merge::Launch p;
  p.first = {v.as<const char>(), v.strides[1] * size, s.as<const float>(), s.strides[1],
             v.shape[1]};
  for (int i = 0; i < 2; ++i) {
    p.v_row[i] = v.strides[2 * i] * size;
    p.s_row[i] = s.strides[2 * i];
  }
  merge_rows(ops::place_of(operation, {{"v", v}, {"s", s}, {"v_out", v_out}, {"s_out", s_out}}), p,
             v.dtype, v_out, s_out);
}

}  // namespace wavefire
