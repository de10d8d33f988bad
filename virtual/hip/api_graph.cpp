// Graphs, explicit and captured.
#include <algorithm>
#include <cstdio>

#include "virtual/hip/graph.h"
#include "virtual/hip/hip_api.h"
#include "virtual/hip/launch.h"

using namespace instinct;
using namespace instinct::hip;

namespace {

using NodeList = std::vector<std::shared_ptr<Node>>;

hipGraphNode_t handle_of(const std::shared_ptr<Node>& node) {
  return Handles<Node, hipGraphNode_t>::handle_of(node.get());
}

NodeList nodes_of(const hipGraphNode_t* handles, std::size_t count) {
  require(handles || count == 0, "nodes is null");
  NodeList nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(Runtime::get().nodes.find(handles[i]));
  return nodes;
}

// HIP's way to return lists: without a place, only their length; else at most *count.
void give(const NodeList& nodes, hipGraphNode_t* to, std::size_t* count) {
  require(count, "count is null");
  if (to) {
    const std::size_t most = std::min(nodes.size(), *count);
    for (std::size_t i = 0; i < most; ++i) to[i] = handle_of(nodes[i]);
    std::fill(to + most, to + *count, nullptr);
  }
  *count = nodes.size();
}

void add(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
         std::size_t count, Operation operation) {
  require(node, "node is null");
  const auto found = Runtime::get().graphs.find(graph);
  check(current_device(), operation);
  const hipGraphNodeType type = type_of(operation);
  *node = handle_of(add_node(*found, type, std::move(operation), nodes_of(dependencies, count)));
}

KernelRun run_of(const hipKernelNodeParams* params) {
  require(params, "params is null");
  return make_run(function_of(params->func),
                  {params->gridDim.x, params->gridDim.y, params->gridDim.z},
                  {params->blockDim.x, params->blockDim.y, params->blockDim.z},
                  params->sharedMemBytes, params->kernelParams, params->extra);
}

KernelRun& kernel_of(Node& node) {
  auto* run = std::get_if<KernelRun>(&node.operation);
  require(run != nullptr, "not a kernel node");
  return *run;
}

Node& node_of(GraphExec& exec, hipGraphNode_t node) {
  const auto found = exec.origin.find(Runtime::get().nodes.find(node).get());
  require(found != exec.origin.end(), "the node is not of the graph that was instantiated");
  return exec.nodes[found->second];
}

void instantiate(hipGraphExec_t* exec, hipGraph_t graph) {
  require(exec, "exec is null");
  *exec = Runtime::get().graph_execs.add(hip::instantiate(*Runtime::get().graphs.find(graph)));
}

// Events recorded by a graph can be waited for after its launch.
void set_tickets(const Steps& steps, Stream& stream) {
  const Ticket ticket = {stream.shared_from_this(), stream.last()};
  for (const Operation& operation : steps.operations) {
    if (const auto* record = std::get_if<Record>(&operation)) record->event->ticket = ticket;
  }
}

}  // namespace

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return call(__func__, [&] {
    const std::lock_guard lock(Runtime::get().work_mutex());
    begin_capture(stream_of(stream), mode);
  });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return call(__func__, [&] {
    require(graph, "graph is null");
    *graph = nullptr;
    const std::lock_guard lock(Runtime::get().work_mutex());
    *graph = Runtime::get().graphs.add(end_capture(*stream_of(stream)));
  });
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return hipStreamGetCaptureInfo_v2(stream, status, nullptr, nullptr, nullptr, nullptr);
}

hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                   unsigned long long* id) {
  return hipStreamGetCaptureInfo_v2(stream, status, id, nullptr, nullptr, nullptr);
}

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status,
                                      unsigned long long* id, hipGraph_t* graph,
                                      const hipGraphNode_t** dependencies, size_t* count) {
  return call(__func__, [&] {
    require(status, "status is null");
    const std::lock_guard lock(Runtime::get().work_mutex());
    const auto found = stream_of(stream);
    const auto& capture = found->capture;
    *status = !capture               ? hipStreamCaptureStatusNone
              : capture->invalidated ? hipStreamCaptureStatusInvalidated
                                     : hipStreamCaptureStatusActive;
    if (!capture) return;
    if (id) *id = capture->id;
    if (graph) *graph = Handles<Graph, hipGraph_t>::handle_of(capture->graph.get());
    thread_local std::vector<hipGraphNode_t> tail;  // valid until the next call
    tail.clear();
    for (const auto& node : found->capture_tail) tail.push_back(handle_of(node));
    if (dependencies) *dependencies = tail.data();
    if (count) *count = tail.size();
  });
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return call(__func__, [&] {
    require(mode, "mode is null");
    *mode = exchange_mode(*mode);
  });
}

