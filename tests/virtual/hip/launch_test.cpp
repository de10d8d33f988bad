// Kernels through HIP: arguments in all their forms, order in streams and graphs, faults, profiles.
#include <cstring>
#include <numeric>
#include <thread>

#include "hip_support.h"

namespace instinct {
namespace {

class HipLaunch : public HipTest {
 protected:
  void SetUp() override {
    HipTest::SetUp();
    module_ = load("loading");
  }
  void TearDown() override {
    EXPECT_EQ(hipModuleUnload(module_), hipSuccess);
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  }

  hipError_t launch(const char* name, dim3 grid, dim3 block, unsigned lds,
                    std::vector<void*> parameters, hipStream_t stream = nullptr) {
    return hipModuleLaunchKernel(function(module_, name), grid.x, grid.y, grid.z, block.x, block.y,
                                 block.z, lds, stream, parameters.data(), nullptr);
  }

  hipModule_t module_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Devices, HipLaunch, testing::Values(0, 1), device_name);

struct Pair {
  int first;
  double second;
};

struct Arguments {
  const float* in;
  float* out;
  char letter;
  Pair pair;
  short n;
};

std::vector<float> counting() {
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

TEST_P(HipLaunch, takes_arguments_one_by_one_and_as_a_buffer) {
  const DeviceArray<float> in(counting());
  for (const bool as_buffer : {false, true}) {
    const DeviceArray<float> out(64);
    Arguments arguments = {in.data(), out.data(), 'A', {1000, 0.5}, -7};
    size_t bytes = sizeof(arguments);
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, HIP_LAUNCH_PARAM_END};
    void* parameters[] = {&arguments.in, &arguments.out, &arguments.letter, &arguments.pair,
                          &arguments.n};
    ASSERT_EQ(hipModuleLaunchKernel(function(module_, "arguments"), 1, 1, 1, 64, 1, 1, 0, nullptr,
                                    as_buffer ? nullptr : parameters, as_buffer ? extra : nullptr),
              hipSuccess)
        << wavefireVirtualLastError();
    const auto values = out.values();
    for (int i = 0; i < 64; ++i) {
      EXPECT_EQ(values[static_cast<size_t>(i)], static_cast<float>(i) * 0.5F + 65 + 1000 - 7);
    }
  }
}

TEST_P(HipLaunch, fills_in_the_hidden_arguments) {
  const DeviceArray<u32> out(6);
  u32* pointer = out.data();
  ASSERT_EQ(launch("sizes", dim3(2, 3, 4), dim3(8, 4, 2), 0, {&pointer}), hipSuccess);
  EXPECT_EQ(out.values(), (std::vector<u32>{8, 4, 2, 16, 12, 8}));
}

TEST_P(HipLaunch, gives_dynamic_lds) {
  const DeviceArray<int> out(512);
  int* pointer = out.data();
  ASSERT_EQ(launch("shares", 2, 256, 1024, {&pointer}), hipSuccess);
  const auto values = out.values();
  for (int i = 0; i < 512; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], 3 * (255 - i % 256));
}

TEST_P(HipLaunch, counts_threads_for_hip_ext) {
  const DeviceArray<int> out(512);
  int* pointer = out.data();
  void* parameters[] = {&pointer};
  hipEvent_t start = nullptr;
  hipEvent_t stop = nullptr;
  ASSERT_EQ(hipEventCreate(&start), hipSuccess);
  ASSERT_EQ(hipEventCreate(&stop), hipSuccess);
  const hipFunction_t shares = function(module_, "shares");
  EXPECT_EQ(hipExtModuleLaunchKernel(shares, 512, 1, 1, 256, 1, 1, 1024, nullptr, parameters,
                                     nullptr, start, stop),
            hipSuccess);
  EXPECT_EQ(
      hipExtModuleLaunchKernel(shares, 500, 1, 1, 256, 1, 1, 1024, nullptr, parameters, nullptr),
      hipErrorInvalidConfiguration);
  EXPECT_EQ(hipEventSynchronize(stop), hipSuccess);
  float milliseconds = -1;
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, start, stop), hipSuccess);
  EXPECT_GT(milliseconds, 0);
  EXPECT_EQ(out.values()[511], 0);
  EXPECT_EQ(hipEventDestroy(start), hipSuccess);
  EXPECT_EQ(hipEventDestroy(stop), hipSuccess);
}

