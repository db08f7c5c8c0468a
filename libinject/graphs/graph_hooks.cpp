// Graphs as the application makes, changes and destroys them, and what it captures.  Each wrapper
// makes the application's call once, unchanged; what is noted beside it is for
// graphs/graph_registry.hpp.
#include "entry/guard.hpp"
#include "entry/start.hpp"
#include "graphs/clone_measurement.hpp"
#include "graphs/graph_registry.hpp"
#include "graphs/graph_wrappers.hpp"
#include "launch/launch.hpp"
#include "session/state.hpp"
#include "sys/graph_api.hpp"
#include "timer/driver_scope.hpp"

#include <array>

namespace inline_prof::hook {

constinit GraphOriginals graph_originals;

namespace {

// Forwards with the application's arguments; `Function` is the vendor's signature.
template <typename Function, typename... Arguments>
CUresult forward(std::atomic<void*>& real, const char* symbol, Arguments... arguments) {
  const auto function = reinterpret_cast<Function>(resolved(real, symbol));
  return function == nullptr ? CUDA_ERROR_NOT_INITIALIZED : function(arguments...);
}

// Runs `note` if profiling goes on and nobody is inside one of our own calls.
template <typename Note>
void noted(const char* where, const Note& note) noexcept {
  if (sys::is_on() && !cupti_sees_launches.load(std::memory_order_relaxed)) fenced(where, note);
}

// The same while copies are left, also after profiling went off: what they refer to must not be
// held for longer than the application's own.
template <typename Note>
void released(const char* where, const Note& note) noexcept {
  if (state() == nullptr || (!sys::is_on() && graphs::copy_bytes() == 0)) return;
  fenced(where, note);
}

CUresult made(CUresult result, const CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  if (result != CUDA_SUCCESS || exec == nullptr || *exec == nullptr) return result;
  start_once();
  noted("cuGraphInstantiate", [&] { graphs::made(*exec, graph, flags); });
  return result;
}

CUresult updated(CUresult result, CUgraphExec exec, CUgraph graph) {
  if (result == CUDA_SUCCESS) {
    noted("cuGraphExecUpdate", [&] { graphs::updated_from(exec, graph); });
  }
  return result;
}

// A change of a node that is not made to the copy, too.
CUresult changed(CUresult result, CUgraphExec exec, CUgraphNode node) {
  if (result != CUDA_SUCCESS) return result;
  noted("cuGraphExecNodeSetParams", [&] {
    const std::lock_guard lock(graphs::mutex());
    const auto clone_node = graphs::clone_node_of(exec, node);
    if (clone_node.graph == nullptr) return;
    graphs::give_copy_up(*clone_node.graph, "the program changes nodes of it that are not kernels");
  });
  return result;
}

CUresult set_kernel(CUgraphExec exec, CUgraphNode node, void* parameters) {
  return sys::graph_api().set_exec_kernel(
      exec, node, static_cast<const CUDA_KERNEL_NODE_PARAMS_v2*>(parameters));
}

// The same is done to our copy, and to the one with events that may be alive.
void follow_kernel(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& wanted) {
  const auto& api = sys::graph_api();
  const timer::CaptureModeScope capture_mode;
  const std::lock_guard lock(graphs::mutex());
  const auto clone_node = graphs::clone_node_of(exec, node);
  if (clone_node.graph == nullptr) return;
  clone_node.graph->generation.fetch_add(1, std::memory_order_release);
  if (clone_node.node == nullptr || api.set_kernel == nullptr || api.set_exec_kernel == nullptr ||
      api.set_kernel(clone_node.node, &wanted) != CUDA_SUCCESS) {
    return graphs::give_copy_up(*clone_node.graph, "the program changes its kernels");
  }
  CUDA_KERNEL_NODE_PARAMS_v2 same = wanted;
  clone_measurement::mirror(*clone_node.graph, clone_node.node, set_kernel, &same,
                            clone_measurement::Mirrored::kAlways);
}

CUresult set_enabled(CUgraphExec exec, CUgraphNode node, void* is_enabled) {
  return sys::graph_api().set_exec_enabled(exec, node, *static_cast<unsigned*>(is_enabled));
}

void follow_enabled(CUgraphExec exec, CUgraphNode node, unsigned is_enabled) {
  const timer::CaptureModeScope capture_mode;
  const std::lock_guard lock(graphs::mutex());
  const auto clone_node = graphs::clone_node_of(exec, node);
  if (clone_node.graph == nullptr) return;
  clone_node.graph->generation.fetch_add(1, std::memory_order_release);
  if (clone_node.node == nullptr || sys::graph_api().set_exec_enabled == nullptr) {
    return graphs::give_copy_up(*clone_node.graph, "the program switches its nodes off and on");
  }
  clone_node.place->is_enabled = is_enabled != 0;
  clone_measurement::mirror(*clone_node.graph, clone_node.node, set_enabled, &is_enabled,
                            clone_measurement::Mirrored::kNotIfTimed);
}

CUresult begun(CUresult result) {
  if (result == CUDA_SUCCESS)
    noted("cuStreamBeginCapture", [] { capture_notes::capture_begins(); });
  return result;
}

// Whatever the call returned, the capture is over.
CUresult ended(CUresult result) {
  if (sys::is_on()) capture_notes::capture_ends();
  return result;
}

}  // namespace

CUresult CUDAAPI graph_instantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                                   char* log, std::size_t log_bytes) {
  return made(forward<CUresult(CUDAAPI*)(CUgraphExec*, CUgraph, CUgraphNode*, char*, std::size_t)>(
                  graph_originals.graph_instantiate, "cuGraphInstantiate", exec, graph, error_node,
                  log, log_bytes),
              exec, graph, 0);
}

