#include <cstring>
#include <numeric>

#include "hip_support.h"

namespace instinct {
namespace {

class HipMemory : public HipTest {};
INSTANTIATE_TEST_SUITE_P(Devices, HipMemory, testing::Values(0, 1), device_name);

std::vector<int> counting(std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST_P(HipMemory, is_counted) {
  size_t before = 0;
  size_t after = 0;
  size_t total = 0;
  EXPECT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
  {
    const DeviceArray<char> array(1000);
    EXPECT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
    EXPECT_EQ(before - after, 1000u);
  }
  EXPECT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(before, after);
  void* pointer = nullptr;
  EXPECT_EQ(hipMalloc(&pointer, size_t{2} << 30), hipErrorOutOfMemory);
  EXPECT_EQ(hipMalloc(&pointer, 0), hipSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(hipFree(nullptr), hipSuccess);
}

TEST_P(HipMemory, is_copied_both_ways_and_within) {
  const auto values = counting(1000);
  const DeviceArray<int> a(values);
  const DeviceArray<int> b(1000);
  EXPECT_EQ(hipMemcpy(b.data(), a.data(), a.bytes(), hipMemcpyDeviceToDevice), hipSuccess);
  EXPECT_EQ(b.values(), values);
  EXPECT_EQ(hipMemcpyAsync(b.data() + 10, a.data(), 40, hipMemcpyDefault, nullptr), hipSuccess);
  EXPECT_EQ(b.values()[10], 1);
  EXPECT_EQ(b.values()[20], 21);
}

TEST_P(HipMemory, is_copied_and_filled_by_rows) {
  char* pitched = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(hipMallocPitch(reinterpret_cast<void**>(&pitched), &pitch, 100, 3), hipSuccess);
  EXPECT_EQ(pitch, 256u);
  EXPECT_EQ(hipMemset2D(pitched, pitch, 7, 100, 3), hipSuccess);
  std::vector<char> host(300, 1);
  EXPECT_EQ(hipMemcpy2D(host.data(), 100, pitched, pitch, 50, 3, hipMemcpyDeviceToHost),
            hipSuccess);
  EXPECT_EQ(host[249], 7);
  EXPECT_EQ(host[250], 1);
  EXPECT_EQ(hipMemcpy2D(host.data(), 100, pitched, 10, 50, 3, hipMemcpyDeviceToHost),
            hipErrorInvalidValue);
  EXPECT_EQ(hipFree(pitched), hipSuccess);
}

TEST_P(HipMemory, is_filled_by_bytes_halves_and_words) {
  const DeviceArray<u32> array(std::vector<u32>(4, 0));
  EXPECT_EQ(hipMemset(array.data(), 0x101, 4), hipSuccess);
  EXPECT_EQ(hipMemsetD16(array.data() + 1, 0xabcd, 2), hipSuccess);
  EXPECT_EQ(hipMemsetD32Async(array.data() + 2, -2, 1, nullptr), hipSuccess);
  EXPECT_EQ(array.values(), (std::vector<u32>{0x01010101, 0xabcdabcd, 0xfffffffe, 0}));
}

TEST_P(HipMemory, is_not_touched_outside_of_allocations) {
  const DeviceArray<int> array(counting(10));
  int host[100];
  EXPECT_EQ(hipMemcpy(host, array.data(), 44, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  expect_error_text({"44 bytes at 0", "40 bytes"});
  EXPECT_EQ(hipMemcpy(array.data() + 10, host, 4, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemset(array.data() + 9, 0, 8), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(host, host + 50, 4, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(host, host + 50, 4, static_cast<hipMemcpyKind>(9)),
            hipErrorInvalidMemcpyDirection);
}

TEST_P(HipMemory, has_no_range_beyond_all_addresses) {
  const DeviceArray<u32> array(std::vector<u32>(64, 7));
  constexpr size_t huge = size_t{1} << 62;
  EXPECT_EQ(hipMemsetD32(array.data(), 0, huge), hipErrorInvalidValue);  // 2^64 bytes
  expect_error_text({"2^64"});
  EXPECT_EQ(hipMemset2D(array.data(), huge, 0, 4, 5), hipErrorInvalidValue);
  EXPECT_EQ(hipMemset(array.data() + 1, 0, ~size_t{0}), hipErrorInvalidValue);
  u32 host[64] = {};
  EXPECT_EQ(hipMemcpy2D(array.data(), huge, host, 4, 4, 5, hipMemcpyHostToDevice),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(array.data(), host, ~size_t{0}, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(array.values(), std::vector<u32>(64, 7));
}

TEST_P(HipMemory, of_nobody_is_not_filled) {
  int local = 5;
  EXPECT_EQ(hipMemset(&local, 0, 4), hipErrorInvalidValue);
  expect_error_text({"no memory of a device"});
  EXPECT_EQ(hipMemset(reinterpret_cast<void*>(0x1000), 0, 4), hipErrorInvalidValue);
  expect_error_text({"0x1000"});
  EXPECT_EQ(local, 5);
}

TEST_P(HipMemory, is_freed_by_its_start) {
  const DeviceArray<int> array(100);
  EXPECT_EQ(hipFree(array.data() + 64), hipErrorInvalidValue);
  expect_error_text({"0x", "not the start of an allocation"});
  int local = 0;
  EXPECT_EQ(hipFree(&local), hipErrorInvalidValue);
  EXPECT_EQ(hipFreeAsync(array.data() + 1, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(hipMemset(array.data(), 0, 400), hipSuccess);
}

TEST_P(HipMemory, is_not_used_after_it_was_freed) {
  int* pointer = nullptr;
  ASSERT_EQ(hipMalloc(&pointer, 64), hipSuccess);
  EXPECT_EQ(hipFree(pointer), hipSuccess);
  EXPECT_EQ(hipMemset(pointer, 0, 64), hipErrorInvalidValue);
  expect_error_text({"freed"});
  EXPECT_EQ(hipFree(pointer), hipErrorInvalidValue);
}

TEST_P(HipMemory, of_the_host_can_be_registered) {
  std::vector<int> host(1000);
  EXPECT_EQ(hipHostRegister(host.data(), 4000, hipHostRegisterDefault), hipSuccess);
  EXPECT_EQ(hipHostRegister(host.data() + 10, 4, 0), hipErrorHostMemoryAlreadyRegistered);
  void* device = nullptr;
  EXPECT_EQ(hipHostGetDevicePointer(&device, host.data(), 0), hipSuccess);
  EXPECT_EQ(device, host.data());
  hipPointerAttribute_t attributes;
  EXPECT_EQ(hipPointerGetAttributes(&attributes, host.data() + 5), hipSuccess);
  EXPECT_EQ(attributes.type, hipMemoryTypeHost);
  EXPECT_EQ(hipHostUnregister(host.data()), hipSuccess);
  EXPECT_EQ(hipHostUnregister(host.data()), hipErrorHostMemoryNotRegistered);
  EXPECT_EQ(hipPointerGetAttributes(&attributes, host.data()), hipSuccess);
  EXPECT_EQ(attributes.type, hipMemoryTypeUnregistered);
}

TEST_P(HipMemory, of_the_host_can_be_allocated) {
  int* host = nullptr;
  ASSERT_EQ(hipHostMalloc(&host, 400), hipSuccess);
  host[99] = 5;
  const DeviceArray<int> array(100);
  EXPECT_EQ(hipMemcpyAsync(array.data(), host, 400, hipMemcpyHostToDevice, nullptr), hipSuccess);
  EXPECT_EQ(array.values()[99], 5);
  EXPECT_EQ(hipHostFree(host), hipSuccess);
  EXPECT_EQ(hipHostFree(host), hipErrorInvalidValue);
}

TEST_P(HipMemory, knows_its_ranges) {
  const DeviceArray<int> array(100);
  void* base = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(hipMemGetAddressRange(&base, &bytes, array.data() + 50), hipSuccess);
  EXPECT_EQ(base, array.data());
  EXPECT_EQ(bytes, 400u);
  hipPointerAttribute_t attributes;
  EXPECT_EQ(hipPointerGetAttributes(&attributes, array.data() + 50), hipSuccess);
  EXPECT_EQ(attributes.type, hipMemoryTypeDevice);
  EXPECT_EQ(attributes.device, GetParam());
  void* start = nullptr;
  EXPECT_EQ(
      hipPointerGetAttribute(&start, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, array.data() + 50),
      hipSuccess);
  EXPECT_EQ(start, array.data());
  EXPECT_EQ(hipPointerGetAttribute(&start, HIP_POINTER_ATTRIBUTE_HOST_POINTER, array.data()),
            hipErrorInvalidValue);
  int local = 0;
  EXPECT_EQ(hipPointerGetAttribute(&start, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, &local),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemPrefetchAsync(array.data(), 4, 0, nullptr), hipSuccess);
}

TEST_P(HipMemory, is_freed_in_the_order_of_a_stream) {
  int* pointer = nullptr;
  ASSERT_EQ(hipMallocAsync(reinterpret_cast<void**>(&pointer), 64, nullptr), hipSuccess);
  EXPECT_EQ(hipMemsetAsync(pointer, 0, 64, nullptr), hipSuccess);
  EXPECT_EQ(hipFreeAsync(pointer, nullptr), hipSuccess);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hipMemset(pointer, 0, 64), hipErrorInvalidValue);
}

TEST(HipPeers, are_copied_between) {
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  const DeviceArray<int> a(counting(100));
  ASSERT_EQ(hipSetDevice(1), hipSuccess);
  const DeviceArray<int> b(100);
  EXPECT_EQ(hipMemcpyPeer(b.data(), 1, a.data(), 0, 400), hipSuccess);
  EXPECT_EQ(b.values()[99], 100);
}

}  // namespace
}  // namespace instinct
