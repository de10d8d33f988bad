// For tests through HIP's functions.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "support.h"
#include "virtual/hip/hip_api.h"
#include "virtual/hip/virtual_instinct.h"

namespace instinct {

// Devices of these tests, by ordinal.
inline constexpr Target test_devices[] = {Target::gfx942, Target::gfx950};

// Memory of the current device with the content of a vector.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    EXPECT_EQ(hipMalloc(&data_, count * sizeof(T)), hipSuccess);
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    EXPECT_EQ(hipMemcpy(data_, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice),
              hipSuccess);
  }
  ~DeviceArray() { EXPECT_EQ(hipFree(data_), hipSuccess); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> values() const {
    std::vector<T> values(count_);
    EXPECT_EQ(hipMemcpy(values.data(), data_, bytes(), hipMemcpyDeviceToHost), hipSuccess);
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

// Each test runs on both devices, and leaves no error behind.
class HipTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_EQ(hipSetDevice(GetParam()), hipSuccess);
    hipGetLastError();
  }
  Target target() const { return test_devices[GetParam()]; }

  hipModule_t load(const std::string& name) const {
    hipModule_t module = nullptr;
    EXPECT_EQ(hipModuleLoad(&module, kernel_path(name, target()).c_str()), hipSuccess)
        << wavefireVirtualLastError();
    return module;
  }
  static hipFunction_t function(hipModule_t module, const char* name) {
    hipFunction_t found = nullptr;
    EXPECT_EQ(hipModuleGetFunction(&found, module, name), hipSuccess);
    return found;
  }
};

inline std::string device_name(const testing::TestParamInfo<int>& test) {
  return name_of(test_devices[test.param]);
}

// The text of the last error names these.
inline void expect_error_text(std::initializer_list<const char*> words) {
  const std::string text = wavefireVirtualLastError();
  for (const char* word : words) EXPECT_NE(text.find(word), text.npos) << text;
}

}  // namespace instinct
