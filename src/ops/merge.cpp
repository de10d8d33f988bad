#include "wavefire/merge.h"

#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "ops/rows.h"

namespace wavefire {
namespace {

void check_values(const char* operation, const char* argument, const TensorView& v, int rank,
                  bool output) {
  const auto rule = core::check(operation, argument, v);
  rule.defined()
      .on_cpu()
      .one_of({DType::f32, DType::f16, DType::bf16})
      .rank(rank)
      .last_dim_contiguous();
  if (output) rule.writable();
}

template <class StatesOf>
void merge_rows(const TensorView& out, const TensorView& s_out, DType dtype, StatesOf states_of) {
  const std::int64_t heads = out.shape[1];
  const merge::RowTypes types{dtype, out.dtype, out.shape[2]};
  const cpu::RowKernels& kernels = cpu::row_kernels();
  cpu::parallel_ranges(
      out.shape[0] * heads, ops::rows_per_task(types.dim),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t token = i / heads, head = i % heads;
          char* to = out.as<char>() +
                     (token * out.strides[0] + head * out.strides[1]) * size_of(out.dtype);
          const float lse = kernels.merge_row(types, states_of(token, head), to);
          s_out.as<float>()[token * s_out.strides[0] + head * s_out.strides[1]] = lse;
        }
      });
}

void check_lse(const char* operation, const char* argument, const TensorView& s,
               std::initializer_list<std::int64_t> shape) {
  core::check(operation, argument, s).defined().on_cpu().dtype(DType::f32).shape(shape);
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
    core::check(operation, "mask", mask).on_cpu().one_of({DType::b1, DType::u8}).shape({tokens});
  }
  const std::int64_t size = size_of(v_a.dtype);
  merge_rows(v, s, v_a.dtype, [&](std::int64_t token, std::int64_t head) {
    // Two tensors seen as one of two states: the distance between them is the stride.
    const char* a = v_a.as<const char>() + (token * v_a.strides[0] + head * v_a.strides[1]) * size;
    const char* b = v_b.as<const char>() + (token * v_b.strides[0] + head * v_b.strides[1]) * size;
    const float* lse_a = s_a.as<const float>() + token * s_a.strides[0] + head * s_a.strides[1];
    const float* lse_b = s_b.as<const float>() + token * s_b.strides[0] + head * s_b.strides[1];
    const bool both =
        !mask.defined() || mask.as<const std::uint8_t>()[token * mask.strides[0]] != 0;
    return merge::States{a, b - a, lse_a, lse_b - lse_a, both ? 2 : 1};
  });
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
  merge_rows(v_out, s_out, v.dtype, [&](std::int64_t token, std::int64_t head) {
    return merge::States{v.as<const char>() + (token * v.strides[0] + head * v.strides[2]) * size,
                         v.strides[1] * size,
                         s.as<const float>() + token * s.strides[0] + head * s.strides[2],
                         s.strides[1], v.shape[1]};
  });
}

}  // namespace wavefire
