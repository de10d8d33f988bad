// The device contract on real GPUs: every one that is here. Without any, the program says so and
// ends with status 77, which ctest counts as skipped.
#include <cstdio>

#include "contract.h"
#include "wavefire/device.h"

namespace wavefire::device {
namespace {

std::vector<std::string> real_gpus() {
  std::vector<std::string> ids;
  for (const DeviceInfo& info : devices()) {
    if (info.tensors.type != DeviceType::cpu) ids.push_back(info.id);
  }
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Gpu, DeviceContract, testing::ValuesIn(real_gpus()), id_as_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceContract);

}  // namespace
}  // namespace wavefire::device

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (wavefire::device::real_gpus().empty()) {
    std::printf("skipped: no GPU here\n  %s\n  %s\n", wavefire::why_no_driver("cuda").c_str(),
                wavefire::why_no_driver("hip").c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