CUresult CUDAAPI graph_instantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                                      char* log, std::size_t log_bytes) {
  return made(forward<CUresult(CUDAAPI*)(CUgraphExec*, CUgraph, CUgraphNode*, char*, std::size_t)>(
                  graph_originals.graph_instantiate_v2, "cuGraphInstantiate_v2", exec, graph,
                  error_node, log, log_bytes),
              exec, graph, 0);
}

CUresult CUDAAPI graph_instantiate_with_flags(CUgraphExec* exec, CUgraph graph,
                                              unsigned long long flags) {
  return made(forward<CUresult(CUDAAPI*)(CUgraphExec*, CUgraph, unsigned long long)>(
                  graph_originals.graph_instantiate_with_flags, "cuGraphInstantiateWithFlags", exec,
                  graph, flags),
              exec, graph, flags);
}

CUresult CUDAAPI graph_instantiate_with_params(CUgraphExec* exec, CUgraph graph,
                                               CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  const CUresult result =
      forward<CUresult(CUDAAPI*)(CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*)>(
          graph_originals.graph_instantiate_with_params, "cuGraphInstantiateWithParams", exec,
          graph, parameters);
  return made(result, exec, graph, parameters == nullptr ? 0 : parameters->flags);
}

CUresult CUDAAPI graph_instantiate_with_params_per_thread(
    CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  const CUresult result =
      forward<CUresult(CUDAAPI*)(CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*)>(
          graph_originals.graph_instantiate_with_params_per_thread,
          "cuGraphInstantiateWithParams_ptsz", exec, graph, parameters);
  return made(result, exec, graph, parameters == nullptr ? 0 : parameters->flags);
}

CUresult CUDAAPI graph_exec_update(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                                   CUgraphExecUpdateResult* update) {
  return updated(
      forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraph, CUgraphNode*, CUgraphExecUpdateResult*)>(
          graph_originals.graph_exec_update, "cuGraphExecUpdate", exec, graph, error_node, update),
      exec, graph);
}

CUresult CUDAAPI graph_exec_update_v2(CUgraphExec exec, CUgraph graph,
                                      CUgraphExecUpdateResultInfo* update) {
  return updated(
      forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*)>(
          graph_originals.graph_exec_update_v2, "cuGraphExecUpdate_v2", exec, graph, update),
      exec, graph);
}

CUresult CUDAAPI graph_exec_kernel_set(CUgraphExec exec, CUgraphNode node,
                                       const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  const CUresult result =
      forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*)>(
          graph_originals.graph_exec_kernel_set, "cuGraphExecKernelNodeSetParams", exec, node,
          parameters);
  if (result != CUDA_SUCCESS || parameters == nullptr) return result;
  const CUDA_KERNEL_NODE_PARAMS_v2 wanted{.func = parameters->func,
                                          .gridDimX = parameters->gridDimX,
                                          .gridDimY = parameters->gridDimY,
                                          .gridDimZ = parameters->gridDimZ,
                                          .blockDimX = parameters->blockDimX,
                                          .blockDimY = parameters->blockDimY,
                                          .blockDimZ = parameters->blockDimZ,
                                          .sharedMemBytes = parameters->sharedMemBytes,
                                          .kernelParams = parameters->kernelParams,
                                          .extra = parameters->extra,
                                          .kern = nullptr,
                                          .ctx = nullptr};
  noted("cuGraphExecKernelNodeSetParams", [&] { follow_kernel(exec, node, wanted); });
  return result;
}

