// Executable graphs: made, updated as a whole, uploaded, launched, destroyed.
#include "driver/call.hpp"
#include "driver/graph_exec.hpp"
#include "driver/observed.hpp"

using namespace simgpu;

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

SIMGPU_CALL(cuGraphInstantiate, cuGraphInstantiate_v10000, kAllocate, exec, graph, error_node,
            log_text, log_bytes) {
  make_with_log(s, exec, graph, error_node, log_text, log_bytes);
}

SIMGPU_CALL(cuGraphInstantiate_v2, cuGraphInstantiate_v11000, kAllocate, exec, graph, error_node,
            log_text, log_bytes) {
  make_with_log(s, exec, graph, error_node, log_text, log_bytes);
}

SIMGPU_CALL(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags_v11040, kAllocate, exec, graph,
            flags) {
  make(s, exec, graph, flags);
}

SIMGPU_STREAM_CALL(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_v12000, kAllocate,
                   exec, graph, parameters) {
  make_with_parameters(s, exec, graph, parameters, which);
}

SIMGPU_CALL(cuGraphExecDestroy, cuGraphExecDestroy_v10000, kOther, exec) {
  destroy_exec(s, s.exec(exec));
}

SIMGPU_GET(cuGraphExecGetFlags, cuGraphExecGetFlags_v12000, kNone, s.exec(exec).flags, exec)

SIMGPU_FUNCTION(cuGraphExecUpdate, cuGraphExecUpdate_v10020, exec, graph, error_node, result) {
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

SIMGPU_FUNCTION(cuGraphExecUpdate_v2, cuGraphExecUpdate_v12000, exec, graph, info) {
  return call(entry, Cost::kOther, [&](Simulator& s) {
    require(info);
    *info = {};
    info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
    *info = update_exec(s, exec, graph);
    return code_of(info->result);
  });
}

SIMGPU_STREAM_CALL(cuGraphUpload, cuGraphUpload_v11010, kOther, exec, stream) {
  s.upload_graph(s.stream(stream, which), s.exec(exec));
}

SIMGPU_STREAM_FUNCTION(cuGraphLaunch, cuGraphLaunch_v10000, exec, stream) {
  return observed(call_of(entry.function(), exec, stream), [&] {
    return perform(entry, Cost::kGraphLaunch,
                   [&](Simulator& s) { s.launch_graph(s.stream(stream, which), s.exec(exec)); });
  });
}
