// The device contract on the virtual Instinct, through the same code as on AMD's devices.
#include "contract.h"

namespace wavefire::device {
namespace {

INSTANTIATE_TEST_SUITE_P(Virtual, DeviceContract,
                         testing::Values("virtual:gfx942", "virtual:gfx950"), id_as_name);

TEST(VirtualDevice, CodeOfTheOtherArchitectureIsUnsupported) {
  expect_error(ErrorKind::unsupported, {"virtual", "hipErrorNoBinaryForGpu", "gfx950"},
               [] { open_gpu("virtual:gfx942").load(read_file(kernel_file("gfx950"))); });
}

TEST(VirtualDevice, StreamsOfAnotherDeviceAreRefused) {
  Gpu& gpu = open_gpu("virtual:gfx942");
  const Stream other(open_gpu("virtual:gfx950"));
  const DeviceMemory memory = gpu.allocate(64);
  expect_error(ErrorKind::invalid_argument,
               {"'stream' is of virtual:gfx950", "a stream of virtual:gfx942"},
               [&] { gpu.fill(memory.data(), 0, 64, other); });
}

// A framework looks at HIP's last error after its own launches and would take ours for theirs.
TEST(VirtualDevice, NoErrorStaysBehind) {
  Gpu& gpu = open_gpu("virtual:gfx942");
  const Library library = Library::open({.operation = "test",
                                         .what = "the virtual Instinct",
                                         .candidates = {gpu.driver().library_path()},
                                         .remedy = "build it"});
  auto* peek = reinterpret_cast<int (*)()>(library.find("hipPeekAtLastError"));
  ASSERT_NE(peek, nullptr);
  EXPECT_THROW(gpu.allocate(std::size_t{1} << 50), Error);
  EXPECT_EQ(peek(), 0);
  EXPECT_THROW(gpu.load(std::vector<std::byte>(100)), Error);
  EXPECT_EQ(peek(), 0);
}

// What a check of the virtual Instinct finds arrives as an error, with its words.
TEST(VirtualDevice, AccessesOutOfBoundsAreErrors) {
  Gpu& gpu = open_gpu("virtual:gfx942");
  const Module module = gpu.load(read_file(kernel_file("gfx942")));
  const DeviceMemory in = upload(gpu, std::vector<float>(64, 1)), out = gpu.allocate(60 * 4);
  const Stream stream(gpu);
  expect_error(ErrorKind::device, {"scale", "hipErrorIllegalAddress", "behind the end"}, [&] {
    module.kernel("scale").launch({{1}, {64}}, ScaleParams{in.as<float>(), out.as<float>(), 2, 64},
                                  stream);
    stream.synchronize();
  });
  try {
    stream.synchronize();  // HIP tells a launch that failed at the next wait, too
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
  }
  EXPECT_EQ(download<float>(in, stream), std::vector<float>(64, 1));  // and goes on
}

}  // namespace
}  // namespace wavefire::device