CUresult CUDAAPI graph_exec_kernel_set_v2(CUgraphExec exec, CUgraphNode node,
                                          const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  const CUresult result =
      forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v2*)>(
          graph_originals.graph_exec_kernel_set_v2, "cuGraphExecKernelNodeSetParams_v2", exec, node,
          parameters);
  if (result != CUDA_SUCCESS || parameters == nullptr) return result;
  noted("cuGraphExecKernelNodeSetParams", [&] { follow_kernel(exec, node, *parameters); });
  return result;
}

CUresult CUDAAPI graph_exec_memcpy_set(CUgraphExec exec, CUgraphNode node,
                                       const CUDA_MEMCPY3D* parameters, CUcontext context) {
  return changed(
      forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D*, CUcontext)>(
          graph_originals.graph_exec_memcpy_set, "cuGraphExecMemcpyNodeSetParams", exec, node,
          parameters, context),
      exec, node);
}

CUresult CUDAAPI graph_exec_memset_set(CUgraphExec exec, CUgraphNode node,
                                       const CUDA_MEMSET_NODE_PARAMS* parameters,
                                       CUcontext context) {
  return changed(forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode,
                                            const CUDA_MEMSET_NODE_PARAMS*, CUcontext)>(
                     graph_originals.graph_exec_memset_set, "cuGraphExecMemsetNodeSetParams", exec,
                     node, parameters, context),
                 exec, node);
}

CUresult CUDAAPI graph_exec_host_set(CUgraphExec exec, CUgraphNode node,
                                     const CUDA_HOST_NODE_PARAMS* parameters) {
  return changed(
      forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, const CUDA_HOST_NODE_PARAMS*)>(
          graph_originals.graph_exec_host_set, "cuGraphExecHostNodeSetParams", exec, node,
          parameters),
      exec, node);
}

CUresult CUDAAPI graph_exec_child_set(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return changed(forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, CUgraph)>(
                     graph_originals.graph_exec_child_set, "cuGraphExecChildGraphNodeSetParams",
                     exec, node, child),
                 exec, node);
}

CUresult CUDAAPI graph_exec_record_set(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return changed(forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, CUevent)>(
                     graph_originals.graph_exec_record_set, "cuGraphExecEventRecordNodeSetEvent",
                     exec, node, event),
                 exec, node);
}

CUresult CUDAAPI graph_exec_wait_set(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return changed(forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, CUevent)>(
                     graph_originals.graph_exec_wait_set, "cuGraphExecEventWaitNodeSetEvent", exec,
                     node, event),
                 exec, node);
}

CUresult CUDAAPI graph_exec_signal_set(CUgraphExec exec, CUgraphNode node,
                                       const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS* parameters) {
  return changed(
      forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS*)>(
          graph_originals.graph_exec_signal_set, "cuGraphExecExternalSemaphoresSignalNodeSetParams",
          exec, node, parameters),
      exec, node);
}

CUresult CUDAAPI graph_exec_semaphore_wait_set(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_EXT_SEM_WAIT_NODE_PARAMS* parameters) {
  return changed(
      forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, const CUDA_EXT_SEM_WAIT_NODE_PARAMS*)>(
          graph_originals.graph_exec_semaphore_wait_set,
          "cuGraphExecExternalSemaphoresWaitNodeSetParams", exec, node, parameters),
      exec, node);
}

CUresult CUDAAPI graph_exec_memory_ops_set(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return changed(
      forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS*)>(
          graph_originals.graph_exec_memory_ops_set, "cuGraphExecBatchMemOpNodeSetParams", exec,
          node, parameters),
      exec, node);
}

CUresult CUDAAPI graph_exec_node_set(CUgraphExec exec, CUgraphNode node,
                                     CUgraphNodeParams* parameters) {
  return changed(
      forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, CUgraphNodeParams*)>(
          graph_originals.graph_exec_node_set, "cuGraphExecNodeSetParams", exec, node, parameters),
      exec, node);
}

CUresult CUDAAPI graph_node_set_enabled(CUgraphExec exec, CUgraphNode node, unsigned is_enabled) {
  const CUresult result = forward<CUresult(CUDAAPI*)(CUgraphExec, CUgraphNode, unsigned)>(
      graph_originals.graph_node_set_enabled, "cuGraphNodeSetEnabled", exec, node, is_enabled);
  if (result != CUDA_SUCCESS) return result;
  noted("cuGraphNodeSetEnabled", [&] { follow_enabled(exec, node, is_enabled); });
  return result;
}

