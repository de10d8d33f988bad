// Loading and launching: what is refused, and how it is told. Kernels run in launch_test.cpp.
#include <cstring>
#include <fstream>

#include "hip_support.h"

namespace instinct {
namespace {

class HipModule : public HipTest {};
INSTANTIATE_TEST_SUITE_P(Devices, HipModule, testing::Values(0, 1), device_name);

TEST_P(HipModule, loads_from_a_file_and_from_memory) {
  const auto file = read_kernels("loading", target());
  for (int way = 0; way < 3; ++way) {
    hipModule_t module = nullptr;
    const hipError_t code = way == 0 ? hipModuleLoadData(&module, file.data())
                            : way == 1
                                ? wavefireVirtualModuleLoad(&module, file.data(), file.size())
                                : hipModuleLoad(&module, kernel_path("loading", target()).c_str());
    ASSERT_EQ(code, hipSuccess) << wavefireVirtualLastError();
    EXPECT_STREQ(hipKernelNameRef(function(module, "sizes")), "sizes");
    EXPECT_EQ(function(module, "sizes"), function(module, "sizes"));
    EXPECT_EQ(hipModuleUnload(module), hipSuccess);
    EXPECT_EQ(hipModuleUnload(module), hipErrorInvalidHandle);
  }
}

TEST_P(HipModule, refuses_bad_images) {
  hipModule_t module = nullptr;
  EXPECT_EQ(hipModuleLoad(&module, "/nowhere.co"), hipErrorFileNotFound);
  expect_error_text({"/nowhere.co"});
  const std::string text(5000, 'x');
  EXPECT_EQ(hipModuleLoadData(&module, text.data()), hipErrorInvalidImage);
  expect_error_text({"not an ELF file"});
  EXPECT_EQ(hipModuleLoadData(&module, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(hipModuleLoadData(&module, reinterpret_cast<void*>(8)), hipErrorInvalidImage);
  auto file = read_kernels("loading", target());
  EXPECT_EQ(wavefireVirtualModuleLoad(&module, file.data(), file.size() / 2), hipErrorInvalidImage);
  expect_error_text({"truncated"});
  const auto other = read_kernels("loading", test_devices[1 - GetParam()]);
  EXPECT_EQ(hipModuleLoadData(&module, other.data()), hipErrorNoBinaryForGpu);
  expect_error_text({"gfx942", "gfx950"});
}

TEST_P(HipModule, refuses_an_executable_of_the_host) {
  hipModule_t module = nullptr;
  EXPECT_EQ(hipModuleLoad(&module, "/proc/self/exe"), hipErrorInvalidImage);
  expect_error_text({"AMDGPU"});
}

TEST_P(HipModule, finds_kernels_and_variables_by_name) {
  const hipModule_t module = load("loading");
  hipFunction_t found = nullptr;
  EXPECT_EQ(hipModuleGetFunction(&found, module, "absent"), hipErrorNotFound);
  expect_error_text({"absent"});
  void* pointer = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(hipModuleGetGlobal(&pointer, &bytes, module, "table"), hipSuccess);
  EXPECT_EQ(bytes, 16u);
  int table[4] = {};
  EXPECT_EQ(hipMemcpy(table, pointer, 16, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(table[2], 4);
  EXPECT_EQ(hipMemcpy(pointer, table, 17, hipMemcpyHostToDevice), hipSuccess);  // within .data
  EXPECT_EQ(hipModuleGetGlobal(&pointer, &bytes, module, "sizes"), hipErrorNotFound);
  EXPECT_EQ(hipModuleGetFunction(&found, reinterpret_cast<hipModule_t>(64), "sizes"),
            hipErrorInvalidHandle);
  EXPECT_EQ(hipModuleUnload(module), hipSuccess);
}

TEST_P(HipModule, tells_what_a_kernel_needs) {
  const hipModule_t module = load("loading");
  const hipFunction_t shares = function(module, "shares");
  const auto attribute = [&](hipFunction_attribute name) {
    int value = -1;
    EXPECT_EQ(hipFuncGetAttribute(&value, name, shares), hipSuccess);
    return value;
  };
  EXPECT_EQ(attribute(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 4000);
  EXPECT_EQ(attribute(HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 256);
  EXPECT_GT(attribute(HIP_FUNC_ATTRIBUTE_NUM_REGS), 0);
  int blocks = 0;
  EXPECT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shares, 256, 0),
            hipSuccess);
  EXPECT_EQ(blocks, 8);  // 4 SIMDs with 8 waves each; 4 waves in a block
  EXPECT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shares, 256, 28000),
            hipSuccess);
  EXPECT_EQ(blocks, GetParam() == 0 ? 2 : 5);  // by LDS
  int grid = 0;
  int block = 0;
  EXPECT_EQ(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, shares, 0, 0), hipSuccess);
  EXPECT_EQ(block % 64, 0);
  EXPECT_LE(block, 256);
  EXPECT_EQ(hipModuleUnload(module), hipSuccess);
}

class HipLaunchRefused : public HipTest {
 protected:
  void SetUp() override {
    HipTest::SetUp();
    module_ = load("loading");
  }
  void TearDown() override { EXPECT_EQ(hipModuleUnload(module_), hipSuccess); }

  hipError_t launch(const char* name, unsigned grid, unsigned block, unsigned lds,
                    void** parameters, void** extra = nullptr) {
    return hipModuleLaunchKernel(function(module_, name), grid, 1, 1, block, 1, 1, lds, nullptr,
                                 parameters, extra);
  }

  hipModule_t module_ = nullptr;
  void* null_ = nullptr;
  void* parameters_[5] = {&null_, &null_, &null_, &null_, &null_};
};
INSTANTIATE_TEST_SUITE_P(Devices, HipLaunchRefused, testing::Values(0, 1), device_name);

TEST_P(HipLaunchRefused, for_its_grid_and_block) {
  EXPECT_EQ(launch("arguments", 0, 64, 0, parameters_), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch("arguments", 1, 0, 0, parameters_), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch("arguments", 1, 65, 0, parameters_), hipErrorInvalidConfiguration);
  expect_error_text({"arguments", "65", "at most 64"});
  EXPECT_EQ(launch("sizes", 1, 1025, 0, parameters_), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch("sizes", 1u << 30, 64, 0, parameters_), hipErrorInvalidConfiguration);
}

TEST_P(HipLaunchRefused, for_its_lds) {
  const unsigned limit = (GetParam() == 0 ? 64 : 160) * 1024;
  EXPECT_EQ(launch("shares", 1, 256, limit - 3999, parameters_), hipErrorInvalidConfiguration);
  expect_error_text({"LDS", name_of(target())});
}

TEST_P(HipLaunchRefused, for_its_arguments) {
  EXPECT_EQ(launch("arguments", 1, 64, 0, nullptr), hipErrorInvalidValue);
  void* missing[5] = {&null_, &null_, nullptr, &null_, &null_};
  EXPECT_EQ(launch("arguments", 1, 64, 0, missing), hipErrorInvalidValue);
  expect_error_text({"argument 2"});
  char buffer[128] = {};
  for (size_t bytes : {size_t{0}, size_t{41}, size_t{49}, sizeof(buffer)}) {
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     HIP_LAUNCH_PARAM_END};
    EXPECT_EQ(launch("arguments", 1, 64, 0, nullptr, extra), hipErrorInvalidValue) << bytes;
    expect_error_text({"42 bytes"});
  }
  void* nonsense[] = {buffer, buffer, HIP_LAUNCH_PARAM_END};
  EXPECT_EQ(launch("arguments", 1, 64, 0, nullptr, nonsense), hipErrorInvalidValue);
  void* no_size[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, buffer, HIP_LAUNCH_PARAM_END};
  EXPECT_EQ(launch("arguments", 1, 64, 0, nullptr, no_size), hipErrorInvalidValue);
}

TEST_P(HipLaunchRefused, for_its_handles) {
  char nothing[64] = {};
  EXPECT_EQ(hipModuleLaunchKernel(reinterpret_cast<hipFunction_t>(nothing), 1, 1, 1, 64, 1, 1, 0,
                                  nullptr, parameters_, nullptr),
            hipErrorInvalidHandle);
  EXPECT_EQ(hipModuleLaunchKernel(function(module_, "sizes"), 1, 1, 1, 64, 1, 1, 0,
                                  reinterpret_cast<hipStream_t>(nothing), parameters_, nullptr),
            hipErrorInvalidHandle);
  ASSERT_EQ(hipSetDevice(1 - GetParam()), hipSuccess);  // its null stream is another
  EXPECT_EQ(launch("sizes", 1, 64, 0, parameters_), hipErrorInvalidHandle);
  ASSERT_EQ(hipSetDevice(GetParam()), hipSuccess);
}

}  // namespace
}  // namespace instinct
