// Plans whatever problem the bytes describe. The plan's own proof and the joins are the oracle;
// ASan and UBSan watch the arithmetic.
//
// With libFuzzer: compile this file and src/plan/*.cpp, src/core/{check,tensor_view}.cpp by clang
// with -fsanitize=fuzzer,address,undefined -DWAVEFIRE_LIBFUZZER and run it with -max_total_time=60.
// Without: a fixed number of seeded random inputs, as a test.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "plan/attention_plan.h"

namespace {

using namespace wavefire;

/// Numbers read off the input; zeros behind its end.
struct Reader {
  const std::uint8_t* data;
  std::size_t size;
  std::size_t at = 0;

  std::uint32_t number(std::uint32_t below) {
    std::uint32_t value = 0;
    for (int i = 0; i < 3; ++i) value = value << 8 | (at < size ? data[at++] : 0);
    return value % below;
  }
  i32 integer(std::uint32_t low, std::uint32_t high) {
    return static_cast<i32>(low + number(high - low + 1));
  }
};

void fail(const char* what, const plan::AttentionPlan& p) {
  std::fprintf(stderr, "%s\n%s", what, plan::to_string(p).c_str());
  std::abort();
}

void plan_from(const std::uint8_t* data, std::size_t size) {
  Reader in{data, size};
  plan::AttentionPlan p;
  attention::PlanTraits& t = p.traits;
  t.num_kv_heads = in.integer(1, 9);
  t.group = in.integer(1, 17);
  t.tile_rows = in.integer(4, 200);
  t.tile_kv = in.integer(1, 300);
  t.workers = in.integer(1, 400);
  t.causal = in.integer(0, 1);
  t.window_left = in.number(3) == 0 ? static_cast<i64>(in.number(100000)) : -1;
  t.fixed_split_kv = in.number(4) == 0 ? in.integer(1, 5000) : 0;
  t.allow_split = in.number(5) == 0 ? 0 : 1;
  t.item_overhead = in.integer(0, 4);
  t.row_overhead = in.integer(0, 20);
  t.deal_first = in.integer(0, 1);
  const std::uint32_t requests = in.number(20);
  const std::uint32_t long_kv = in.number(4) == 0 ? 16000000u : 3000u;
  for (std::uint32_t r = 0; r < requests; ++r) {
    attention::Request request;
    request.q_len = static_cast<i32>(in.number(in.number(3) == 0 ? 150 : 3));
    request.kv_len = static_cast<i32>(in.number(t.fixed_split_kv > 0 ? 3000u : long_kv));
    p.requests.push_back(request);
  }
  plan::make_attention_plan(p);  // throws when the proof fails
  std::vector<int> parts(p.joins.size());
  for (const auto& item : p.items) {
    if (item.join >= 0) ++parts[static_cast<std::size_t>(item.join)];
  }
  for (std::size_t j = 0; j < parts.size(); ++j) {
    if (parts[j] != p.joins[j].parts) fail("a join waits for the wrong number of parts", p);
  }
  const auto loads = plan::worker_loads(p);
  for (i64 load : loads) {
    const bool cut = t.allow_split != 0 && t.fixed_split_kv == 0;
    if (cut && load > plan::load_bound(p) + plan::granularity(p)) fail("a worker has too much", p);
  }
}

}  // namespace

#ifdef WAVEFIRE_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plan_from(data, size);
  return 0;
}
#else
int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 5000;
  std::mt19937 random(2026);
  std::vector<std::uint8_t> input;
  for (int i = 0; i < count; ++i) {
    input.resize(random() % 300);
    for (auto& byte : input) byte = static_cast<std::uint8_t>(random());
    plan_from(input.data(), input.size());
  }
  std::printf("%d inputs planned and proved\n", count);
  return 0;
}
#endif
