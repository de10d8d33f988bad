#include "virtual/hip/graph.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>

namespace instinct::hip {
namespace {

// Captures under way, guarded by the runtime's work mutex.
std::vector<std::shared_ptr<Capture>>& captures() {
  static std::vector<std::shared_ptr<Capture>> captures;
  return captures;
}

thread_local hipStreamCaptureMode thread_mode = hipStreamCaptureModeGlobal;

[[noreturn]] void spoil(Capture& capture, hipError_t code, const char* what) {
  capture.invalidated = true;
  throw Failure(code, what);
}

// All that a set of nodes depends on, with themselves.
std::unordered_set<const Node*> behind(const std::vector<std::shared_ptr<Node>>& nodes) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open;
  open.reserve(nodes.size());
  for (const auto& node : nodes) open.push_back(node.get());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    for (const auto& dependency : node->dependencies) open.push_back(dependency.get());
  }
  return seen;
}

}  // namespace

Graph::~Graph() {
  for (const auto& node : nodes) {
    try {
      Runtime::get().nodes.remove(Handles<Node, hipGraphNode_t>::handle_of(node.get()));
    } catch (const Failure&) {  // NOLINT(bugprone-empty-catch): destroyed before
    }
    node->dependencies.clear();
  }
}

std::vector<std::shared_ptr<Node>> Graph::in_order() const {
  std::vector<std::shared_ptr<Node>> order;
  std::unordered_set<const Node*> done;
  std::vector<std::shared_ptr<Node>> left = nodes;
  while (!left.empty()) {
    const std::size_t before = left.size();
    std::erase_if(left, [&](const std::shared_ptr<Node>& node) {
      const auto ready = [&](const auto& dependency) { return done.contains(dependency.get()); };
      if (!std::ranges::all_of(node->dependencies, ready)) return false;
      order.push_back(node);
      done.insert(node.get());
      return true;
    });
    require(left.size() < before, "the graph has a cycle");
  }
  return order;
}

std::shared_ptr<const Steps> Graph::steps() const {
  auto steps = std::make_shared<Steps>();
  for (const auto& node : in_order()) steps->operations.push_back(node->operation);
  return steps;
}

std::shared_ptr<const Steps> GraphExec::steps() const {
  auto steps = std::make_shared<Steps>();
  for (const Node& node : nodes) steps->operations.push_back(node.operation);
  return steps;
}

hipGraphNodeType type_of(const Operation& operation) {
  constexpr hipGraphNodeType type_table[] = {hipGraphNodeTypeEmpty,  hipGraphNodeTypeKernel,
                                             hipGraphNodeTypeMemcpy, hipGraphNodeTypeMemset,
                                             hipGraphNodeTypeHost,   hipGraphNodeTypeEventRecord,
                                             hipGraphNodeTypeGraph};
  static_assert(std::size(type_table) == std::variant_size_v<Operation>);
  return type_table[operation.index()];
}

std::shared_ptr<Node> add_node(Graph& graph, hipGraphNodeType type, Operation operation,
                               std::vector<std::shared_ptr<Node>> dependencies) {
  for (const auto& dependency : dependencies) {
    require(dependency->graph == &graph, "a dependency is a node of another graph");
  }
  auto node = std::make_shared<Node>();
  node->graph = &graph;
  node->type = type;
  node->operation = std::move(operation);
  node->dependencies = std::move(dependencies);
  graph.nodes.push_back(node);
  Runtime::get().nodes.add(node);
  return node;
}

void begin_capture(const std::shared_ptr<Stream>& stream, hipStreamCaptureMode mode) {
  if (stream == stream->device().null_stream()) {
    throw Failure(hipErrorStreamCaptureUnsupported, "the null stream cannot be captured");
  }
  require(!stream->capture, "the stream is being captured already", hipErrorIllegalState);
  static std::atomic<u64> next_id = 1;
  auto capture = std::make_shared<Capture>();
  capture->id = next_id++;
  capture->origin = stream.get();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->streams.push_back(stream);
  stream->capture = capture;
  stream->capture_tail.clear();
  captures().push_back(capture);
}

