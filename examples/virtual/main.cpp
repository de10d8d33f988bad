// Runs a kernel for AMD Instinct on this CPU, through HIP's functions, and lets the virtual
// Instinct find a mistake. Linked to libamdhip64 instead, the first half runs on the hardware.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "virtual/hip/hip_api.h"
#include "virtual/hip/virtual_instinct.h"

namespace {

constexpr int rows = 8, columns = 1000, threads = 256;

void check(hipError_t code, const char* what) {
  if (code == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(code));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

double largest_error(const std::vector<float>& in, const std::vector<float>& out) {
  double worst = 0;
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int i = 0; i < columns; ++i) sum += std::exp(double{in[row * columns + i]});
    for (int i = 0; i < columns; ++i) {
      const double expected = std::exp(double{in[row * columns + i]}) / sum;
      worst = std::max(worst, std::abs(out[row * columns + i] / expected - 1));
    }
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s softmax.gfx942.co\n", argv[0]);
    return 2;
  }
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  std::printf("%s, %s\n", properties.name, properties.gcnArchName);

  hipModule_t module = nullptr;
  hipFunction_t softmax = nullptr;
  CHECK(hipModuleLoad(&module, argv[1]));
  CHECK(hipModuleGetFunction(&softmax, module, "softmax"));

  std::vector<float> in(rows * columns), out(in.size());
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& value : in) value = normal(random);
  const std::size_t bytes = in.size() * sizeof(float);
  float *device_in = nullptr, *device_out = nullptr;
  CHECK(hipMalloc(&device_in, bytes));
  CHECK(hipMalloc(&device_out, bytes));
  CHECK(hipMemcpy(device_in, in.data(), bytes, hipMemcpyHostToDevice));

  int count = columns;
  void* arguments[] = {&device_in, &device_out, &count};
  CHECK(hipModuleLaunchKernel(softmax, rows, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(hipMemcpy(out.data(), device_out, bytes, hipMemcpyDeviceToHost));
  const double error = largest_error(in, out);
  std::printf("largest relative error: %.2g\n", error);

  // A row too many: the kernel reads beyond the end of the input.
  const hipError_t code =
      hipModuleLaunchKernel(softmax, rows + 1, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr);
  std::printf("\nwith a row too many: %s\n%s\n", hipGetErrorString(code),
              wavefireVirtualLastReport());

  [[maybe_unused]] const hipError_t told = hipDeviceSynchronize();
  CHECK(hipFree(device_in));
  CHECK(hipFree(device_out));
  CHECK(hipModuleUnload(module));
  return error < 1e-5 && code == hipErrorIllegalAddress ? 0 : 1;
}
