// Graphs: what capture has made, instantiation, launch, update.
#include "driver/call.hpp"
#include "driver/observed.hpp"

#include <unordered_map>

using namespace inline_prof::simgpu;

namespace {

constexpr auto kLegacy = DefaultStream::kLegacy;
constexpr auto kPerThread = DefaultStream::kPerThread;

// An order in which the nodes can run (J. Kahn, CACM 5(11), 1962, doi:10.1145/368996.369025); among
// nodes that are ready, the order of creation.
std::shared_ptr<const ExecBody> snapshot(const Graph& graph) {
  std::unordered_map<const Node*, std::size_t> place;
  auto body = std::make_shared<ExecBody>();
  body->reserve(graph.nodes.size());
  while (place.size() < graph.nodes.size()) {
    const auto before = place.size();
    for (const auto& node : graph.nodes) {
      if (place.contains(node.get())) continue;
      std::vector<std::size_t> dependencies;
      for (const Node* dependency : node->dependencies) {
        const auto at = place.find(dependency);
        if (at == place.end()) break;
        dependencies.push_back(at->second);
      }
      if (dependencies.size() < node->dependencies.size()) continue;
      place.emplace(node.get(), body->size());
      body->push_back({.work = node->work, .dependencies = std::move(dependencies)});
    }
    require_value(place.size() > before);  // a cycle
  }
  return body;
}

void instantiate(Simulator& s, CUgraphExec* exec, CUgraph handle, unsigned long long flags) {
  require(exec);
  constexpr unsigned long long known =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  require_value((flags & ~known) == 0);
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) {
    throw Failure{CUDA_ERROR_NOT_SUPPORTED};
  }
  const Graph& graph = s.graph(handle);
  // cuda.h, cuStreamBeginCaptureToGraph: "not instantiable until the user calls
  // cuStreamEndCapture".
  require_value(!graph.capture);
  auto made = std::make_unique<GraphExec>();
  made->body = snapshot(graph);
  made->flags = flags;
  *exec = reinterpret_cast<CUgraphExec>(made.get());
  GraphExec* key = made.get();
  s.execs.emplace(key, std::move(made));
}

// cuda.h, cuGraphExecUpdate: the graphs must have the same topology, and "the type of a node" may
// not change.
CUgraphExecUpdateResult update(GraphExec& exec, const Graph& graph) {
  auto fresh = snapshot(graph);
  if (fresh->size() != exec.body->size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (std::size_t i = 0; i < fresh->size(); ++i) {
    const ExecNode& was = (*exec.body)[i];
    const ExecNode& now = (*fresh)[i];
    if (was.dependencies != now.dependencies) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (was.work.index() != now.work.index()) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    const auto* kernel_was = std::get_if<KernelWork>(&was.work);
    const auto* kernel_now = std::get_if<KernelWork>(&now.work);
    // "The owning context of the function cannot change."
    if (kernel_was != nullptr && kernel_now != nullptr &&
        kernel_was->context != kernel_now->context) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    }
  }
  exec.body = std::move(fresh);
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUresult code_of(CUgraphExecUpdateResult result) {
  return result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
                                                : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUgraphNodeType type_of(const Node& node) {
  struct Namer {
    CUgraphNodeType operator()(const EmptyWork&) const { return CU_GRAPH_NODE_TYPE_EMPTY; }
    CUgraphNodeType operator()(const KernelWork&) const { return CU_GRAPH_NODE_TYPE_KERNEL; }
    CUgraphNodeType operator()(const CopyWork&) const { return CU_GRAPH_NODE_TYPE_MEMCPY; }
    CUgraphNodeType operator()(const FillWork&) const { return CU_GRAPH_NODE_TYPE_MEMSET; }
    CUgraphNodeType operator()(const RecordWork&) const { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; }
    CUgraphNodeType operator()(const WaitWork&) const { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; }
  };
  return std::visit(Namer{}, node.work);
}

// The members that CUDA_KERNEL_NODE_PARAMS v1 and v2 share.  The arguments themselves are not kept:
// nothing tells how large they are, and kernels compute nothing.
template <typename Parameters>
void describe(Simulator& s, const Node& node, Parameters& out) {
  const auto* kernel = std::get_if<KernelWork>(&node.work);
  require(kernel);
  static void* no_arguments[1] = {nullptr};
  out = {};
  out.func = reinterpret_cast<CUfunction>(
      &s.function_of(s.module_of(*kernel->context, *kernel->kernel->library), *kernel->kernel));
  out.gridDimX = kernel->grid[0];
  out.gridDimY = kernel->grid[1];
  out.gridDimZ = kernel->grid[2];
  out.blockDimX = kernel->block[0];
  out.blockDimY = kernel->block[1];
  out.blockDimZ = kernel->block[2];
  out.sharedMemBytes = kernel->dynamic_shared_bytes;
  out.kernelParams = no_arguments;
}

// cuda.h, cuGraphGetNodes: with nodes null the count is returned; else up to *count are written,
// the rest of the array is set to NULL, and *count is what was written.
template <typename Nodes>
void list(const Nodes& from, CUgraphNode* nodes, size_t* count) {
  require(count);
  const auto total = static_cast<size_t>(std::distance(from.begin(), from.end()));
  if (nodes == nullptr) {
    *count = total;
    return;
  }
  size_t written = 0;
  for (const auto& node : from) {
    if (written == *count) break;
    nodes[written++] = reinterpret_cast<CUgraphNode>(&*node);
  }
  for (size_t i = written; i < *count; ++i)
    nodes[i] = nullptr;
  *count = written;
}

}  // namespace

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                            char* log_text, size_t log_bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) {
    if (error_node != nullptr) *error_node = nullptr;
    if (log_text != nullptr && log_bytes > 0) log_text[0] = 0;
    instantiate(s, exec, graph, 0);
  });
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                               char* log_text, size_t log_bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) {
    if (error_node != nullptr) *error_node = nullptr;
    if (log_text != nullptr && log_bytes > 0) log_text[0] = 0;
    instantiate(s, exec, graph, 0);
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { instantiate(s, exec, graph, flags); });
}

