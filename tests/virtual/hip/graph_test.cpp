#include "hip_support.h"

namespace instinct {
namespace {

class HipGraph : public HipTest {
 protected:
  void SetUp() override {
    HipTest::SetUp();
    ASSERT_EQ(hipStreamCreate(&stream_), hipSuccess);
    ASSERT_EQ(hipStreamCreateWithFlags(&other_, hipStreamNonBlocking), hipSuccess);
    ASSERT_EQ(hipEventCreate(&fork_), hipSuccess);
    ASSERT_EQ(hipEventCreate(&join_), hipSuccess);
    ASSERT_EQ(hipMalloc(&data_, 64), hipSuccess);
    ASSERT_EQ(hipMemset(data_, 0, 64), hipSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(hipStreamDestroy(stream_), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(other_), hipSuccess);
    EXPECT_EQ(hipEventDestroy(fork_), hipSuccess);
    EXPECT_EQ(hipEventDestroy(join_), hipSuccess);
    EXPECT_EQ(hipFree(data_), hipSuccess);
  }

  int value(int index) const {
    int result = -1;
    EXPECT_EQ(hipMemcpy(&result, data_ + index, 4, hipMemcpyDeviceToHost), hipSuccess);
    return result;
  }
  hipError_t set(hipStream_t stream, int index, int to) const {
    return hipMemsetD32Async(data_ + index, to, 1, stream);
  }
  hipGraph_t end() const {
    hipGraph_t graph = nullptr;
    EXPECT_EQ(hipStreamEndCapture(stream_, &graph), hipSuccess) << wavefireVirtualLastError();
    return graph;
  }
  static size_t node_count(hipGraph_t graph) {
    size_t count = 0;
    EXPECT_EQ(hipGraphGetNodes(graph, nullptr, &count), hipSuccess);
    return count;
  }
  static hipGraphExec_t instantiate(hipGraph_t graph) {
    hipGraphExec_t exec = nullptr;
    EXPECT_EQ(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipSuccess);
    return exec;
  }
  void launch(hipGraphExec_t exec) const {
    EXPECT_EQ(hipGraphLaunch(exec, stream_), hipSuccess);
    EXPECT_EQ(hipStreamSynchronize(stream_), hipSuccess);
  }

  hipStream_t stream_ = nullptr;
  hipStream_t other_ = nullptr;
  hipEvent_t fork_ = nullptr;
  hipEvent_t join_ = nullptr;
  int* data_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Devices, HipGraph, testing::Values(0, 1), device_name);

TEST_P(HipGraph, replays_what_was_captured) {
  ASSERT_EQ(hipStreamBeginCapture(stream_, hipStreamCaptureModeGlobal), hipSuccess);
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  EXPECT_EQ(hipStreamIsCapturing(stream_, &status), hipSuccess);
  EXPECT_EQ(status, hipStreamCaptureStatusActive);
  EXPECT_EQ(set(stream_, 0, 5), hipSuccess);
  EXPECT_EQ(hipMemcpyAsync(data_ + 1, data_, 4, hipMemcpyDeviceToDevice, stream_), hipSuccess);
  const hipGraph_t graph = end();
  EXPECT_EQ(value(0), 0);  // nothing ran
  EXPECT_EQ(node_count(graph), 2u);
  const hipGraphExec_t exec = instantiate(graph);
  EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
  launch(exec);
  EXPECT_EQ(value(1), 5);
  EXPECT_EQ(hipMemset(data_, 0, 64), hipSuccess);
  launch(exec);
  EXPECT_EQ(value(1), 5);
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  EXPECT_EQ(hipGraphLaunch(exec, stream_), hipErrorInvalidValue);
}

TEST_P(HipGraph, captures_streams_that_fork_and_join) {
  ASSERT_EQ(hipStreamBeginCapture(stream_, hipStreamCaptureModeGlobal), hipSuccess);
  EXPECT_EQ(set(stream_, 0, 1), hipSuccess);
  EXPECT_EQ(hipEventRecord(fork_, stream_), hipSuccess);
  EXPECT_EQ(hipStreamWaitEvent(other_, fork_), hipSuccess);
  EXPECT_EQ(set(other_, 1, 2), hipSuccess);
  EXPECT_EQ(set(stream_, 2, 3), hipSuccess);
  EXPECT_EQ(hipEventRecord(join_, other_), hipSuccess);
  EXPECT_EQ(hipStreamWaitEvent(stream_, join_), hipSuccess);
  EXPECT_EQ(set(stream_, 3, 4), hipSuccess);
  const hipGraph_t graph = end();
  EXPECT_EQ(node_count(graph), 4u);
  size_t edges = 0;
  EXPECT_EQ(hipGraphGetEdges(graph, nullptr, nullptr, &edges), hipSuccess);
  EXPECT_EQ(edges, 4u);
  EXPECT_EQ(hipEventQuery(fork_), hipErrorCapturedEvent);
  const hipGraphExec_t exec = instantiate(graph);
  launch(exec);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(value(i), i + 1);
  EXPECT_EQ(set(other_, 0, 9), hipSuccess);  // no longer captured
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(value(0), 9);
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
}

TEST_P(HipGraph, refuses_what_cannot_be_captured) {
  const auto spoiled = [&](hipError_t expected, auto&& action) {
    ASSERT_EQ(hipStreamBeginCapture(stream_, hipStreamCaptureModeGlobal), hipSuccess);
    EXPECT_EQ(set(stream_, 0, 1), hipSuccess);
    EXPECT_EQ(action(), expected);
    hipGraph_t graph = nullptr;
    EXPECT_EQ(hipStreamEndCapture(stream_, &graph), hipErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
  };
  spoiled(hipErrorStreamCaptureUnsupported, [&] { return hipStreamSynchronize(stream_); });
  spoiled(hipErrorStreamCaptureUnsupported, [&] { return hipDeviceSynchronize(); });
  void* pointer = nullptr;
  spoiled(hipErrorStreamCaptureUnsupported, [&] { return hipMalloc(&pointer, 4); });
  spoiled(hipErrorStreamCaptureUnsupported, [&] { return hipMemset(data_, 0, 4); });
  spoiled(hipErrorStreamCaptureImplicit, [&] { return set(nullptr, 0, 1); });
  EXPECT_EQ(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal),
            hipErrorStreamCaptureUnsupported);
}

TEST_P(HipGraph, allows_allocation_to_a_relaxed_thread) {
  ASSERT_EQ(hipStreamBeginCapture(stream_, hipStreamCaptureModeGlobal), hipSuccess);
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  EXPECT_EQ(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess);
  EXPECT_EQ(mode, hipStreamCaptureModeGlobal);
  void* pointer = nullptr;
  EXPECT_EQ(hipMalloc(&pointer, 4), hipSuccess);
  EXPECT_EQ(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess);
  EXPECT_EQ(mode, hipStreamCaptureModeRelaxed);
  EXPECT_EQ(hipGraphDestroy(end()), hipSuccess);
  EXPECT_EQ(hipFree(pointer), hipSuccess);
}

TEST_P(HipGraph, finds_work_that_was_not_joined) {
  ASSERT_EQ(hipStreamBeginCapture(stream_, hipStreamCaptureModeGlobal), hipSuccess);
  EXPECT_EQ(hipEventRecord(fork_, stream_), hipSuccess);
  EXPECT_EQ(hipStreamWaitEvent(other_, fork_), hipSuccess);
  EXPECT_EQ(set(other_, 1, 2), hipSuccess);
  hipGraph_t graph = nullptr;
  EXPECT_EQ(hipStreamEndCapture(stream_, &graph), hipErrorStreamCaptureUnjoined);
  EXPECT_EQ(hipStreamEndCapture(stream_, &graph), hipErrorIllegalState);
}

TEST_P(HipGraph, is_made_node_by_node) {
  hipGraph_t graph = nullptr;
  ASSERT_EQ(hipGraphCreate(&graph, 0), hipSuccess);
  const hipMemsetParams first = {data_, 4, 1, 0, 7, 4};
  hipGraphNode_t fill = nullptr;
  hipGraphNode_t copy = nullptr;
  ASSERT_EQ(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &first), hipSuccess);
  ASSERT_EQ(hipGraphAddMemcpyNode1D(&copy, graph, &fill, 1, data_ + 8, data_, 16,
                                    hipMemcpyDeviceToDevice),
            hipSuccess);
  int calls = 0;
  const hipHostNodeParams host = {[](void* data) { ++*static_cast<int*>(data); }, &calls};
  hipGraphNode_t call = nullptr;
  ASSERT_EQ(hipGraphAddHostNode(&call, graph, &copy, 1, &host), hipSuccess);
  hipGraphNodeType type = hipGraphNodeTypeEmpty;
  EXPECT_EQ(hipGraphNodeGetType(copy, &type), hipSuccess);
  EXPECT_EQ(type, hipGraphNodeTypeMemcpy);
  size_t count = 1;
  hipGraphNode_t dependency = nullptr;
  EXPECT_EQ(hipGraphNodeGetDependencies(call, &dependency, &count), hipSuccess);
  EXPECT_EQ(dependency, copy);
  const hipGraphExec_t exec = instantiate(graph);
  launch(exec);
  EXPECT_EQ(value(11), 7);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
  EXPECT_EQ(hipGraphNodeGetType(copy, &type), hipErrorInvalidValue);
}

TEST_P(HipGraph, has_no_cycle) {
  hipGraph_t graph = nullptr;
  ASSERT_EQ(hipGraphCreate(&graph, 0), hipSuccess);
  hipGraphNode_t a = nullptr;
  hipGraphNode_t b = nullptr;
  ASSERT_EQ(hipGraphAddEmptyNode(&a, graph, nullptr, 0), hipSuccess);
  ASSERT_EQ(hipGraphAddEmptyNode(&b, graph, &a, 1), hipSuccess);
  EXPECT_EQ(hipGraphAddDependencies(graph, &b, &a, 1), hipSuccess);
  hipGraphExec_t exec = nullptr;
  char log[200] = {};
  EXPECT_EQ(hipGraphInstantiate(&exec, graph, nullptr, log, sizeof(log)), hipErrorInvalidValue);
  EXPECT_NE(std::string(log).find("cycle"), std::string::npos);
  EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
}

TEST_P(HipGraph, does_not_write_to_memory_that_was_freed) {
  int* gone = nullptr;
  ASSERT_EQ(hipMalloc(&gone, 64), hipSuccess);
  ASSERT_EQ(hipStreamBeginCapture(stream_, hipStreamCaptureModeGlobal), hipSuccess);
  EXPECT_EQ(hipMemsetD32Async(gone, 1, 16, stream_), hipSuccess);
  EXPECT_EQ(hipMemcpyAsync(data_, gone, 4, hipMemcpyDeviceToDevice, stream_), hipSuccess);
  const hipGraph_t graph = end();
  const hipGraphExec_t exec = instantiate(graph);
  launch(exec);
  EXPECT_EQ(value(0), 1);
  ASSERT_EQ(hipFree(gone), hipSuccess);
  // Just freed, and after its addresses have been given back to the host.
  for (const int others : {0, 3000}) {
    for (int i = 0; i < others; ++i) {
      int* other = nullptr;
      ASSERT_EQ(hipMalloc(&other, 64), hipSuccess);
      ASSERT_EQ(hipFree(other), hipSuccess);
    }
    EXPECT_EQ(hipGraphLaunch(exec, stream_), hipErrorInvalidValue);
    expect_error_text({"fill", "0x"});
  }
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
}

TEST_P(HipGraph, runs_inside_another) {
  hipGraph_t inner = nullptr;
  hipGraph_t outer = nullptr;
  ASSERT_EQ(hipGraphCreate(&inner, 0), hipSuccess);
  ASSERT_EQ(hipGraphCreate(&outer, 0), hipSuccess);
  const hipMemsetParams fill = {data_, 4, 1, 0, 3, 1};
  hipGraphNode_t node = nullptr;
  ASSERT_EQ(hipGraphAddMemsetNode(&node, inner, nullptr, 0, &fill), hipSuccess);
  ASSERT_EQ(hipGraphAddChildGraphNode(&node, outer, nullptr, 0, inner), hipSuccess);
  hipGraph_t clone = nullptr;
  ASSERT_EQ(hipGraphClone(&clone, outer), hipSuccess);
  EXPECT_EQ(hipGraphDestroy(inner), hipSuccess);
  EXPECT_EQ(hipGraphDestroy(outer), hipSuccess);
  const hipGraphExec_t exec = instantiate(clone);
  launch(exec);
  EXPECT_EQ(value(0), 3);
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  EXPECT_EQ(hipGraphDestroy(clone), hipSuccess);
}

TEST_P(HipGraph, is_updated_by_one_of_its_shape) {
  const auto captured = [&](int to, bool longer) {
    EXPECT_EQ(hipStreamBeginCapture(stream_, hipStreamCaptureModeGlobal), hipSuccess);
    EXPECT_EQ(set(stream_, 0, to), hipSuccess);
    if (longer) {
      EXPECT_EQ(set(stream_, 1, to), hipSuccess);
    }
    return end();
  };
  const hipGraph_t first = captured(1, false);
  const hipGraph_t second = captured(2, false);
  const hipGraph_t longer = captured(3, true);
  const hipGraphExec_t exec = instantiate(first);
  hipGraphExecUpdateResult result = hipGraphExecUpdateError;
  EXPECT_EQ(hipGraphExecUpdate(exec, second, nullptr, &result), hipSuccess);
  EXPECT_EQ(result, hipGraphExecUpdateSuccess);
  launch(exec);
  EXPECT_EQ(value(0), 2);
  EXPECT_EQ(hipGraphExecUpdate(exec, longer, nullptr, &result), hipErrorGraphExecUpdateFailure);
  EXPECT_EQ(result, hipGraphExecUpdateErrorTopologyChanged);
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  for (const hipGraph_t graph : {first, second, longer}) {
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
  }
}

}  // namespace
}  // namespace instinct
