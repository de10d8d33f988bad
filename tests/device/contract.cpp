#include "contract.h"

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <thread>

namespace wavefire::device {
namespace {

std::vector<float> counting(int count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

std::vector<float> times(std::vector<float> values, float factor) {
  for (float& value : values) value *= factor;
  return values;
}

constexpr unsigned groups_of(int count) { return static_cast<unsigned>((count + 63) / 64); }

TEST_P(DeviceContract, PropertiesAreThoseOfAGpu) {
  const Properties& p = gpu_.properties();
  EXPECT_FALSE(p.name.empty());
  EXPECT_TRUE(p.architecture.starts_with("sm_") || p.architecture.starts_with("gfx"));
  EXPECT_GT(p.multiprocessors, 0);
  EXPECT_TRUE(p.warp_size == 32 || p.warp_size == 64);
  EXPECT_EQ(p.max_threads_per_block, 1024);
  EXPECT_GE(p.max_threads_per_multiprocessor, 1024);
  EXPECT_GE(p.registers_per_multiprocessor, 65536);
  EXPECT_GE(p.shared_bytes_per_block, 64 << 10);
  EXPECT_GE(p.shared_bytes_per_multiprocessor, p.shared_bytes_per_block);
  EXPECT_GT(p.l2_bytes, 0);
  EXPECT_GT(p.memory_bus_bits, 0);
  const auto [free_bytes, total_bytes] = gpu_.memory_info();
  EXPECT_GT(free_bytes, 0u);
  EXPECT_LE(free_bytes, total_bytes);
  EXPECT_GT(gpu_.driver().version(), 0);
}

TEST_P(DeviceContract, CopiesGoThereAndBack) {
  const std::vector<float> values = counting(1000);
  const Stream stream(gpu_);
  const DeviceMemory first = gpu_.allocate(4000), second = gpu_.allocate(4000);
  EXPECT_EQ(first.bytes(), 4000u);
  gpu_.copy(first.data(), values.data(), 4000, stream);
  gpu_.copy(second.data(), first.data(), 4000, stream);
  EXPECT_EQ(download<float>(second, stream), values);
  gpu_.fill(second.as<float>() + 10, 0, 8, stream);
  std::vector<float> expected = values;
  expected[10] = expected[11] = 0;
  EXPECT_EQ(download<float>(second, stream), expected);
  gpu_.copy(nullptr, nullptr, 0, stream);
}

TEST_P(DeviceContract, NoBytesAreNoMemory) {
  EXPECT_EQ(gpu_.allocate(0).data(), nullptr);
  EXPECT_EQ(gpu_.allocate_host(0).data(), nullptr);
}

TEST_P(DeviceContract, MemoryMovesAndIsFreed) {
  DeviceMemory memory = gpu_.allocate(1 << 20);
  void* data = memory.data();
  DeviceMemory moved = std::move(memory);
  EXPECT_EQ(moved.data(), data);
  moved = gpu_.allocate(16);
  EXPECT_NE(moved.data(), nullptr);
  // All of it fits many times over only if it is freed.
  const std::size_t half = gpu_.memory_info().free_bytes / 2;
  for (int i = 0; i < 4; ++i) EXPECT_NE(gpu_.allocate(half).data(), nullptr);
}

TEST_P(DeviceContract, OutOfMemorySaysTheNumbers) {
  const std::size_t bytes = std::size_t{1} << 50;
  expect_error(ErrorKind::out_of_memory,
               {gpu_.id(), std::to_string(bytes), std::to_string(gpu_.memory_info().total_bytes)},
               [&] { gpu_.allocate(bytes); });
  EXPECT_NE(gpu_.allocate(1000).data(), nullptr);  // it goes on
}

TEST_P(DeviceContract, KernelsTakeAStruct) {
  const int count = 1000;
  const DeviceMemory in = upload(gpu_, counting(count)), out = gpu_.allocate(in.bytes());
  const Stream stream(gpu_);
  const Kernel scale = module_.kernel("scale");
  scale.launch({{groups_of(count)}, {64}},
               ScaleParams{in.as<float>(), out.as<float>(), 2.5f, count}, stream);
  EXPECT_EQ(download<float>(out, stream), times(counting(count), 2.5f));
  module_.kernel("scale_each")
      .launch({{groups_of(count)}, {64}}, ScaleParams{in.as<float>(), out.as<float>(), 0.5f, count},
              stream);
  EXPECT_EQ(download<float>(out, stream), times(counting(count), 0.5f));
}

TEST_P(DeviceContract, GridsHaveThreeDimensions) {
  const DeviceMemory out = gpu_.allocate(24 * sizeof(int));
  const Stream stream(gpu_);
  const int* pointer = out.as<int>();
  module_.kernel("places").launch({{2, 3, 4}, {64}}, pointer, stream);
  const std::vector<int> places = download<int>(out, stream);
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(places[static_cast<std::size_t>(i)], i % 2 + 10 * (i / 2 % 3) + 100 * (i / 6));
  }
}

TEST_P(DeviceContract, DynamicSharedMemoryUpToTheLimit) {
  std::vector<int> values(64);
  std::iota(values.begin(), values.end(), 0);
  const DeviceMemory in = upload(gpu_, values), out = gpu_.allocate(in.bytes());
  const std::vector<int> expected(values.rbegin(), values.rend());
  const int most = gpu_.properties().shared_bytes_per_block;
  const Stream stream(gpu_);
  for (int bytes : {256, most}) {
    const Kernel reverse = module_.kernel("reverse", bytes);
    const ReverseParams params = {in.as<int>(), out.as<int>(), bytes / 4 - 64};
    gpu_.fill(out.data(), 0, out.bytes(), stream);
    reverse.launch({{1}, {64}, static_cast<unsigned>(bytes)}, params, stream);
    EXPECT_EQ(download<int>(out, stream), expected) << bytes;
  }
  expect_error(ErrorKind::unsupported,
               {"reverse", std::to_string(most + 1), std::to_string(most), gpu_.id()},
               [&] { module_.kernel("reverse", most + 1); });
}

TEST_P(DeviceContract, KernelsTellTheirResources) {
  const int most = gpu_.properties().shared_bytes_per_block;
  const Kernel scale = module_.kernel("scale"), reverse = module_.kernel("reverse", most);
  EXPECT_EQ(scale.name(), "scale");
  EXPECT_GT(scale.registers(), 0);
  EXPECT_EQ(scale.local_bytes(), 0);
  EXPECT_EQ(reverse.static_shared_bytes(), 0);
  EXPECT_GE(scale.max_threads_per_block(), 64);
  const int few = reverse.blocks_per_multiprocessor(64, static_cast<std::size_t>(most) / 2 + 1);
  EXPECT_GE(few, 1);
  EXPECT_GT(reverse.blocks_per_multiprocessor(64, 256), few);
}

TEST_P(DeviceContract, TheCallersStreamIsUsed) {
  const int count = 100;
  const DeviceMemory in = upload(gpu_, counting(count)), out = gpu_.allocate(in.bytes());
  const Stream own(gpu_);
  const Stream callers(gpu_, own.handle());
  const Stream default_stream(gpu_, nullptr);
  for (const Stream* stream : {&callers, &default_stream}) {
    gpu_.fill(out.data(), 0, out.bytes(), *stream);
    module_.kernel("scale").launch({{groups_of(count)}, {64}},
                                   ScaleParams{in.as<float>(), out.as<float>(), 3, count}, *stream);
    EXPECT_EQ(download<float>(out, *stream), times(counting(count), 3));
    EXPECT_TRUE(stream->is_done());
  }
}

// Where work waits until somebody asks for it, nothing may have asked.
TEST_P(DeviceContract, NothingWaitsOnItsOwn) {
  const bool is_deferred = std::getenv("WAVEFIRE_VIRTUAL_STREAMS") != nullptr;
  const int count = 64;
  const DeviceMemory in = upload(gpu_, counting(count)), out = gpu_.allocate(in.bytes());
  const HostMemory result = gpu_.allocate_host(in.bytes());
  std::memset(result.data(), 0, result.bytes());
  const Kernel scale = module_.kernel("scale");
  const Stream stream(gpu_), other(gpu_);
  const Event event(gpu_);
  scale.launch({{1}, {64}}, ScaleParams{in.as<float>(), out.as<float>(), 2, count}, stream);
  stream.record(event);
  other.wait(event);
  gpu_.copy(result.data(), out.data(), out.bytes(), other);
  if (is_deferred) {
    EXPECT_EQ(result.as<float>()[0], 0);
  }
  other.synchronize();
  EXPECT_EQ(std::vector<float>(result.as<float>(), result.as<float>() + count),
            times(counting(count), 2));
}

TEST_P(DeviceContract, EventsTimeAndWait) {
  const DeviceMemory memory = gpu_.allocate(1 << 20);
  const Stream stream(gpu_);
  const Event start(gpu_, Event::Timing::on), stop(gpu_, Event::Timing::on);
  stream.record(start);
  gpu_.fill(memory.data(), 1, memory.bytes(), stream);
  stream.record(stop);
  stop.synchronize();
  EXPECT_TRUE(start.is_done());
  EXPECT_TRUE(stop.is_done());
  EXPECT_GE(Event::elapsed_ms(start, stop), 0);
  EXPECT_LT(Event::elapsed_ms(start, stop), 10'000);
  const Event untimed(gpu_);
  stream.record(untimed);
  stream.synchronize();
  expect_error(ErrorKind::device, {"time between events"},
               [&] { Event::elapsed_ms(untimed, stop); });
}

TEST_P(DeviceContract, GraphsReplayWithWhatMemoryHolds) {
  const int count = 200;
  const DeviceMemory in = gpu_.allocate(count * sizeof(float)), out = gpu_.allocate(in.bytes());
  const Kernel scale = module_.kernel("scale");
  const Stream stream(gpu_);
  gpu_.fill(out.data(), 0, out.bytes(), stream);
  const Graph graph = Graph::capture(stream, [&] {
    EXPECT_TRUE(stream.is_capturing());
    scale.launch({{groups_of(count)}, {64}}, ScaleParams{in.as<float>(), out.as<float>(), 2, count},
                 stream);
    scale.launch({{groups_of(count)}, {64}},
                 ScaleParams{out.as<float>(), out.as<float>(), 5, count}, stream);
  });
  EXPECT_FALSE(stream.is_capturing());
  EXPECT_EQ(download<float>(out, stream), std::vector<float>(count, 0));  // captured, not run
  for (float factor : {1.0f, -3.0f, 0.5f}) {
    const std::vector<float> values = times(counting(count), factor);
    gpu_.copy(in.data(), values.data(), in.bytes(), stream);
    graph.launch(stream);
    EXPECT_EQ(download<float>(out, stream), times(values, 10));
  }
}

TEST_P(DeviceContract, AnErrorInACaptureEndsIt) {
  const DeviceMemory memory = gpu_.allocate(64);
  const Stream stream(gpu_);
  EXPECT_THROW(Graph::capture(stream,
                              [&] {
                                gpu_.fill(memory.data(), 1, 64, stream);
                                throw std::runtime_error("of the caller");
                              }),
               std::runtime_error);
  EXPECT_FALSE(stream.is_capturing());
  gpu_.fill(memory.data(), 7, 64, stream);
  EXPECT_EQ(download<char>(memory, stream), std::vector<char>(64, 7));
}

TEST_P(DeviceContract, RegisteredHostMemoryIsTheDevicesToo) {
  std::vector<float> values = counting(64);
  const DeviceMemory out = gpu_.allocate(64 * sizeof(float));
  const Stream stream(gpu_);
  {
    const HostRegistration pinned = gpu_.register_host(values.data(), 64 * sizeof(float));
    module_.kernel("scale").launch({{1}, {64}},
                                   ScaleParams{pinned.as<float>(), out.as<float>(), 2, 64}, stream);
    stream.synchronize();
  }
  EXPECT_EQ(download<float>(out, stream), times(values, 2));
  const HostRegistration again = gpu_.register_host(values.data(), 64);  // the first has ended
}

TEST_P(DeviceContract, ThreadsWorkSideBySide) {
  const int count = 500;
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      Gpu& gpu = open_gpu(GetParam());
      const DeviceMemory in = upload(gpu, counting(count)), out = gpu.allocate(in.bytes());
      const Stream stream(gpu);
      const ScaleParams params = {in.as<float>(), out.as<float>(), static_cast<float>(t), count};
      module_.kernel("scale").launch({{groups_of(count)}, {64}}, params, stream);
      results[t] = download<float>(out, stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < results.size(); ++t) {
    EXPECT_EQ(results[t], times(counting(count), static_cast<float>(t)));
  }
}

TEST_P(DeviceContract, BadImagesAreRefused) {
  std::vector<std::byte> garbage(1000, std::byte{42});
  expect_error(ErrorKind::device, {gpu_.driver().kind(), "ModuleLoadData"},
               [&] { gpu_.load(garbage); });
  expect_error(ErrorKind::device, {"no_such_kernel"}, [&] { module_.kernel("no_such_kernel"); });
}

TEST_P(DeviceContract, LaunchesAreChecked) {
  const Kernel places = module_.kernel("places");
  const DeviceMemory out = gpu_.allocate(24 * sizeof(int));
  const int* pointer = out.as<int>();
  const Stream stream(gpu_);
  expect_error(ErrorKind::invalid_argument, {"places", "'grid'", "2 x 0 x 1"},
               [&] { places.launch({{2, 0}, {64}}, pointer, stream); });
  expect_error(ErrorKind::invalid_argument, {"places", "'block'", "1024 x 2 x 1", "1 to 1024"},
               [&] { places.launch({{1}, {1024, 2}}, pointer, stream); });
  expect_error(ErrorKind::invalid_argument, {"places", "'block'"},
               [&] { places.launch({{1}, {0}}, pointer, stream); });
}

}  // namespace

}  // namespace wavefire::device
