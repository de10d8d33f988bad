// How fast row operations are on an NVIDIA GPU, against copying as many bytes.
//
//   measure_rows row_kernels.cubin stream_kernels.cubin
//
// Sizes are far beyond the L2. check_rows says that the results are right.
#include "activation/params.h"
#include "gpu/timing.h"
#include "kv_cache/params.h"
#include "norm/params.h"
#include "rope/params.h"

namespace wavefire::gpu {
namespace {

constexpr std::size_t size = std::size_t{1} << 30;  // of a buffer

struct Bench {
  const Module& kernels;
  double copy;
  Buffer a{size}, b{size}, c{size};

  template <class Params>
  void report(const char* name, const char* kernel, i64 blocks, double bytes,
              const Params& params) {
    const CUfunction f = kernels.function(kernel);
    const Launch launch{f, static_cast<unsigned>(blocks), threads_of(f)};
    const double ms = median_ms([&] { launch(params); });
    std::printf("%-36s %7.1f MB  %.3f ms  %.2f TB/s  copy %.2f  %.1f %%\n", name, bytes * 1e-6, ms,
                rate(bytes, ms), copy, 100 * rate(bytes, ms) / copy);
  }

  void norm(const char* name, const char* kernel, i64 width, bool residual, i64 rows_a_block) {
    norm::Launch p;
    p.rows = static_cast<i64>(size) / 2 / width / 2;
    p.x = a.as<void>(), p.out = residual ? a.as<void>() : b.as<void>(), p.weight = c.as<void>();
    if (residual) p.residual = b.as<void>();
    p.width = width, p.x_stride[0] = p.out_stride[0] = p.residual_stride[0] = width;
    p.dtype = p.weight_dtype = DType::bf16;
    p.stream = !residual;
    report(name, kernel, (p.rows + rows_a_block - 1) / rows_a_block,
           static_cast<double>(p.rows * width * 2 * (residual ? 4 : 2)), p);
  }
  void all() {
    norm("rms_norm width 4096", "rms_norm_bfloat16", 4096, false, 1);
    norm("rms_norm width 8192", "rms_norm_bfloat16_wide", 8192, false, 1);
    norm("rms_norm width 128", "rms_norm_bfloat16_warps", 128, false, 8);
    norm("fused add rms_norm width 4096", "rms_norm_bfloat16", 4096, true, 1);
    norm("fused add rms_norm width 8192", "rms_norm_bfloat16_wide", 8192, true, 1);
    for (i64 width : {4096, 14336}) {
      activation::Launch p;
      p.rows = static_cast<i64>(size) / 4 / width;
      p.x = a.as<void>(), p.out = b.as<void>(), p.width = width, p.x_stride = 2 * width;
      p.out_stride = width, p.dtype = DType::bf16, p.stream = true;
      report(width == 4096 ? "silu_and_mul width 4096" : "silu_and_mul width 14336",
             "silu_bfloat16", p.rows, static_cast<double>(p.rows * width * 6), p);
    }
    const i32 tokens = 65536;
    const std::vector<i64> positions(tokens, 7);
    const std::vector<float> frequency(64, 0.25f);
    const Buffer position_buffer(positions), frequency_buffer(frequency);
    rope::Launch p;
    p.group[0] = {a.as<void>(), a.as<void>(), 4096, 128, 4096, 128, 32, DType::bf16};
    p.group[1] = {b.as<void>(), b.as<void>(), 1024, 128, 1024, 128, 8, DType::bf16};
    p.head_dim = p.rotary_dim = 128, p.positions = position_buffer.as<i64>();
    p.frequency = p.frequency_rest = frequency_buffer.as<float>(), p.tokens = tokens;
    report("rope 32 + 8 heads of 128, in place", "rotate_heads", tokens,
           static_cast<double>(tokens) * 5120 * 4, p);
    std::vector<i32> zeros(2 * tokens), positions_of_one, table;  // one request
    const i32 pages = 2 * tokens / 16;
    for (i32 page = 0; page < pages; ++page)
      table.push_back(static_cast<i32>(page * i64{4099} % pages));
    for (i32 t = 0; t < 2 * tokens; ++t) positions_of_one.push_back(t);
    const Buffer requests(zeros), places(positions_of_one), indices(table);
    const Buffer indptr(std::vector<i32>{0, pages});
    kv_cache::AppendLaunch append;
    for (int s = 0; s < 2; ++s) {
      append.side[s] = {a.as<char>() + s * (size / 2),
                        b.as<char>() + s * 16 * 2048,
                        2048,
                        256,
                        2 * 16 * 2048,
                        2048,
                        256,
                        8,
                        256};
    }
    append.tables = {{requests.as<i32>()},
                     {places.as<i32>()},
                     {indptr.as<i32>()},
                     {indices.as<i32>()},
                     1,
                     pages,
                     pages,
                     16};
    append.tokens = 2 * tokens;
    report("append 8 heads of 128, page 16", "append_tokens", 2 * tokens,
           static_cast<double>(2 * tokens) * 2048 * 2 * 2, append);
  }
};

}  // namespace
}  // namespace wavefire::gpu

int main(int argc, char** argv) {
  using namespace wavefire::gpu;
  if (argc != 3) {
    std::fprintf(stderr, "usage: measure_rows row_kernels.cubin stream_kernels.cubin\n");
    return 2;
  }
  const Context context;
  const Module kernels(argv[1]), streams(argv[2]);
  Bench bench{kernels, 0};
  bench.copy = stream_rate(streams, "copy_all", bench.a, bench.b, size, context.multiprocessors());
  bench.all();
  return 0;
}