TEST_P(HipLaunch, sees_variables_that_the_host_set) {
  void* table = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(hipModuleGetGlobal(&table, &bytes, module_, "table"), hipSuccess);
  const int values[4] = {10, 20, 30, 40};
  ASSERT_EQ(hipMemcpy(table, values, 16, hipMemcpyHostToDevice), hipSuccess);
  const DeviceArray<int> out(64);
  int* pointer = out.data();
  ASSERT_EQ(launch("symbols", 1, 64, 0, {&pointer}), hipSuccess);
  EXPECT_EQ(out.values()[1], 20 + 30 + 4);
}

TEST_P(HipLaunch, is_captured_and_its_arguments_are_exchanged) {
  const DeviceArray<float> in(counting());
  const DeviceArray<float> out(64);
  Arguments arguments = {in.data(), out.data(), 0, {0, 2.0}, 0};
  std::vector<void*> parameters = {&arguments.in, &arguments.out, &arguments.letter,
                                   &arguments.pair, &arguments.n};
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  ASSERT_EQ(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipSuccess);
  ASSERT_EQ(launch("arguments", 1, 64, 0, parameters, stream), hipSuccess);
  hipGraph_t graph = nullptr;
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
  hipGraphNode_t node = nullptr;
  size_t count = 1;
  ASSERT_EQ(hipGraphGetNodes(graph, &node, &count), hipSuccess);
  hipKernelNodeParams params;
  ASSERT_EQ(hipGraphKernelNodeGetParams(node, &params), hipSuccess);
  EXPECT_EQ(params.blockDim.x, 64u);
  EXPECT_EQ(static_cast<Pair*>(params.kernelParams[3])->second, 2.0);

  hipGraphExec_t exec = nullptr;
  ASSERT_EQ(hipGraphInstantiateWithFlags(&exec, graph, 0), hipSuccess);
  arguments.pair.second = 99;  // the graph has its own copy
  ASSERT_EQ(hipGraphLaunch(exec, stream), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(out.values()[10], 20.0F);

  arguments.pair.second = 3;
  params.kernelParams = parameters.data();
  ASSERT_EQ(hipGraphExecKernelNodeSetParams(exec, node, &params), hipSuccess);
  ASSERT_EQ(hipGraphLaunch(exec, stream), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(out.values()[10], 30.0F);
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
}

TEST_P(HipLaunch, tells_faults_when_it_runs_and_when_it_is_waited_for) {
  const DeviceArray<float> in(counting());
  float* inside = nullptr;
  ASSERT_EQ(hipMalloc(&inside, 4), hipSuccess);
  Arguments arguments = {in.data(), inside, 0, {0, 2.0}, 0};
  const std::vector<void*> parameters = {&arguments.in, &arguments.out, &arguments.letter,
                                         &arguments.pair, &arguments.n};
  const u64 before = wavefireVirtualReportCount();
  const hipError_t code = launch("arguments", 1, 64, 0, parameters);
  const char* mode = std::getenv("WAVEFIRE_VIRTUAL_STREAMS");
  const bool eager = !mode || std::string(mode) == "eager";
  EXPECT_EQ(code, eager ? hipErrorIllegalAddress : hipSuccess);
  EXPECT_EQ(hipDeviceSynchronize(), hipErrorIllegalAddress);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);  // told once
  EXPECT_EQ(hipGetLastError(), hipErrorIllegalAddress);
  EXPECT_EQ(wavefireVirtualReportCount(), before + 1);
  const std::string report = wavefireVirtualLastReport();
  EXPECT_NE(report.find("kernel arguments"), report.npos) << report;
  EXPECT_NE(report.find("lane 1"), report.npos) << report;
  EXPECT_NE(report.find("loading.hip:"), report.npos) << report;
  EXPECT_EQ(hipFree(inside), hipSuccess);
}

TEST_P(HipLaunch, needs_its_module) {
  const hipModule_t module = load("loading");
  const hipFunction_t sizes = function(module, "sizes");
  const DeviceArray<u32> out(6);
  u32* pointer = out.data();
  void* parameters[] = {&pointer};
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  ASSERT_EQ(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipSuccess);
  ASSERT_EQ(hipModuleLaunchKernel(sizes, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr),
            hipSuccess);
  hipGraph_t graph = nullptr;
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
  hipGraphExec_t exec = nullptr;
  ASSERT_EQ(hipGraphInstantiateWithFlags(&exec, graph, 0), hipSuccess);
  // What was submitted before still runs.
  ASSERT_EQ(hipModuleLaunchKernel(sizes, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr),
            hipSuccess);
  ASSERT_EQ(hipModuleUnload(module), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(out.values()[0], 64u);

  EXPECT_EQ(hipModuleLaunchKernel(sizes, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr),
            hipErrorInvalidHandle);
  EXPECT_EQ(hipGraphLaunch(exec, stream), hipErrorInvalidHandle);
  expect_error_text({"sizes", "unloaded"});
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
}

TEST_P(HipLaunch, is_given_by_several_threads) {
  constexpr int thread_count = 2;
  const DeviceArray<u32> out(6 * thread_count);
  const hipFunction_t sizes = function(module_, "sizes");
  const auto work = [&](unsigned number) {
    ASSERT_EQ(hipSetDevice(GetParam()), hipSuccess);
    hipStream_t stream = nullptr;
    ASSERT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
    u32* pointer = out.data() + 6 * static_cast<size_t>(number);
    void* parameters[] = {&pointer};
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(hipModuleLaunchKernel(sizes, 1, 1, 1, 64 * (number + 1), 1, 1, 0, stream,
                                      parameters, nullptr),
                hipSuccess);
    }
    EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  };
  std::thread one(work, 0);
  std::thread two(work, 1);
  one.join();
  two.join();
  const auto values = out.values();
  EXPECT_EQ(values[0], 64u);
  EXPECT_EQ(values[6], 128u);
}

TEST_P(HipLaunch, uses_registered_host_memory) {
  std::vector<u32> host(6);
  u32* pointer = host.data();
  EXPECT_NE(launch("sizes", 1, 64, 0, {&pointer}), hipErrorInvalidValue);
  EXPECT_EQ(hipDeviceSynchronize() == hipErrorIllegalAddress || hipGetLastError() != hipSuccess,
            true);
  hipGetLastError();
  ASSERT_EQ(hipHostRegister(host.data(), 24, hipHostRegisterDefault), hipSuccess);
  EXPECT_EQ(launch("sizes", 1, 64, 0, {&pointer}), hipSuccess);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(host[0], 64u);
  EXPECT_EQ(hipHostUnregister(host.data()), hipSuccess);
}

TEST_P(HipLaunch, counts_instructions_if_asked) {
  const DeviceArray<u32> out(6);
  u32* pointer = out.data();
  ASSERT_EQ(wavefireVirtualSetProfiling(1), hipSuccess);
  EXPECT_EQ(launch("sizes", 1, 64, 0, {&pointer}), hipSuccess);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  ASSERT_EQ(wavefireVirtualSetProfiling(0), hipSuccess);
  EXPECT_NE(std::string(wavefireVirtualLastProfile()).find("sizes"), std::string::npos);
}

TEST_P(HipLaunch, takes_its_checks_seed_and_threads) {
  EXPECT_EQ(wavefireVirtualSetChecks("bounds,nonsense"), hipErrorInvalidValue);
  EXPECT_EQ(wavefireVirtualSetThreads(-1), hipErrorInvalidValue);
  for (const u64 seed : {0, 1, 2}) {
    EXPECT_EQ(wavefireVirtualSetChecks(seed == 1 ? "none" : "all"), hipSuccess);
    EXPECT_EQ(wavefireVirtualSetSeed(seed), hipSuccess);
    EXPECT_EQ(wavefireVirtualSetThreads(static_cast<int>(seed)), hipSuccess);
    const DeviceArray<int> out(512);
    int* pointer = out.data();
    ASSERT_EQ(launch("shares", 2, 256, 1024, {&pointer}), hipSuccess);
    EXPECT_EQ(out.values()[0], 3 * 255);
  }
  EXPECT_EQ(wavefireVirtualSetSeed(0), hipSuccess);
  EXPECT_EQ(wavefireVirtualSetThreads(0), hipSuccess);
}

}  // namespace
}  // namespace instinct
