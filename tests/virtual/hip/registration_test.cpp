// What clang makes programs with kernel<<<...>>>() call, done by hand.
#include <cstring>
#include <span>

#include "bundle.h"
#include "hip_support.h"

extern "C" {
void** __hipRegisterFatBinary(const void* data);
void __hipRegisterFunction(void** binary, const void* host_function, char* device_function,
                           const char* name, unsigned threads, void* tid, void* bid, void* block,
                           void* grid, int* wave);
void __hipRegisterVar(void** binary, void* host_variable, char* device_variable, char* name,
                      int external, size_t bytes, int constant, int global);
}

namespace instinct {
namespace {

struct Wrapper {
  u32 magic = 0x48495046;
  u32 version = 1;
  const void* binary = nullptr;
  void* unused = nullptr;
};

// The host's sides of a kernel and a variable: only their addresses count.
void symbols_stub(int*) {}
void absent_stub() {}
int table[4];

// Registered once, as in a program.
void register_program() {
  static const std::vector<std::byte> bundle = bundle_of({Target::gfx942, Target::gfx950});
  static const Wrapper wrapper = {.binary = bundle.data()};
  static void** const binary = __hipRegisterFatBinary(&wrapper);
  static bool done = false;
  if (std::exchange(done, true)) return;
  const auto add = [&](const void* stub, const char* name) {
    __hipRegisterFunction(binary, stub, nullptr, name, ~0u, nullptr, nullptr, nullptr, nullptr,
                          nullptr);
  };
  add(reinterpret_cast<const void*>(&symbols_stub), "symbols");
  add(reinterpret_cast<const void*>(&absent_stub), "absent");
  char name[] = "table";
  __hipRegisterVar(binary, table, nullptr, name, 0, sizeof(table), 0, 0);
}

class HipRegistration : public HipTest {
 protected:
  void SetUp() override {
    register_program();
    HipTest::SetUp();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, HipRegistration, testing::Values(0, 1), device_name);

TEST_P(HipRegistration, launches_the_kernel_of_a_host_function) {
  const DeviceArray<int> out(64);
  int* pointer = out.data();
  void* arguments[] = {&pointer};
  // symbols_stub<<<1, 64>>>(pointer)
  ASSERT_EQ(__hipPushCallConfiguration(1, 64, 0, nullptr), hipSuccess);
  dim3 grid(0);
  dim3 block(0);
  size_t dynamic_lds = 1;
  hipStream_t stream = nullptr;
  ASSERT_EQ(__hipPopCallConfiguration(&grid, &block, &dynamic_lds, &stream), hipSuccess);
  EXPECT_EQ(block.x, 64u);
  const auto* stub = reinterpret_cast<const void*>(&symbols_stub);
  ASSERT_EQ(hipLaunchKernel(stub, grid, block, arguments, dynamic_lds, stream), hipSuccess)
      << wavefireVirtualLastError();
  const std::vector<int> values = out.values();
  EXPECT_EQ(std::vector<int>(values.begin(), values.begin() + 4),
            (std::vector<int>{3 + 4 + 1, 1 + 4 + 4, 4 + 4 + 1, 1 + 4 + 4}));
  EXPECT_EQ(__hipPopCallConfiguration(&grid, &block, &dynamic_lds, &stream),
            hipErrorInvalidConfiguration);
}

TEST_P(HipRegistration, refuses_functions_without_a_kernel) {
  void* arguments[] = {nullptr};
  EXPECT_EQ(
      hipLaunchKernel(reinterpret_cast<const void*>(&absent_stub), 1, 64, arguments, 0, nullptr),
      hipErrorInvalidDeviceFunction);
  int unknown = 0;
  EXPECT_EQ(hipLaunchKernel(&unknown, 1, 64, arguments, 0, nullptr), hipErrorInvalidHandle);
}

TEST_P(HipRegistration, copies_to_and_from_variables) {
  int values[4] = {};
  EXPECT_EQ(hipMemcpyFromSymbol(values, table, 16), hipSuccess);
  EXPECT_EQ(values[3], 1);
  size_t bytes = 0;
  EXPECT_EQ(hipGetSymbolSize(&bytes, table), hipSuccess);
  EXPECT_EQ(bytes, 16u);
  EXPECT_EQ(hipMemcpyToSymbol(table, values, 8, 12), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpyFromSymbol(values, values, 4), hipErrorInvalidSymbol);
}

}  // namespace
}  // namespace instinct
