// Executable graphs: made, updated as a whole, uploaded, launched, destroyed.
#include "driver/call.hpp"
#include "driver/graph_exec.hpp"
#include "driver/observed.hpp"

using namespace inline_prof::simgpu;

namespace {

// Instantiation allocates memory of the device, which is what makes cudaMalloc "potentially unsafe"
// (cuda.h, cuThreadExchangeStreamCaptureMode).
GraphExec& make(Simulator& s, CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  require(exec);
  s.refuse_if_unsafe();
  GraphExec& made = instantiate(s, s.graph(graph), flags);
  *exec = reinterpret_cast<CUgraphExec>(&made);
  return made;
}

void make_with_log(Simulator& s, CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                   char* log_text, size_t log_bytes) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log_text != nullptr && log_bytes > 0) log_text[0] = 0;
  try {
    make(s, exec, graph, 0);
  } catch (const InstantiationFailure& failure) {
    if (error_node != nullptr) {
      *error_node = reinterpret_cast<CUgraphNode>(const_cast<Node*>(failure.node));
    }
    throw;
  }
}

// "In the event of an error, the result_out and hErrNode_out fields will contain more information
// about the nature of the error."
void make_with_parameters(Simulator& s, CUgraphExec* exec, CUgraph graph,
                          CUDA_GRAPH_INSTANTIATE_PARAMS* parameters, DefaultStream which) {
  require(parameters);
  parameters->hErrNode_out = nullptr;
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  try {
    const bool uploads = (parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0;
    Stream* stream = uploads ? &s.stream(parameters->hUploadStream, which) : nullptr;
    GraphExec& made = make(s, exec, graph, parameters->flags);
    // "which will perform an upload of the graph into hUploadStream once the graph has been
    // instantiated."
    if (stream != nullptr) s.upload_graph(*stream, made);
  } catch (const InstantiationFailure& failure) {
    parameters->result_out = failure.result;
    parameters->hErrNode_out = reinterpret_cast<CUgraphNode>(const_cast<Node*>(failure.node));
    throw;
  }
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
}

CUgraphExecUpdateResultInfo update_exec(Simulator& s, CUgraphExec exec, CUgraph handle) {
  const Graph& graph = s.graph(handle);
  // CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE: "Cannot be used as an argument to cuGraphExecUpdate".
  require_value(graph.holder == nullptr && !graph.capture);
  return update(s, s.exec(exec), graph);
}

CUresult code_of(CUgraphExecUpdateResult result) {
  return result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
                                                : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

simgpu_api_call call_of(const char* function, CUgraphExec exec, CUstream stream) {
  simgpu_api_call call{};
  call.function = function;
  call.handle = exec;
  call.stream = stream;
  return call;
}

}  // namespace

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                            char* log_text, size_t log_bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) {
    make_with_log(s, exec, graph, error_node, log_text, log_bytes);
  });
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                               char* log_text, size_t log_bytes) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) {
    make_with_log(s, exec, graph, error_node, log_text, log_bytes);
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { make(s, exec, graph, flags); });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate,
                 [&](Simulator& s) { make_with_parameters(s, exec, graph, parameters, kLegacy); });
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) {
    make_with_parameters(s, exec, graph, parameters, kPerThread);
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) { destroy_exec(s, s.exec(exec)); });
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
    // "CU_GRAPH_EXEC_UPDATE_ERROR if passed an invalid value."
    *result = CU_GRAPH_EXEC_UPDATE_ERROR;
    if (error_node != nullptr) *error_node = nullptr;
    const auto info = update_exec(s, exec, graph);
    *result = info.result;
    if (error_node != nullptr) *error_node = info.errorNode;
    return code_of(info.result);
  });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  static const DriverEntry entry{__func__};
  return call(entry, Cost::kOther, [&](Simulator& s) {
    require(info);
    *info = {};
    info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
    *info = update_exec(s, exec, graph);
    return code_of(info->result);
  });
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { s.upload_graph(s.stream(stream, kLegacy), s.exec(exec)); });
}

CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { s.upload_graph(s.stream(stream, kPerThread), s.exec(exec)); });
}

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
