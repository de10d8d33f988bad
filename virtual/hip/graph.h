// Graphs: made node by node or by capturing streams, then run as one operation.
#pragma once

#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "virtual/hip/stream.h"

namespace instinct::hip {

struct Node {
  Graph* graph = nullptr;
  hipGraphNodeType type = hipGraphNodeTypeEmpty;
  Operation operation;
  std::vector<std::shared_ptr<Node>> dependencies;
  std::vector<void*> parameters;  // as told by hipGraphKernelNodeGetParams
};

struct Graph {
  std::vector<std::shared_ptr<Node>> nodes;

  ~Graph();
  // In an order that respects dependencies. Throws Failure for a cycle.
  std::vector<std::shared_ptr<Node>> in_order() const;
  std::shared_ptr<const Steps> steps() const;
};

struct GraphExec {
  // As of instantiation; `origin` finds the node of a graph's node.
  std::vector<Node> nodes;
  std::unordered_map<const Node*, std::size_t> origin;
  std::vector<std::vector<std::size_t>> dependencies;

  std::shared_ptr<const Steps> steps() const;
};

// A capture under way. Guarded by the runtime's work mutex.
class Capture {
 public:
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  u64 id = 0;
  Stream* origin = nullptr;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  std::thread::id thread;
  bool invalidated = false;
  std::vector<std::shared_ptr<Stream>> streams;  // the origin, and those that joined
};

// Nodes carry the handles that the runtime knows them by.
std::shared_ptr<Node> add_node(Graph& graph, hipGraphNodeType type, Operation operation,
                               std::vector<std::shared_ptr<Node>> dependencies);
hipGraphNodeType type_of(const Operation& operation);

void begin_capture(const std::shared_ptr<Stream>& stream, hipStreamCaptureMode mode);
std::shared_ptr<Graph> end_capture(Stream& stream);
void add_captured(Stream& stream, Operation operation);
void join_capture(Stream& stream, Event& event);
hipStreamCaptureMode exchange_mode(hipStreamCaptureMode mode);

// Each throws Failure, and spoils the capture, if a capture forbids what the caller is about to do:
// wait for a stream; use the null stream; allocate, free, or copy without a stream.
void forbid_wait(Stream& stream);
void forbid_implicit_capture(Stream& stream);
void forbid_while_capturing();

std::shared_ptr<GraphExec> instantiate(const Graph& graph);
// Takes the operations of a graph of the same shape.
hipGraphExecUpdateResult update(GraphExec& exec, const Graph& graph);

}  // namespace instinct::hip