hipError_t hipGraphCreate(hipGraph_t* graph, unsigned int flags) {
  return call(__func__, [&] {
    require(graph && flags == 0, "graph is null, or flags are not zero");
    *graph = Runtime::get().graphs.add(std::make_shared<Graph>());
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return call(__func__, [&] { Runtime::get().graphs.remove(graph); });
}

hipError_t hipGraphClone(hipGraph_t* clone, hipGraph_t graph) {
  return call(__func__, [&] {
    require(clone, "clone is null");
    const auto found = Runtime::get().graphs.find(graph);
    auto copy = std::make_shared<Graph>();
    std::unordered_map<const Node*, std::shared_ptr<Node>> copies;
    for (const auto& node : found->in_order()) {
      NodeList dependencies;
      for (const auto& each : node->dependencies) dependencies.push_back(copies.at(each.get()));
      copies[node.get()] = add_node(*copy, node->type, node->operation, std::move(dependencies));
    }
    *clone = Runtime::get().graphs.add(std::move(copy));
  });
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return call(__func__, [&] { give(Runtime::get().graphs.find(graph)->nodes, nodes, count); });
}

hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return call(__func__, [&] {
    NodeList roots = Runtime::get().graphs.find(graph)->nodes;
    std::erase_if(roots, [](const auto& node) { return !node->dependencies.empty(); });
    give(roots, nodes, count);
  });
}

hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to,
                            size_t* count) {
  return call(__func__, [&] {
    require(count && (from != nullptr) == (to != nullptr), "count is null, or one of two lists");
    NodeList sources;
    NodeList targets;
    for (const auto& node : Runtime::get().graphs.find(graph)->nodes) {
      for (const auto& dependency : node->dependencies) {
        sources.push_back(dependency);
        targets.push_back(node);
      }
    }
    std::size_t same_count = *count;
    give(sources, from, &same_count);
    give(targets, to, count);
  });
}

hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                   const hipGraphNode_t* to, size_t count) {
  return call(__func__, [&] {
    const auto found = Runtime::get().graphs.find(graph);
    const NodeList sources = nodes_of(from, count);
    const NodeList targets = nodes_of(to, count);
    for (std::size_t i = 0; i < count; ++i) {
      require(sources[i]->graph == found.get() && targets[i]->graph == found.get(),
              "a node of another graph");
      require(sources[i] != targets[i], "a node would depend on itself");
    }
    for (std::size_t i = 0; i < count; ++i) targets[i]->dependencies.push_back(sources[i]);
  });
}

hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
  return call(__func__, [&] {
    require(type, "type is null");
    *type = Runtime::get().nodes.find(node)->type;
  });
}

hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* nodes, size_t* count) {
  return call(__func__, [&] { give(Runtime::get().nodes.find(node)->dependencies, nodes, count); });
}

hipError_t hipGraphDestroyNode(hipGraphNode_t node) {
  return call(__func__, [&] {
    const auto removed = Runtime::get().nodes.remove(node);
    std::erase(removed->graph->nodes, removed);
    for (const auto& other : removed->graph->nodes) std::erase(other->dependencies, removed);
  });
}

hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* dependencies, size_t count,
                                 const hipKernelNodeParams* params) {
  return call(__func__, [&] { add(node, graph, dependencies, count, run_of(params)); });
}

hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph,
                                   const hipGraphNode_t* dependencies, size_t count, void* to,
                                   const void* from, size_t bytes, hipMemcpyKind kind) {
  return call(__func__,
              [&] { add(node, graph, dependencies, count, make_copy(to, from, bytes, kind)); });
}

hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* dependencies, size_t count,
                                 const hipMemsetParams* params) {
  return call(__func__, [&] {
    require(params, "params is null");
    const Fill fill = {.to = reinterpret_cast<u64>(params->dst),
                       .value = params->value,
                       .element_bytes = params->elementSize,
                       .count = params->width,
                       .pitch = params->pitch,
                       .rows = params->height};
    add(node, graph, dependencies, count, fill);
  });
}

hipError_t hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph,
                               const hipGraphNode_t* dependencies, size_t count,
                               const hipHostNodeParams* params) {
  return call(__func__, [&] {
    require(params && params->fn, "params or its function is null");
    const HostCall host = {[params = *params] { params.fn(params.userData); }};
    add(node, graph, dependencies, count, host);
  });
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph,
                                const hipGraphNode_t* dependencies, size_t count) {
  return call(__func__, [&] { add(node, graph, dependencies, count, Nothing{}); });
}

hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph,
                                     const hipGraphNode_t* dependencies, size_t count,
                                     hipGraph_t child) {
  return call(__func__, [&] {
    add(node, graph, dependencies, count, Runtime::get().graphs.find(child)->steps());
  });
}

hipError_t hipGraphAddEventRecordNode(hipGraphNode_t* node, hipGraph_t graph,
                                      const hipGraphNode_t* dependencies, size_t count,
                                      hipEvent_t event) {
  return call(__func__, [&] {
    add(node, graph, dependencies, count, Record{Runtime::get().events.find(event), 0});
  });
}

hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams* params) {
  return call(__func__, [&] {
    require(params, "params is null");
    const auto found = Runtime::get().nodes.find(node);
    KernelRun& run = kernel_of(*found);
    found->parameters.clear();
    for (const KernelArgument& argument : run.function->kernel->arguments) {
      if (argument.is_explicit()) {
        found->parameters.push_back(run.arguments.data() + argument.offset);
      }
    }
    *params = {};
    params->func = Handles<Function, hipFunction_t>::handle_of(run.function.get());
    params->gridDim = {run.grid.x, run.grid.y, run.grid.z};
    params->blockDim = {run.block.x, run.block.y, run.block.z};
    params->sharedMemBytes = run.dynamic_lds;
    params->kernelParams = found->parameters.data();
  });
}

hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams* params) {
  return call(__func__, [&] {
    const auto found = Runtime::get().nodes.find(node);
    kernel_of(*found) = run_of(params);
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph, hipGraphNode_t* error_node,
                               char* log, size_t log_bytes) {
  if (error_node) *error_node = nullptr;
  const hipError_t code = call(__func__, [&] { instantiate(exec, graph); });
  if (code != hipSuccess && log && log_bytes) {
    std::snprintf(log, log_bytes, "%s", last_error().text.c_str());
  }
  return code;
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph,
                                        unsigned long long) {
  return call(__func__, [&] { instantiate(exec, graph); });
}

hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream) {
  return call(__func__, [&] {
    Runtime::get().graph_execs.find(exec);
    stream_of(stream);
  });
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  return call(__func__, [&] {
    const auto steps = Runtime::get().graph_execs.find(exec)->steps();
    const auto target = stream_of(stream);
    for (const Operation& operation : steps->operations) check(target->device(), operation);
    submit(*target, steps);
    if (!target->capture) set_tickets(*steps, *target);
  });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return call(__func__, [&] { Runtime::get().graph_execs.remove(exec); });
}

hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipKernelNodeParams* params) {
  return call(__func__, [&] {
    const auto found = Runtime::get().graph_execs.find(exec);
    kernel_of(node_of(*found, node)) = run_of(params);
  });
}

hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t* error_node,
                              hipGraphExecUpdateResult* result) {
  return call(__func__, [&] {
    const auto found = Runtime::get().graph_execs.find(exec);
    const auto outcome = update(*found, *Runtime::get().graphs.find(graph));
    if (error_node) *error_node = nullptr;
    if (result) *result = outcome;
    require(outcome == hipGraphExecUpdateSuccess, "the graph has another shape",
            hipErrorGraphExecUpdateFailure);
  });
}

}  // extern "C"
