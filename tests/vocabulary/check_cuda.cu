// Runs the attention kernels of sm_80 and sm_90a on a GPU and compares them with float64.
//
//   check_cuda attention_sm80.cubin attention_sm90.cubin
//
// Unused page slots hold NaN, outputs start as NaN. Exit status 0: every case is within tolerance.
#include <cuda.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "attention/params.h"
#include "tile/tensor_map.h"

namespace {

using namespace wavefire;
using namespace wavefire::attention;
using tile::KvTensorMaps;

constexpr int head_dim = 128;
/// What this file has to know of a kernel.
struct Kernel {
  const char* name;
  int tile_rows, tile_kv;
  int threads;
  int shared_bytes;
  bool tensor_maps;
};
constexpr int barrier_bytes = 1024;
constexpr Kernel kernels[] = {
    {"attention_sm80", 64, 64, 128, (4 * 64 + 64) * head_dim * 2, false},
    {"attention_sm90", 128, 128, 384, (5 * 128 + 2 * 128) * head_dim * 2 + barrier_bytes, true},
};

void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(result, &text);
  std::fprintf(stderr, "%s: %s\n", what, text != nullptr ? text : "unknown error");
  std::exit(2);
}
#define MUST(call) must(call, #call)

std::uint16_t to_bf16(float f) {
  std::uint32_t u;
  std::memcpy(&u, &f, 4);
  return static_cast<std::uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
float from_bf16(std::uint16_t h) {
  const std::uint32_t u = static_cast<std::uint32_t>(h) << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}

struct Case {
  const char* name;
  std::vector<int> q_len, kv_len;
  int qo_heads, kv_heads, page_size;
  bool causal;
  int window_left;
  int splits;  // parts of every KV range
  float soft_cap;
};

template <class T>
CUdeviceptr upload(const std::vector<T>& host) {
  CUdeviceptr p;
  MUST(cuMemAlloc(&p, std::max<std::size_t>(host.size() * sizeof(T), 16)));
  if (!host.empty()) MUST(cuMemcpyHtoD(p, host.data(), host.size() * sizeof(T)));
  return p;
}
template <class T>
T* as(CUdeviceptr p) {
  return reinterpret_cast<T*>(p);
}

/// The data of a case: pages in random order, NaN wherever no token lies.
struct Batch {
  std::vector<std::uint16_t> q, k, v;  // bf16; k, v [pages, page_size, kv_heads, head_dim]
  std::vector<i32> table;
  std::vector<Request> requests;
  int pages = 0, tokens = 0;
};

Batch make_batch(const Case& c, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Batch b;
  int entries = 0;
  for (int len : c.kv_len) entries += (len + c.page_size - 1) / c.page_size;
  b.pages = entries * 2 + 1;
  b.table.resize(b.pages);
  std::iota(b.table.begin(), b.table.end(), 0);
  std::shuffle(b.table.begin(), b.table.end(), random);
  b.table.resize(std::max(entries, 1));
  const std::size_t row = std::size_t(c.kv_heads) * head_dim;
  b.k.assign(std::size_t(b.pages) * c.page_size * row, 0x7fc0);
  b.v = b.k;
  int entry = 0;
  for (std::size_t r = 0; r < c.q_len.size(); ++r) {
    b.requests.push_back({b.tokens, entry, 0, c.q_len[r], c.kv_len[r]});
    for (int t = 0; t < c.kv_len[r]; ++t) {
      const std::size_t slot =
          std::size_t(b.table[entry + t / c.page_size]) * c.page_size + t % c.page_size;
      for (std::size_t d = 0; d < row; ++d) {
        b.k[slot * row + d] = to_bf16(normal(random));
        b.v[slot * row + d] = to_bf16(normal(random));
      }
    }
    entry += (c.kv_len[r] + c.page_size - 1) / c.page_size;
    b.tokens += c.q_len[r];
  }
  b.q.resize(std::max<std::size_t>(std::size_t(b.tokens) * c.qo_heads * head_dim, 1));
  for (auto& x : b.q) x = to_bf16(normal(random));
  return b;
}

/// The keys that a token sees.
std::pair<int, int> visible(const Case& c, const Request& r, int token) {
  const int position = token + r.kv_len - r.q_len;
  int low = 0, high = r.kv_len;
  if (c.causal) high = std::min(high, position + 1);
  if (c.window_left >= 0) low = std::max(low, position - c.window_left);
  return {low, std::max(high, 0)};
}

struct List {
  std::vector<WorkItem> items;
  std::vector<Join> joins;
  int partial_rows = 0;
};

List make_list(const Case& c, const Batch& b, int tile_rows) {
  List list;
  const int group = c.qo_heads / c.kv_heads;
  for (int r = 0; r < int(b.requests.size()); ++r) {
    for (int h = 0; h < c.kv_heads; ++h) {
      const int rows = b.requests[r].q_len * group;
      for (int row = 0; row < rows; row += tile_rows) {
        const int count = std::min(tile_rows, rows - row);
        const int low = std::max(visible(c, b.requests[r], row / group).first, 0);
        const int high = visible(c, b.requests[r], (row + count - 1) / group).second;
        if (c.splits == 1) {
          list.items.push_back({r, h, row, count, low, std::max(low, high), -1, -1});
          continue;
        }
        list.joins.push_back({r, h, row, count, list.partial_rows, c.splits});
        const int step = std::max((high - low + c.splits - 1) / c.splits, 0);
        for (int s = 0; s < c.splits; ++s) {
          const int from = std::min(low + s * step, std::max(low, high));
          list.items.push_back({r, h, row, count, from, std::max(from, std::min(from + step, high)),
                                list.partial_rows, int(list.joins.size()) - 1});
          list.partial_rows += count;
        }
      }
    }
  }
  return list;
}

/// Largest deviation from float64, of the output and of the LSE; infinite for NaN.
void compare(const Case& c, const Batch& b, const std::vector<float>& out,
             const std::vector<float>& lse, double& out_error, double& lse_error) {
  const int group = c.qo_heads / c.kv_heads;
  const double scale = 1 / std::sqrt(double(head_dim));
  auto worse = [](double& error, double reference, double value) {
    const double e = reference == value ? 0 : std::fabs(reference - value);
    if (!(e <= error)) error = std::isnan(e) ? INFINITY : e;
  };
  for (const Request& r : b.requests) {
    for (int t = 0; t < r.q_len; ++t) {
      for (int h = 0; h < c.qo_heads; ++h) {
        const auto [low, high] = visible(c, r, t);
        const std::size_t at = std::size_t(r.q_begin + t) * c.qo_heads + h;
        auto row = [&](int j) {
          const std::size_t slot =
              std::size_t(b.table[r.kv_begin + j / c.page_size]) * c.page_size + j % c.page_size;
          return (slot * c.kv_heads + h / group) * head_dim;
        };
        double total = 0, top = -INFINITY;
        std::vector<double> logit, sum(head_dim);
        for (int j = low; j < high; ++j) {
          double x = 0;
          for (int d = 0; d < head_dim; ++d) {
            x += double(from_bf16(b.q[at * head_dim + d])) * from_bf16(b.k[row(j) + d]);
          }
          x *= scale;
          if (c.soft_cap > 0) x = c.soft_cap * std::tanh(x / c.soft_cap);
          logit.push_back(x);
          top = std::max(top, x);
        }
        for (int j = low; j < high; ++j) {
          const double w = std::exp(logit[j - low] - top);
          total += w;
          for (int d = 0; d < head_dim; ++d) sum[d] += w * from_bf16(b.v[row(j) + d]);
        }
        for (int d = 0; d < head_dim; ++d) {
          worse(out_error, high > low ? sum[d] / total : 0, out[at * head_dim + d]);
        }
        worse(lse_error, high > low ? (top + std::log(total)) / std::log(2.) : -INFINITY, lse[at]);
      }
    }
  }
}

KvTensorMaps make_maps(const Case& c, const Batch& b, int tile_kv, CUdeviceptr k, CUdeviceptr v) {
  KvTensorMaps maps{};
  const bool fit = c.page_size % tile_kv == 0 || (tile_kv % c.page_size == 0 && c.page_size >= 8);
  if (!fit) return maps;
  maps.box_rows = std::min(tile_kv, c.page_size);
  const CUdeviceptr data[2] = {k, v};
  for (int i = 0; i < 2; ++i) {
    const cuuint64_t row = std::uint64_t(c.kv_heads) * head_dim * 2;
    const cuuint64_t dims[4] = {head_dim, cuuint64_t(c.page_size), cuuint64_t(c.kv_heads),
                                cuuint64_t(b.pages)};
    const cuuint64_t strides[3] = {row, head_dim * 2, row * c.page_size};
    const cuuint32_t box[4] = {64, cuuint32_t(maps.box_rows), 1, 1};
    const cuuint32_t steps[4] = {1, 1, 1, 1};
    MUST(cuTensorMapEncodeTiled(reinterpret_cast<CUtensorMap*>(&maps.map[i]),
                                CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, as<void>(data[i]), dims,
                                strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  }
  return maps;
}

bool run_case(const Case& c, const Kernel& kernel, CUfunction function) {
  std::mt19937 random(7);
  const Batch b = make_batch(c, random);
  const List list = make_list(c, b, kernel.tile_rows);
  constexpr int workers = 5;
  std::vector<WorkItem> items;
  std::vector<i32> begin = {0};
  for (int w = 0; w < workers; ++w) {
    for (std::size_t i = w; i < list.items.size(); i += workers) items.push_back(list.items[i]);
    begin.push_back(i32(items.size()));
  }
  std::vector<float> out(std::size_t(b.tokens) * c.qo_heads * head_dim, NAN);
  std::vector<float> lse(std::size_t(b.tokens) * c.qo_heads, NAN);

  LaunchParams<KvTensorMaps> p{};
  const CUdeviceptr q = upload(b.q), k = upload(b.k), v = upload(b.v), o = upload(out),
                    l = upload(lse), table = upload(b.table), requests = upload(b.requests),
                    work = upload(items), worker_begin = upload(begin), joins = upload(list.joins),
                    arrivals = upload(std::vector<i32>(list.joins.size() + 1)),
                    partial_o =
                        upload(std::vector<float>(std::size_t(list.partial_rows) * head_dim, NAN)),
                    partial_lse = upload(std::vector<float>(list.partial_rows, NAN));
  const i64 row = i64{c.kv_heads} * head_dim;
  p.q = as<void>(q), p.o = as<void>(o), p.lse = as<float>(l);
  p.q_stride_token = p.o_stride_token = i64{c.qo_heads} * head_dim;
  p.q_stride_head = p.o_stride_head = head_dim;
  p.lse_stride_token = c.qo_heads, p.lse_stride_head = 1;
  p.k[0] = {as<void>(k), row * c.page_size, row, head_dim, head_dim};
  p.v = {as<void>(v), row * c.page_size, row, head_dim, head_dim};
  p.page_table = as<i32>(table), p.page_table_size = i64(b.table.size()), p.num_pages = b.pages;
  p.page_size = c.page_size;
  p.requests = as<Request>(requests), p.items = as<WorkItem>(work);
  p.worker_begin = as<i32>(worker_begin), p.joins = as<Join>(joins);
  p.join_arrivals = as<i32>(arrivals);
  p.partial_o = as<float>(partial_o), p.partial_lse = as<float>(partial_lse);
  p.workers = workers, p.num_qo_heads = c.qo_heads, p.num_kv_heads = c.kv_heads;
  p.group = c.qo_heads / c.kv_heads, p.head_dim_qk = p.head_dim_vo = head_dim;
  p.o_dtype = DType::f32, p.sm_scale = float(1 / std::sqrt(double(head_dim)));
  p.soft_cap = c.soft_cap, p.causal = c.causal, p.window_left = c.window_left;
  if (kernel.tensor_maps) p.tail = make_maps(c, b, kernel.tile_kv, k, v);

  void* arguments[] = {&p};
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second launch finds the join counters at zero
    MUST(cuLaunchKernel(function, workers, 1, 1, kernel.threads, 1, 1, kernel.shared_bytes, nullptr,
                        arguments, nullptr));
    MUST(cuCtxSynchronize());
  }
  if (!out.empty()) MUST(cuMemcpyDtoH(out.data(), o, out.size() * 4));
  if (!lse.empty()) MUST(cuMemcpyDtoH(lse.data(), l, lse.size() * 4));
  for (CUdeviceptr d : {q, k, v, o, l, table, requests, work, worker_begin, joins, arrivals,
                        partial_o, partial_lse}) {
    MUST(cuMemFree(d));
  }
  double out_error = 0, lse_error = 0;
  compare(c, b, out, lse, out_error, lse_error);
  // Weights and values are rounded to bf16 (2^-9 relative each); LSE comes from float32 scores.
  const bool good = out_error < 1.5e-2 && lse_error < 2e-3;
  std::printf("%-14s %-38s output %.2e  lse %.2e  %s\n", kernel.name, c.name, out_error, lse_error,
              good ? "ok" : "WRONG");
  return good;
}

const Case cases[] = {
    {"decode, group 4, page 16", {1, 1, 1}, {1, 300, 77}, 8, 2, 16, false, -1, 1, 0},
    {"decode split in 3, page 1", {1, 1}, {500, 65}, 4, 4, 1, false, -1, 3, 0},
    {"prefill causal, page 64", {130, 64}, {130, 200}, 4, 2, 64, true, -1, 1, 0},
    {"prefill causal, page 128, whole tiles", {64}, {512}, 2, 1, 128, true, -1, 1, 0},
    {"prefill causal split in 2, page 64", {100}, {333}, 6, 2, 64, true, -1, 2, 0},
    {"window 20, page 16, group 3", {50, 7}, {200, 60}, 3, 1, 16, true, 20, 1, 0},
    {"full, 7 tiles of keys, page 8", {200}, {900}, 2, 1, 8, false, -1, 1, 0},
    {"full, soft cap, group 5, page 3", {33}, {97}, 5, 1, 3, false, -1, 1, 8},
    {"empty kv, empty q, short kv", {5, 0, 5}, {0, 40, 2}, 4, 2, 16, true, -1, 1, 0},
    {"empty kv split", {3, 2}, {0, 90}, 4, 2, 64, true, -1, 2, 0},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: check_cuda attention_sm80.cubin attention_sm90.cubin\n");
    return 2;
  }
  MUST(cuInit(0));
  CUdevice device;
  MUST(cuDeviceGet(&device, 0));
  CUcontext context;
  MUST(cuDevicePrimaryCtxRetain(&context, device));
  MUST(cuCtxSetCurrent(context));
  int wrong = 0, run = 0;
  for (int arch = 0; arch < 2; ++arch) {
    const Kernel& kernel = kernels[arch];
    CUmodule module;
    MUST(cuModuleLoad(&module, argv[1 + arch]));
    CUfunction function;
    MUST(cuModuleGetFunction(&function, module, kernel.name));
    MUST(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                            kernel.shared_bytes));
    for (const Case& c : cases) {
      ++run;
      wrong += run_case(c, kernel, function) ? 0 : 1;
    }
  }
  std::printf("%d cases, %d wrong\n", run, wrong);
  return wrong == 0 ? 0 : 1;
}
