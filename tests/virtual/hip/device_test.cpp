#include <cstring>

#include "hip_support.h"

namespace instinct {
namespace {

class HipDevice : public HipTest {};
INSTANTIATE_TEST_SUITE_P(Devices, HipDevice, testing::Values(0, 1), device_name);

TEST_P(HipDevice, is_counted_and_chosen) {
  int count = 0;
  EXPECT_EQ(hipGetDeviceCount(&count), hipSuccess);
  EXPECT_EQ(count, 2);
  int device = -1;
  EXPECT_EQ(hipGetDevice(&device), hipSuccess);
  EXPECT_EQ(device, GetParam());
  EXPECT_EQ(hipSetDevice(2), hipErrorInvalidDevice);
  EXPECT_EQ(hipSetDevice(-1), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetDevice(&device), hipSuccess);
  EXPECT_EQ(device, GetParam());
}

TEST_P(HipDevice, stays_the_one_that_it_is) {
  EXPECT_EQ(wavefireVirtualSetDevices("gfx950"), hipErrorIllegalState);
  expect_error_text({"wavefireVirtualSetDevices", "there are devices already"});
  EXPECT_EQ(wavefireVirtualSetDevices("gfx90a"), hipErrorInvalidValue);
  expect_error_text({"gfx90a", "a list of gfx942 and gfx950"});
  EXPECT_EQ(wavefireVirtualSetDevices(nullptr), hipErrorInvalidValue);
  hipGetLastError();
}

TEST_P(HipDevice, has_the_properties_of_its_target) {
  hipDeviceProp_t properties;
  ASSERT_EQ(hipGetDeviceProperties(&properties, GetParam()), hipSuccess);
  EXPECT_EQ(std::string(properties.gcnArchName).find(name_of(target())), 0u);
  EXPECT_EQ(properties.warpSize, 64);
  EXPECT_EQ(properties.sharedMemPerBlock, (GetParam() == 0 ? 64u : 160u) * 1024);
  EXPECT_EQ(properties.multiProcessorCount, GetParam() == 0 ? 304 : 256);
  EXPECT_EQ(properties.totalGlobalMem, 1u << 30);
  EXPECT_EQ(properties.major, 9);
}

TEST_P(HipDevice, tells_the_same_by_attribute) {
  hipDeviceProp_t properties;
  ASSERT_EQ(hipGetDeviceProperties(&properties, GetParam()), hipSuccess);
  const auto attribute = [&](hipDeviceAttribute_t name) {
    int value = -1;
    EXPECT_EQ(hipDeviceGetAttribute(&value, name, GetParam()), hipSuccess);
    return value;
  };
  EXPECT_EQ(attribute(hipDeviceAttributeWarpSize), properties.warpSize);
  EXPECT_EQ(attribute(hipDeviceAttributeMultiprocessorCount), properties.multiProcessorCount);
  EXPECT_EQ(attribute(hipDeviceAttributeComputeCapabilityMinor), properties.minor);
  EXPECT_EQ(attribute(hipDeviceAttributeClockRate), properties.clockRate);
  EXPECT_EQ(attribute(hipDeviceAttributeMaxSharedMemoryPerBlock),
            static_cast<int>(properties.sharedMemPerBlock));
  int value = 0;
  EXPECT_EQ(hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(4711), GetParam()),
            hipErrorInvalidValue);
  expect_error_text({"hipDeviceGetAttribute", "4711"});
}

TEST_P(HipDevice, keeps_the_last_error_of_the_thread) {
  EXPECT_EQ(hipGetLastError(), hipSuccess);
  EXPECT_EQ(hipSetDevice(17), hipErrorInvalidDevice);
  int count = 0;
  EXPECT_EQ(hipGetDeviceCount(&count), hipSuccess);  // does not clear it
  EXPECT_EQ(hipPeekAtLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipSuccess);
  expect_error_text({"hipSetDevice", "17", "hipErrorInvalidDevice"});
}

TEST(HipErrors, have_names_and_texts) {
  EXPECT_STREQ(hipGetErrorName(hipErrorNoBinaryForGpu), "hipErrorNoBinaryForGpu");
  EXPECT_STREQ(hipGetErrorString(hipErrorOutOfMemory), "out of memory");
  EXPECT_STREQ(hipGetErrorName(static_cast<hipError_t>(12345)), "hipErrorUnknown");
  const char* text = nullptr;
  EXPECT_EQ(hipDrvGetErrorString(hipSuccess, &text), hipSuccess);
  EXPECT_STREQ(text, "no error");
}

}  // namespace
}  // namespace instinct