std::shared_ptr<Graph> end_capture(Stream& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  require(capture != nullptr, "the stream is not being captured", hipErrorIllegalState);
  if (capture->origin != &stream) {
    spoil(*capture, hipErrorStreamCaptureUnmatched, "the capture began in another stream");
  }
  if (capture->mode != hipStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    spoil(*capture, hipErrorStreamCaptureWrongThread, "the capture began in another thread");
  }
  const auto joined = behind(stream.capture_tail);
  const bool all = std::ranges::all_of(
      capture->graph->nodes, [&](const auto& node) { return joined.contains(node.get()); });
  for (const auto& other : capture->streams) {
    other->capture.reset();
    other->capture_tail.clear();
  }
  std::erase(captures(), capture);
  require(!capture->invalidated, "something during the capture was not permitted",
          hipErrorStreamCaptureInvalidated);
  require(all, "work of another stream was not joined to the stream of the capture",
          hipErrorStreamCaptureUnjoined);
  return capture->graph;
}

void add_captured(Stream& stream, Operation operation) {
  Capture& capture = *stream.capture;
  require(!capture.invalidated, "the capture is invalid", hipErrorStreamCaptureInvalidated);
  const hipGraphNodeType type = type_of(operation);
  stream.capture_tail = {add_node(*capture.graph, type, std::move(operation), stream.capture_tail)};
}

void join_capture(Stream& stream, Event& event) {
  const std::shared_ptr<Capture> capture = event.capture;
  if (stream.capture && stream.capture != capture) {
    spoil(*stream.capture, hipErrorStreamCaptureMerge, "the event belongs to another capture");
  }
  if (std::ranges::find(captures(), capture) == captures().end()) {
    throw Failure(hipErrorCapturedEvent, "the event was last recorded in a capture that ended");
  }
  if (!stream.capture) {
    if (&stream == stream.device().null_stream().get()) {
      spoil(*capture, hipErrorStreamCaptureImplicit, "the null stream cannot join a capture");
    }
    stream.capture = capture;
    stream.capture_tail.clear();
    capture->streams.push_back(stream.shared_from_this());
  }
  for (const auto& node : event.captured) {
    if (std::ranges::find(stream.capture_tail, node) == stream.capture_tail.end()) {
      stream.capture_tail.push_back(node);
    }
  }
}

hipStreamCaptureMode exchange_mode(hipStreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

void forbid_wait(Stream& stream) {
  if (!stream.capture) return;
  spoil(*stream.capture, hipErrorStreamCaptureUnsupported, "the stream is being captured");
}

void forbid_implicit_capture(Stream& stream) {
  if (&stream != stream.device().null_stream().get()) return;
  for (const auto& capture : captures()) {
    if (&capture->origin->device() == &stream.device() && capture->origin->blocking()) {
      spoil(*capture, hipErrorStreamCaptureImplicit,
            "the null stream would wait for a stream that is being captured");
    }
  }
}

void forbid_while_capturing() {
  const std::lock_guard lock(Runtime::get().work_mutex());
  if (thread_mode == hipStreamCaptureModeRelaxed) return;
  for (const auto& capture : captures()) {
    const bool own = capture->thread == std::this_thread::get_id();
    if (capture->mode == hipStreamCaptureModeRelaxed) continue;
    if (own || (capture->mode == hipStreamCaptureModeGlobal &&
                thread_mode == hipStreamCaptureModeGlobal)) {
      spoil(*capture, hipErrorStreamCaptureUnsupported, "not permitted during a capture");
    }
  }
}

std::shared_ptr<GraphExec> instantiate(const Graph& graph) {
  auto exec = std::make_shared<GraphExec>();
  for (const auto& node : graph.in_order()) {
    exec->origin.emplace(node.get(), exec->nodes.size());
    std::vector<std::size_t>& dependencies = exec->dependencies.emplace_back();
    for (const auto& dependency : node->dependencies) {
      dependencies.push_back(exec->origin.at(dependency.get()));
    }
    Node copy;
    copy.type = node->type;
    copy.operation = node->operation;
    exec->nodes.push_back(std::move(copy));
  }
  return exec;
}

hipGraphExecUpdateResult update(GraphExec& exec, const Graph& graph) {
  const auto other = instantiate(graph);
  if (other->nodes.size() != exec.nodes.size() || other->dependencies != exec.dependencies) {
    return hipGraphExecUpdateErrorTopologyChanged;
  }
  for (std::size_t i = 0; i < exec.nodes.size(); ++i) {
    if (exec.nodes[i].type != other->nodes[i].type) return hipGraphExecUpdateErrorNodeTypeChanged;
  }
  exec.nodes = std::move(other->nodes);
  exec.origin = std::move(other->origin);
  return hipGraphExecUpdateSuccess;
}

}  // namespace instinct::hip
