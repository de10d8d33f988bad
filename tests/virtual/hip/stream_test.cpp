#include <deque>
#include <thread>

#include "hip_support.h"

namespace instinct {
namespace {

bool deferred() {
  const char* mode = std::getenv("WAVEFIRE_VIRTUAL_STREAMS");
  return mode && std::string(mode) == "deferred";
}

class HipStream : public HipTest {
 protected:
  void SetUp() override {
    HipTest::SetUp();
    ASSERT_EQ(hipStreamCreate(&stream_), hipSuccess);
    ASSERT_EQ(hipStreamCreateWithFlags(&other_, hipStreamNonBlocking), hipSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(hipStreamDestroy(stream_), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(other_), hipSuccess);
  }

  // Appends a letter when it runs.
  void note(hipStream_t stream, char letter) {
    notes_.push_back({&order_, letter});
    EXPECT_EQ(hipLaunchHostFunc(
                  stream,
                  [](void* data) {
                    const auto* entry = static_cast<Note*>(data);
                    entry->order->push_back(entry->letter);
                  },
                  &notes_.back()),
              hipSuccess);
  }

  struct Note {
    std::string* order;
    char letter;
  };
  hipStream_t stream_ = nullptr;
  hipStream_t other_ = nullptr;
  std::string order_;
  std::deque<Note> notes_;
};
INSTANTIATE_TEST_SUITE_P(Devices, HipStream, testing::Values(0, 1), device_name);

TEST_P(HipStream, runs_in_order) {
  for (const char letter : {'a', 'b', 'c'}) note(stream_, letter);
  if (deferred()) {
    EXPECT_EQ(order_, "");
  }
  EXPECT_EQ(hipStreamSynchronize(stream_), hipSuccess);
  EXPECT_EQ(order_, "abc");
  EXPECT_EQ(hipStreamQuery(stream_), hipSuccess);
}

TEST_P(HipStream, waits_for_events_of_others) {
  hipEvent_t event = nullptr;
  ASSERT_EQ(hipEventCreate(&event), hipSuccess);
  note(other_, 'a');
  EXPECT_EQ(hipEventRecord(event, other_), hipSuccess);
  EXPECT_EQ(hipStreamWaitEvent(stream_, event), hipSuccess);
  note(stream_, 'b');
  note(other_, 'c');
  EXPECT_EQ(hipStreamSynchronize(stream_), hipSuccess);
  EXPECT_EQ(order_, deferred() ? "ab" : "abc");
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(order_, "abc");
  EXPECT_EQ(hipEventDestroy(event), hipSuccess);
}

TEST_P(HipStream, is_ordered_with_the_null_stream_if_blocking) {
  note(stream_, 'a');
  note(nullptr, 'b');
  note(stream_, 'c');
  EXPECT_EQ(hipStreamSynchronize(stream_), hipSuccess);
  EXPECT_EQ(order_, "abc");
}

TEST_P(HipStream, is_queried_without_waiting) {
  note(stream_, 'a');
  int queries = 1;
  while (hipStreamQuery(stream_) == hipErrorNotReady) ++queries;
  EXPECT_EQ(queries, deferred() ? 2 : 1);
  EXPECT_EQ(order_, "a");
}

TEST_P(HipStream, knows_what_it_was_made_with) {
  hipStream_t made = nullptr;
  ASSERT_EQ(hipStreamCreateWithPriority(&made, hipStreamNonBlocking, -5), hipSuccess);
  unsigned flags = 0;
  int priority = 0;
  int device = -1;
  EXPECT_EQ(hipStreamGetFlags(made, &flags), hipSuccess);
  EXPECT_EQ(hipStreamGetPriority(made, &priority), hipSuccess);
  EXPECT_EQ(hipStreamGetDevice(made, &device), hipSuccess);
  EXPECT_EQ(flags, hipStreamNonBlocking);
  EXPECT_EQ(priority, -1);
  EXPECT_EQ(device, GetParam());
  EXPECT_EQ(hipStreamDestroy(made), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(made), hipErrorInvalidHandle);
  EXPECT_EQ(hipStreamSynchronize(made), hipErrorInvalidHandle);
  EXPECT_EQ(hipStreamCreateWithFlags(&made, 77), hipErrorInvalidValue);
  EXPECT_EQ(hipStreamSynchronize(hipStreamPerThread), hipSuccess);
}

TEST_P(HipStream, measures_time_by_events) {
  hipEvent_t start = nullptr;
  hipEvent_t stop = nullptr;
  ASSERT_EQ(hipEventCreate(&start), hipSuccess);
  ASSERT_EQ(hipEventCreate(&stop), hipSuccess);
  float milliseconds = -1;
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, start, stop), hipErrorInvalidHandle);
  EXPECT_EQ(hipEventQuery(start), hipSuccess);
  EXPECT_EQ(hipEventRecord(start, stream_), hipSuccess);
  EXPECT_EQ(hipLaunchHostFunc(
                stream_, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); },
                nullptr),
            hipSuccess);
  EXPECT_EQ(hipEventRecord(stop, stream_), hipSuccess);
  if (deferred()) {
    EXPECT_EQ(hipEventElapsedTime(&milliseconds, start, stop), hipErrorNotReady);
  }
  EXPECT_EQ(hipEventSynchronize(stop), hipSuccess);
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, start, stop), hipSuccess);
  EXPECT_GE(milliseconds, 4.5F);
  EXPECT_EQ(hipEventDestroy(start), hipSuccess);
  EXPECT_EQ(hipEventDestroy(stop), hipSuccess);
  EXPECT_EQ(hipEventSynchronize(stop), hipErrorInvalidHandle);
}

TEST_P(HipStream, is_no_handle_after_its_end) {
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  const DeviceArray<int> array(4);
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  ASSERT_EQ(hipEventCreate(&event), hipSuccess);
  ASSERT_EQ(hipEventRecord(event, stream), hipSuccess);
  ASSERT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_EQ(hipEventSynchronize(event), hipSuccess);  // what it marks has happened
  EXPECT_EQ(hipStreamDestroy(stream), hipErrorInvalidHandle);
  EXPECT_EQ(hipStreamSynchronize(stream), hipErrorInvalidHandle);
  expect_error_text({"0x", "is not a stream", "destroyed"});
  EXPECT_EQ(hipMemsetAsync(array.data(), 0, 16, stream), hipErrorInvalidHandle);
  EXPECT_EQ(hipEventRecord(event, stream), hipErrorInvalidHandle);
  EXPECT_EQ(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipErrorInvalidHandle);
  ASSERT_EQ(hipEventDestroy(event), hipSuccess);
  EXPECT_EQ(hipEventDestroy(event), hipErrorInvalidHandle);
  EXPECT_EQ(hipEventQuery(event), hipErrorInvalidHandle);
  EXPECT_EQ(hipStreamWaitEvent(stream_, event), hipErrorInvalidHandle);
  expect_error_text({"event"});
}

TEST_P(HipStream, is_shared_between_threads) {
  const DeviceArray<int> array(std::vector<int>(1000, 0));
  const auto work = [&](int offset, hipStream_t stream) {
    ASSERT_EQ(hipSetDevice(GetParam()), hipSuccess);
    for (int i = 0; i < 500; ++i) {
      EXPECT_EQ(hipMemsetD32Async(array.data() + offset + i, offset + i, 1, stream), hipSuccess);
      if (i % 100 == 0) {
        EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
      }
    }
  };
  std::thread one(work, 0, stream_);
  std::thread two(work, 500, other_);
  one.join();
  two.join();
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  const auto values = array.values();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace instinct