CUresult cuGraphDestroy(CUgraph graph) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    Graph& doomed = s.graph(graph);
    // cuda.h, cuStreamGetCaptureInfo: "All operations other than destroy and node removal are
    // permitted on the graph while the capture sequence is in progress."
    require_value(!doomed.capture);
    for (const auto& node : doomed.nodes)
      s.nodes.erase(node.get());
    s.graphs.erase(&doomed);
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) { s.execs.erase(&s.exec(exec)); });
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(flags);
    *flags = s.exec(exec).flags;
  });
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                           CUgraphExecUpdateResult* result) {
  static const DriverEntry entry{__func__};
  return call(entry, Cost::kOther, [&](Simulator& s) {
    require(result);
    *result = update(s.exec(exec), s.graph(graph));
    if (error_node != nullptr) *error_node = nullptr;
    return code_of(*result);
  });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  static const DriverEntry entry{__func__};
  return call(entry, Cost::kOther, [&](Simulator& s) {
    require(info);
    *info = {};
    info->result = update(s.exec(exec), s.graph(graph));
    return code_of(info->result);
  });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone,
                 [&](Simulator& s) { list(s.graph(graph).nodes, nodes, count); });
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(type);
    *type = type_of(s.node(node));
  });
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone,
                 [&](Simulator& s) { list(s.node(node).dependencies, nodes, count); });
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges,
                                       size_t* count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require_value(edges == nullptr || nodes != nullptr);
    list(s.node(node).dependencies, nodes, count);
    // No edge carries data here.
    for (size_t i = 0; edges != nullptr && i < *count; ++i)
      edges[i] = {};
  });
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(parameters);
    describe(s, s.node(node), *parameters);
  });
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(parameters);
    describe(s, s.node(node), *parameters);
  });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) {
    require(parameters);
    instantiate(s, exec, graph, parameters->flags);
    // CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD: "the graph will be uploaded before returning".
    if ((parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) {
      static_cast<void>(s.stream(parameters->hUploadStream, kLegacy));
    }
    parameters->hErrNode_out = nullptr;
    parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  });
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) {
    require(parameters);
    instantiate(s, exec, graph, parameters->flags);
    // CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD: "the graph will be uploaded before returning".
    if ((parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) {
      static_cast<void>(s.stream(parameters->hUploadStream, kPerThread));
    }
    parameters->hErrNode_out = nullptr;
    parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  });
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    static_cast<void>(s.exec(exec));
    static_cast<void>(s.stream(stream, kLegacy));
  });
}

CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    static_cast<void>(s.exec(exec));
    static_cast<void>(s.stream(stream, kPerThread));
  });
}

namespace {

simgpu_api_call call_of(const char* function, CUgraphExec exec, CUstream stream) {
  simgpu_api_call call{};
  call.function = function;
  call.handle = exec;
  call.stream = stream;
  return call;
}

}  // namespace

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  static const DriverEntry entry{__func__};
  return observed(call_of(__func__, exec, stream), [&] {
    return perform(entry, Cost::kGraphLaunch,
                   [&](Simulator& s) { s.launch_graph(s.stream(stream, kLegacy), s.exec(exec)); });
  });
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  static const DriverEntry entry{__func__};
  return observed(call_of(__func__, exec, stream), [&] {
    return perform(entry, Cost::kGraphLaunch, [&](Simulator& s) {
      s.launch_graph(s.stream(stream, kPerThread), s.exec(exec));
    });
  });
}
