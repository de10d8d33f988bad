// How fast attention decodes and prefills on an NVIDIA GPU.
//
//   measure_attention attention_kernels.cubin stream_kernels.cubin
//
// Decode: K and V of random bits (finite) in pages that are a random permutation of a pool twice as
// large; the ceiling reads as many bytes in one stream, in the same run. check_attention says that
// the results are right.
#include "gpu/attention_problem.h"
#include "gpu/timing.h"

namespace wavefire::gpu {
namespace {

/// Finite random numbers of about unit size, without the time that a normal distribution takes.
std::vector<u16> random_bf16(std::size_t count) {
  std::vector<u16> values(count);
  u64 state = 0x9e3779b97f4a7c15u;
  for (u16& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<u16>(0x3f00u | (state >> 48 & 0x80ffu));
  }
  return values;
}

void fill(const Buffer& to, const std::vector<u16>& pattern) {
  const std::size_t bytes = pattern.size() * 2;
  for (std::size_t at = 0; at < to.bytes(); at += bytes) {
    WF_MUST(cuMemcpyHtoD(to.as<char>() - static_cast<char*>(nullptr) + at, pattern.data(),
                         std::min(bytes, to.bytes() - at)));
  }
}

struct Bench {
  const Module& kernels;
  const Module& streams;
  int multiprocessors;
  std::vector<u16> pattern = random_bf16(std::size_t{32} << 20);

  double time(const AttentionShape& s, const Buffer& k, const Buffer& v, int& blocks_each) {
    std::mt19937 random(1);
    const Layout layout(s, random);
    const Launch probe = attention_launch(kernels, s, 1);
    blocks_each = resident_blocks(probe.function, static_cast<int>(probe.threads),
                                  static_cast<int>(probe.shared_bytes));
    const i32 workers = blocks_each * multiprocessors;
    const Plan plan(s, layout.requests, workers);
    const auto rows = static_cast<std::size_t>(s.tokens()) * static_cast<std::size_t>(s.qo_heads);
    const Buffer q(rows * static_cast<std::size_t>(s.head_dim) * 2);
    fill(q, pattern);
    const Buffer out(q.bytes()), lse(rows * 4);
    const DeviceAttention device(s, layout, plan, q, k, v, out, lse, s.dtype);
    const Launch launch = attention_launch(kernels, s, workers);
    return median_ms([&] { launch(device.params); });
  }

  void decode(i32 kv_heads, i32 page_size, i32 batch, i32 kv_len, i32 head_dim) {
    AttentionShape s{.q_len = std::vector<i32>(static_cast<std::size_t>(batch), 1),
                     .kv_len = std::vector<i32>(static_cast<std::size_t>(batch), kv_len),
                     .qo_heads = 32,
                     .kv_heads = kv_heads,
                     .head_dim = head_dim,
                     .page_size = page_size};
    const std::size_t used = std::size_t(batch) * std::size_t(kv_len) * std::size_t(kv_heads) *
                             std::size_t(head_dim) * 2;
    const std::size_t pool = (2 * std::size_t(batch) * std::size_t(s.slots(0)) + 1) *
                             std::size_t(page_size * kv_heads * head_dim) * 2;
    const Buffer k(pool), v(pool);
    fill(k, pattern);
    fill(v, pattern);
    int blocks_each = 0;
    const double ms = time(s, k, v, blocks_each);
    const double ours = rate(2 * static_cast<double>(used), ms);
    const double ceiling = stream_rate(streams, "read_all", k, v, 2 * used, multiprocessors);
    std::printf(
        "decode   group %2d page %2d head dim %3d KV %5.2f GB  %d blocks  %.3f ms  %.2f TB/s"
        "  ceiling %.2f  %.1f %%\n",
        32 / kv_heads, page_size, head_dim, 2e-9 * static_cast<double>(used), blocks_each, ms, ours,
        ceiling, 100 * ours / ceiling);
    std::fflush(stdout);
  }

  void prefill(i32 batch, i32 len, i32 kv_heads, bool causal, i32 head_dim) {
    AttentionShape s{.q_len = std::vector<i32>(static_cast<std::size_t>(batch), len),
                     .kv_len = std::vector<i32>(static_cast<std::size_t>(batch), len),
                     .qo_heads = 32,
                     .kv_heads = kv_heads,
                     .head_dim = head_dim,
                     .page_size = 64,
                     .few_rows = false,
                     .causal = causal};
    const std::size_t pool = (2 * std::size_t(batch) * std::size_t(s.slots(0)) + 1) *
                             std::size_t(64 * kv_heads * head_dim) * 2;
    const Buffer k(pool), v(pool);
    fill(k, pattern);
    fill(v, pattern);
    int blocks_each = 0;
    const double ms = time(s, k, v, blocks_each);
    const double flops = 4.0 * batch * 32 * head_dim * double(len) * len * (causal ? 0.5 : 1);
    std::printf(
        "prefill  batch %d, 32/%d heads, head dim %d, %d x %d %-6s  %d blocks  %.3f ms  "
        "%.0f TFLOP/s\n",
        batch, kv_heads, head_dim, len, len, causal ? "causal" : "full", blocks_each, ms,
        flops / ms * 1e-9);
    std::fflush(stdout);
  }
};

}  // namespace
}  // namespace wavefire::gpu

int main(int argc, char** argv) {
  using namespace wavefire::gpu;
  if (argc != 3) {
    std::fprintf(stderr, "usage: measure_attention attention_kernels.cubin stream_kernels.cubin\n");
    return 2;
  }
  const Context context;
  const Module kernels(argv[1]), streams(argv[2]);
  Bench bench{kernels, streams, context.multiprocessors()};
  for (int kv_heads : {32, 8, 4, 2}) {
    for (int page : {1, 16, 64}) bench.decode(kv_heads, page, 512 / kv_heads, 8192, 128);
  }
  bench.decode(8, 16, 64, 8192, 64);
  bench.decode(8, 16, 64, 8192, 256);
  bench.decode(8, 16, 4, 8192, 128);
  bench.prefill(4, 4096, 32, false, 128);
  bench.prefill(4, 4096, 32, true, 128);
  bench.prefill(4, 4096, 32, false, 64);
  bench.prefill(4, 4096, 32, false, 256);
  return 0;
}
