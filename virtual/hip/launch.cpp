#include "virtual/hip/launch.h"

#include "virtual/kernarg.h"

namespace instinct::hip {
namespace {

// HIP_LAUNCH_PARAM_*: pairs of a tag and a value.
std::span<const std::byte> buffer_of(void** extra) {
  const std::byte* data = nullptr;
  const std::size_t* size = nullptr;
  constexpr int max_pairs = 8;
  for (int i = 0; i < max_pairs; ++i) {
    void* tag = extra[2 * i];
    if (tag == HIP_LAUNCH_PARAM_END) break;
    void* value = extra[2 * i + 1];
    if (tag == HIP_LAUNCH_PARAM_BUFFER_POINTER) {
      data = static_cast<const std::byte*>(value);
    } else if (tag == HIP_LAUNCH_PARAM_BUFFER_SIZE) {
      size = static_cast<const std::size_t*>(value);
    } else {
      throw Failure(hipErrorInvalidValue, "extra: neither a HIP_LAUNCH_PARAM tag nor its end");
    }
  }
  require(size && (data || *size == 0), "extra: no buffer, or no size");
  return {data, *size};
}

}  // namespace

KernelRun make_run(std::shared_ptr<Function> function, Dim3 grid, Dim3 block, u64 dynamic_lds,
                   void** parameters, void** extra) {
  const Kernel& kernel = *function->kernel;
  require(dynamic_lds <= 0xffffffff, "dynamic LDS of 4 GiB or more");
  require(!parameters || !extra, "arguments are given twice: by kernelParams and by extra");
  KernelRun run;
  run.grid = grid;
  run.block = block;
  run.dynamic_lds = static_cast<u32>(dynamic_lds);
  if (extra) {
    const auto buffer = buffer_of(extra);
    run.arguments.assign(buffer.begin(), buffer.end());
  } else {
    run.arguments = pack_arguments(kernel, parameters);
  }
  make_kernarg(kernel, run.arguments, grid, block, run.dynamic_lds);  // checks their size
  run.function = std::move(function);
  return run;
}

std::shared_ptr<Function> function_of(const void* function) {
  if (auto found = registered_function(function)) return found;
  return Runtime::get().functions.find(
      reinterpret_cast<hipFunction_t>(const_cast<void*>(function)));
}

}  // namespace instinct::hip
