// Choosing devices by name, and what is said when that cannot be.
#include "wavefire/device.h"

#include <algorithm>

#include "contract.h"
#include "core/check.h"
#include "wavefire/attention.h"
#include "wavefire/config.h"
#include "wavefire/norm.h"

namespace wavefire {
namespace {

using device::expect_error;

bool has(const std::vector<DeviceInfo>& list, const std::string& id) {
  return std::ranges::find(list, id, &DeviceInfo::id) != list.end();
}

TEST(Devices, TheCpuComesFirst) {
  const std::vector<DeviceInfo> list = devices();
  ASSERT_FALSE(list.empty());
  EXPECT_EQ(list[0].id, "cpu");
  EXPECT_EQ(list[0].architecture, active_cpu_level());
  EXPECT_GT(list[0].multiprocessors, 0);
  EXPECT_GT(list[0].memory_bytes, 0);
  EXPECT_EQ(list[0].tensors, Device{});
  EXPECT_EQ(current_device().id, "cpu");
}

TEST(Devices, EachOneThatIsListedCanBeUsed) {
  for (const DeviceInfo& info : devices()) {
    EXPECT_EQ(use_device(info.id).id, info.id);
    EXPECT_EQ(current_device().id, info.id);
    EXPECT_EQ(current_device().architecture, info.architecture);
  }
  use_device("cpu");
}

TEST(Devices, UnknownNamesAreRefused) {
  for (const char* id : {"tpu:0", "", "cuda0", "CPU", ":0", "cpu:1"}) {
    expect_error(ErrorKind::invalid_argument,
                 {"device: 'name' is '" + std::string(id) + "'", "cpu, cuda:INDEX"},
                 [&] { use_device(id); });
  }
  EXPECT_EQ(current_device().id, "cpu");
}

// Either there is no driver, and it is said what was looked for, or the number is wrong.
TEST(Devices, WhatIsNotThereIsNamed) {
  for (const auto& [kind, library] :
       {std::pair{"cuda", "libcuda.so.1"}, std::pair{"hip", "libamdhip64.so.6"}}) {
    const std::string id = std::string(kind) + ":99";
    const std::string reason = why_no_driver(kind);
    if (!reason.empty()) {
      expect_error(ErrorKind::device, {kind, "cannot open", library, "install"},
                   [&] { use_device(id); });
      EXPECT_FALSE(has(devices(), std::string(kind) + ":0"));
    } else if (has(devices(), std::string(kind) + ":0")) {
      expect_error(ErrorKind::invalid_argument, {id, "accepted: " + std::string(kind) + ":0 to"},
                   [&] { use_device(id); });
      expect_error(ErrorKind::invalid_argument, {"cpu, cuda:INDEX"},
                   [&] { use_device(std::string(kind) + ":x"); });
    } else {
      expect_error(ErrorKind::device, {id, "finds no device"}, [&] { use_device(id); });
    }
  }
  expect_error(ErrorKind::invalid_argument, {"'kind' is tpu"}, [] { why_no_driver("tpu"); });
}

TEST(Devices, ATensorElsewhereIsNamed) {
  float x = 0;
  const TensorView host = TensorView::contiguous(&x, DType::f32, {1});
  const TensorView first = TensorView::contiguous(&x, DType::f32, {1}, {DeviceType::cuda, 0});
  const TensorView second = TensorView::contiguous(&x, DType::f32, {1}, {DeviceType::cuda, 1});
  EXPECT_EQ(core::common_device("attention", {{"q", first}, {"mask", {}}, {"k", first}}),
            (Device{DeviceType::cuda, 0}));
  EXPECT_EQ(core::common_device("attention", {{"mask", {}}}), Device{});
  expect_error(ErrorKind::invalid_argument,
               {"attention: 'k' is on cuda:1; accepted: a tensor on cuda:0, where 'q' is"},
               [&] { core::common_device("attention", {{"q", first}, {"k", second}}); });
  expect_error(ErrorKind::invalid_argument, {"'v' is on cpu:0"},
               [&] { core::common_device("attention", {{"q", first}, {"v", host}}); });
}

// Tensors of a GPU that is not there: no driver, or no device of that number.
TEST(Devices, OperationsOnAnAbsentGpuSayWhatIsMissing) {
  const auto there = [](std::initializer_list<std::int64_t> shape) {
    static float x = 0;
    return TensorView::contiguous(&x, DType::f32, shape, {DeviceType::cuda, 63});
  };
  const auto norm = [&] { rms_norm(there({2, 8}), there({8}), there({2, 8}), {}); };
  if (why_no_driver("cuda").empty()) {
    expect_error(ErrorKind::invalid_argument, {"cuda:63"}, norm);
  } else {
    expect_error(ErrorKind::device, {"cannot open NVIDIA's driver", "libcuda.so.1", "install"},
                 norm);
  }
}

#ifdef WAVEFIRE_WITH_VIRTUAL
TEST(Devices, VirtualOnesAreListedWithTheirTensorsOnTheHost) {
  const std::vector<DeviceInfo> list = devices();
  for (const char* id : {"virtual:gfx942", "virtual:gfx950"}) {
    ASSERT_TRUE(has(list, id)) << why_no_driver("virtual");
    const DeviceInfo info = *std::ranges::find(list, id, &DeviceInfo::id);
    EXPECT_EQ("virtual:" + info.architecture, id);
    EXPECT_EQ(info.tensors, Device{});
    EXPECT_GT(info.multiprocessors, 200);
  }
  EXPECT_EQ(&device::open_gpu("virtual:gfx942"), &device::open_gpu("virtual:gfx942"));
  expect_error(ErrorKind::invalid_argument, {"'virtual:gfx90a'", "virtual:gfx942"},
               [] { use_device("virtual:gfx90a"); });
}

// An operation without a kernel for the chosen device says so; it does not quietly use another.
TEST(Devices, OperationsWithoutAKernelSaySo) {
  std::vector<float> x(8, 1), out(8, 0);
  const auto view = [](std::vector<float>& values) {
    return TensorView::contiguous(values.data(), DType::f32, {1, 1, 8});
  };
  const auto attend = [&] {
    single_attention({.num_qo_heads = 1,
                      .num_kv_heads = 1,
                      .head_dim_qk = 8,
                      .q_dtype = DType::f32,
                      .kv_dtype = DType::f32,
                      .o_dtype = DType::f32},
                     {.q = view(x), .k = view(x), .v = view(x), .out = view(out)});
  };
  use_device("virtual:gfx942");
  expect_error(ErrorKind::unsupported, {"'q_dtype'", "float32", "virtual:gfx942", "bfloat16"},
               attend);
  EXPECT_EQ(out[0], 0);
  use_device("cpu");
  attend();
  EXPECT_EQ(out[0], 1);
}
#endif

}  // namespace
}  // namespace wavefire

// The file of the virtual Instinct may be named; then only that one counts. This runs before any
// test opens it.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  wavefire::Config config = wavefire::config();
  wavefire::Config wrong = config;
  wrong.virtual_library = "/nowhere/libwavefire_virtual.so";
  wavefire::set_config(wrong);
  wavefire::device::expect_error(
      wavefire::ErrorKind::device,
      {"virtual", "/nowhere/libwavefire_virtual.so", "WAVEFIRE_BUILD_VIRTUAL"},
      [] { wavefire::use_device("virtual:gfx942"); });
  wavefire::set_config(config);
  return RUN_ALL_TESTS();
}
