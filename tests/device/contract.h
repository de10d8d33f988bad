// The device contract as tests, for any device whose kernels the build has compiled.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "device/devices.h"
#include "wavefire/error.h"

namespace wavefire::device {

// Arguments of kernels.hip.
struct ScaleParams {
  const float* in;
  float* out;
  float factor;
  int count;
};
struct ReverseParams {
  const int* in;
  int* out;
  int offset;
};

/// Memory with the content of a vector, ready when the constructor returns.
template <class T>
DeviceMemory upload(Gpu& gpu, const std::vector<T>& values) {
  DeviceMemory memory = gpu.allocate(values.size() * sizeof(T));
  const Stream stream(gpu);
  gpu.copy(memory.data(), values.data(), memory.bytes(), stream);
  stream.synchronize();
  return memory;
}
/// The content of memory, after all work on `stream`.
template <class T>
std::vector<T> download(const DeviceMemory& memory, const Stream& stream) {
  std::vector<T> values(memory.bytes() / sizeof(T));
  stream.gpu().copy(values.data(), memory.data(), memory.bytes(), stream);
  stream.synchronize();
  return values;
}

/// `f` throws an `Error` of that kind whose text has all the words.
template <class F>
void expect_error(ErrorKind kind, std::initializer_list<std::string> words, F&& f) {
  try {
    f();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(name_of(error.kind()), name_of(kind)) << error.what();
    for (const std::string& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "no '" << word << "' in: " << error.what();
    }
  }
}

/// The file of kernels for an architecture, beside the program: PTX for all of NVIDIA's.
inline std::string kernel_file(const std::string& architecture) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (architecture.starts_with("sm_")) return folder / "kernels.ptx";
  return folder / ("kernels." + architecture + ".co");
}

inline std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> image(bytes.size());
  std::memcpy(image.data(), bytes.data(), bytes.size());
  return image;
}

/// The parameter is the id of a device.
class DeviceContract : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { before_ = gpu_.driver().current(); }
  // No call leaves another device current.
  void TearDown() override { EXPECT_EQ(gpu_.driver().current(), before_); }

  Gpu& gpu_ = open_gpu(GetParam());
  Module module_ = gpu_.load(read_file(kernel_file(gpu_.properties().architecture)));

 private:
  Context before_ = 0;
};

inline std::string id_as_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  name[name.find(':')] = '_';
  return name;
}

}  // namespace wavefire::device
