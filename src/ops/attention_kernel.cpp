#include "ops/attention_kernel.h"

#include <algorithm>

#include "core/host_device.h"
#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "device/devices.h"
#include "generate/target.h"
#include "tune/attention.h"

namespace wavefire::ops {
namespace {

constexpr const char* operation = "attention plan";

AttentionKernel cpu_kernel(const AttentionOptions& o, std::int64_t packed_rows) {
  const tune::AttentionProblem problem{
      o.head_dim_qk, o.head_dim_vo, o.num_kv_heads,
      o.q_dtype == DType::bf16 && o.kv_dtype == DType::bf16 && cpu::has_bf16_products()};
  const cpu::AttentionKernel* kernel =
      tune::select_attention(cpu::attention_kernels(), problem, packed_rows);
  // Few rows wait for memory: a tile costs about as much as the products of four rows. Many rows
  // pay for the transposition of K and the widening of V.
  return {.cpu = kernel,
          .tile_rows = kernel->tile_rows,
          .tile_kv = kernel->tile_kv,
          .heads_per_item = tune::bundle_heads(*kernel, o.num_kv_heads),
          .workers = o.workers > 0 ? o.workers : cpu::thread_count(),
          .row_overhead = kernel->few_rows ? 4 : 8};
}

[[noreturn]] void fail_option(const Place& place, const char* option, const std::string& value,
                              const std::string& supported) {
  core::fail_unsupported(operation, core::join("'", option, "' is ", value, "; kernels of ",
                                               place.gpu->id(), " take ", supported));
}

AttentionKernel gpu_kernel(const Place& place, const AttentionOptions& o,
                           std::int64_t packed_rows) {
  const auto architecture = generate::architecture_of_gpu(place.gpu->properties().architecture);
  if (o.q_dtype != DType::bf16 && o.q_dtype != DType::f16) {
    fail_option(place, "q_dtype", name_of(o.q_dtype), "float16 and bfloat16");
  }
  if (o.kv_dtype != o.q_dtype) {
    fail_option(place, "kv_dtype", name_of(o.kv_dtype), "that of q");
  }
  if (o.position_mode == PositionMode::rope_llama) {
    fail_option(place, "position_mode", "RoPE", "rotated queries and keys (apply_rope)");
  }
  const int head_dim = std::max(o.head_dim_qk, o.head_dim_vo);
  const std::optional<attention::Config> config =
      tune::gpu_attention(architecture, o.q_dtype, head_dim, packed_rows);
  if (!config) {
    fail_option(place, "head_dim", std::to_string(head_dim),
                core::join("up to ", tune::max_gpu_head_dim));
  }
  const generate::LoadedKernel& kernel = generate::kernel_on(*place.gpu, *config);
  const int all = kernel.blocks_per_multiprocessor * place.gpu->properties().multiprocessors;
  return {.gpu = &kernel,
          .tile_rows = config->tile_rows,
          .tile_kv = config->tile_kv,
          .workers = o.workers > 0 ? o.workers : all,
          .row_overhead = 16};  // reading K and V costs what the products of sixteen rows do
}

}  // namespace

Place attention_place(Device device) {
  if (device.type != DeviceType::cpu) return {device, &device::gpu_of(device)};
  if (core::host_device() == "cpu") return {device, nullptr};
  return {device, &device::open_gpu(core::host_device())};
}

AttentionKernel attention_kernel(const Place& place, const AttentionOptions& options,
                                 std::int64_t packed_rows) {
  return place.on_cpu() ? cpu_kernel(options, packed_rows)
                        : gpu_kernel(place, options, packed_rows);
}

}  // namespace wavefire::ops
