#include "ops/attention_kernel.h"

#include <algorithm>

#include "core/host_device.h"
#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "device/devices.h"
#include "generate/target.h"
#include "ops/tensor_maps.h"
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
  // Threads take shares as they become free: several for each thread even out what others do on the
  // same cores.
  constexpr int shares = 4;
  return {.cpu = kernel,
          .tile_rows = kernel->tile_rows,
          .tile_kv = kernel->tile_kv,
          .heads_per_item = tune::bundle_heads(*kernel, o.num_kv_heads),
          .workers = o.workers > 0 ? o.workers : shares * cpu::thread_count(),
          .row_overhead = kernel->few_rows ? 4 : 8};
}

[[noreturn]] void fail_option(const Place& place, const char* option, const std::string& value,
                              const std::string& supported) {
  core::fail_unsupported(operation, core::join("'", option, "' is ", value, "; kernels of ",
                                               place.gpu->id(), " take ", supported));
}

AttentionKernel gpu_kernel(const Place& place, const AttentionOptions& o, bool custom_mask,
                           std::int64_t packed_rows) {
  const auto architecture = generate::architecture_of_gpu(place.gpu->properties().architecture);
  const tune::GpuAttentionLimits limits = tune::gpu_attention_limits(architecture);
  const bool rotates = o.position_mode == PositionMode::rope_llama;
  if (!limits.all_types) {
    if (o.q_dtype == DType::f32) {
      fail_option(place, "q_dtype", name_of(o.q_dtype), "float16 and bfloat16");
    }
    if (o.kv_dtype != o.q_dtype) fail_option(place, "kv_dtype", name_of(o.kv_dtype), "that of q");
    if (rotates) {
      fail_option(place, "position_mode", "RoPE", "rotated queries and keys (apply_rope)");
    }
  }
  const int head_dim = std::max(o.head_dim_qk, o.head_dim_vo);
  tune::GpuAttentionProblem problem{o.q_dtype, o.kv_dtype, rotates, head_dim, custom_mask};
  auto chosen = tune::gpu_attention(architecture, problem, packed_rows);
  // Where nothing can be compiled and only PTX is built in, the portable kernel serves.
  if (chosen && chosen->architecture != architecture &&
      !generate::has_kernel_on(*place.gpu, chosen->config, chosen->architecture)) {
    problem.portable = true;
    chosen = tune::gpu_attention(architecture, problem, packed_rows);
  }
  if (!chosen) {
    fail_option(place, "head_dim", std::to_string(head_dim), core::join("up to ", limits.head_dim));
  }
  const generate::LoadedKernel& kernel =
      generate::kernel_on(*place.gpu, chosen->config, chosen->architecture);
  const int all = kernel.blocks_per_multiprocessor * place.gpu->properties().multiprocessors;
  return {.gpu = &kernel,
          .tile_rows = chosen->config.tile_rows,
          .tile_kv = chosen->config.tile_kv,
          .workers = o.workers > 0 ? o.workers : all,
          // Reading K and V costs what the products of sixteen rows do.
          .row_overhead = 16,
          // Blocks that read the same keys at a time find them in the L2 cache.
          .deals_units =
              generate::target_of(chosen->architecture).platform == generate::Platform::cuda &&
              !chosen->config.few_rows,
          .tensor_maps = chosen->config.tensor_maps};
}

}  // namespace

Place attention_place(Device device) {
  if (device.type != DeviceType::cpu) return {device, &device::gpu_of(device)};
  if (core::host_device() == "cpu") return {device, nullptr};
  return {device, &device::open_gpu(core::host_device())};
}

AttentionKernel attention_kernel(const Place& place, const AttentionOptions& options,
                                 bool custom_mask, std::int64_t packed_rows) {
  return place.on_cpu() ? cpu_kernel(options, packed_rows)
                        : gpu_kernel(place, options, custom_mask, packed_rows);
}

void launch(const Place& place, const AttentionKernel& kernel, const attention::Params& params,
            std::int64_t kv_rows) {
  const auto blocks = static_cast<unsigned>(kernel.workers);
  struct Nothing {};
  if (kernel.tensor_maps) {
    const tile::KvTensorMaps maps = kv_tensor_maps(place, params, kernel.tile_kv, kv_rows);
    kernel.gpu->launch(blocks, attention::LaunchParams<tile::KvTensorMaps>{params, maps},
                       place.stream());
  } else {
    kernel.gpu->launch(blocks, attention::LaunchParams<Nothing>{params, {}}, place.stream());
  }
}

}  // namespace wavefire::ops