CUresult CUDAAPI graph_exec_destroy(CUgraphExec exec) {
  released("cuGraphExecDestroy", [&] { graphs::before_exec_is_destroyed(exec); });
  return forward<CUresult(CUDAAPI*)(CUgraphExec)>(graph_originals.graph_exec_destroy,
                                                  "cuGraphExecDestroy", exec);
}

CUresult CUDAAPI graph_destroy(CUgraph graph) {
  released("cuGraphDestroy", [&] { graphs::before_graph_is_destroyed(graph); });
  return forward<CUresult(CUDAAPI*)(CUgraph)>(graph_originals.graph_destroy, "cuGraphDestroy",
                                              graph);
}

CUresult CUDAAPI graph_clone(CUgraph* clone, CUgraph original) {
  const CUresult result = forward<CUresult(CUDAAPI*)(CUgraph*, CUgraph)>(
      graph_originals.graph_clone, "cuGraphClone", clone, original);
  if (result == CUDA_SUCCESS && clone != nullptr) {
    noted("cuGraphClone", [&] { capture_notes::copy(original, *clone); });
  }
  return result;
}

CUresult CUDAAPI graph_retain_object(CUgraph graph, CUuserObject object, unsigned count,
                                     unsigned flags) {
  const CUresult result = forward<CUresult(CUDAAPI*)(CUgraph, CUuserObject, unsigned, unsigned)>(
      graph_originals.graph_retain_object, "cuGraphRetainUserObject", graph, object, count, flags);
  if (result == CUDA_SUCCESS) {
    noted("cuGraphRetainUserObject", [&] { graphs::references_held(graph); });
  }
  return result;
}

CUresult CUDAAPI begin_capture(CUstream stream) {
  start_once();
  return begun(forward<CUresult(CUDAAPI*)(CUstream)>(graph_originals.begin_capture,
                                                     "cuStreamBeginCapture", stream));
}

CUresult CUDAAPI begin_capture_per_thread(CUstream stream) {
  start_once();
  return begun(forward<CUresult(CUDAAPI*)(CUstream)>(graph_originals.begin_capture_per_thread,
                                                     "cuStreamBeginCapture_ptsz", stream));
}

CUresult CUDAAPI begin_capture_v2(CUstream stream, CUstreamCaptureMode mode) {
  start_once();
  return begun(forward<CUresult(CUDAAPI*)(CUstream, CUstreamCaptureMode)>(
      graph_originals.begin_capture_v2, "cuStreamBeginCapture_v2", stream, mode));
}

CUresult CUDAAPI begin_capture_v2_per_thread(CUstream stream, CUstreamCaptureMode mode) {
  start_once();
  return begun(forward<CUresult(CUDAAPI*)(CUstream, CUstreamCaptureMode)>(
      graph_originals.begin_capture_v2_per_thread, "cuStreamBeginCapture_v2_ptsz", stream, mode));
}

CUresult CUDAAPI begin_capture_to_graph(CUstream stream, CUgraph graph,
                                        const CUgraphNode* dependencies,
                                        const CUgraphEdgeData* edges, std::size_t count,
                                        CUstreamCaptureMode mode) {
  start_once();
  return begun(
      forward<CUresult(CUDAAPI*)(CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*,
                                 std::size_t, CUstreamCaptureMode)>(
          graph_originals.begin_capture_to_graph, "cuStreamBeginCaptureToGraph", stream, graph,
          dependencies, edges, count, mode));
}

CUresult CUDAAPI begin_capture_to_graph_per_thread(CUstream stream, CUgraph graph,
                                                   const CUgraphNode* dependencies,
                                                   const CUgraphEdgeData* edges, std::size_t count,
                                                   CUstreamCaptureMode mode) {
  start_once();
  return begun(
      forward<CUresult(CUDAAPI*)(CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*,
                                 std::size_t, CUstreamCaptureMode)>(
          graph_originals.begin_capture_to_graph_per_thread, "cuStreamBeginCaptureToGraph_ptsz",
          stream, graph, dependencies, edges, count, mode));
}

CUresult CUDAAPI end_capture(CUstream stream, CUgraph* graph) {
  return ended(forward<CUresult(CUDAAPI*)(CUstream, CUgraph*)>(
      graph_originals.end_capture, "cuStreamEndCapture", stream, graph));
}

CUresult CUDAAPI end_capture_per_thread(CUstream stream, CUgraph* graph) {
  return ended(forward<CUresult(CUDAAPI*)(CUstream, CUgraph*)>(
      graph_originals.end_capture_per_thread, "cuStreamEndCapture_ptsz", stream, graph));
}

}  // namespace inline_prof::hook
