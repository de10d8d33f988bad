// A program outside of Wavefire's tree, against the installed package: a query attends to two keys
// that score alike, so the output is the mean of the two values.
#include <wavefire/attention.h>
#include <wavefire/device.h>
#include <wavefire/version.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <vector>

using wavefire::DType;
using wavefire::TensorView;

// With the argument "virtual", the virtual Instinct must have been installed, too.
int main(int argc, char** argv) {
  const bool wants_virtual = argc > 1 && std::strcmp(argv[1], "virtual") == 0;
  if (wants_virtual && wavefire::use_device("virtual:gfx950").architecture != "gfx950") return 1;
  wavefire::use_device("cpu");

  constexpr int dim = 8;
  std::vector<float> q(dim, 1.f), k(2 * dim, 0.5f), v(2 * dim), out(dim);
  std::iota(v.begin(), v.end(), 0.f);
  std::vector<int> qo_indptr{0, 1}, kv_indptr{0, 2};

  wavefire::BatchAttention attention;
  attention.plan({.num_qo_heads = 1,
                  .num_kv_heads = 1,
                  .head_dim_qk = dim,
                  .q_dtype = DType::f32,
                  .kv_dtype = DType::f32,
                  .o_dtype = DType::f32},
                 TensorView::contiguous(qo_indptr.data(), DType::i32, {2}),
                 TensorView::contiguous(kv_indptr.data(), DType::i32, {2}));
  attention.run({.q = TensorView::contiguous(q.data(), DType::f32, {1, 1, dim}),
                 .k = TensorView::contiguous(k.data(), DType::f32, {2, 1, dim}),
                 .v = TensorView::contiguous(v.data(), DType::f32, {2, 1, dim}),
                 .out = TensorView::contiguous(out.data(), DType::f32, {1, 1, dim})});
  for (int i = 0; i < dim; ++i) {
    const float mean = (v[i] + v[dim + i]) / 2;
    if (out[i] < mean - 1e-5f || out[i] > mean + 1e-5f) {
      std::printf("out[%d] is %g, not %g\n", i, out[i], mean);
      return 1;
    }
  }
  std::printf("wavefire %s\n", wavefire::version());
  return std::filesystem::exists(INSTALLED_KERNELS "/tile/target.h") ? 0 : 1;
}
