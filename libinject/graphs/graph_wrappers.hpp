// Our side of the driver's functions for graphs and captures, as wrappers.hpp has it for launches.
#pragma once

#include "entry/wrappers.hpp"

#include <cuda.h>

#include <atomic>
#include <cstddef>

namespace inline_prof::hook {

CUresult CUDAAPI graph_instantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                                   char* log, std::size_t log_bytes)
    INLINE_PROF_EXPORT_AS("cuGraphInstantiate");
CUresult CUDAAPI graph_instantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                                      char* log, std::size_t log_bytes)
    INLINE_PROF_EXPORT_AS("cuGraphInstantiate_v2");
CUresult CUDAAPI graph_instantiate_with_flags(CUgraphExec* exec, CUgraph graph,
                                              unsigned long long flags)
    INLINE_PROF_EXPORT_AS("cuGraphInstantiateWithFlags");
CUresult CUDAAPI graph_instantiate_with_params(CUgraphExec* exec, CUgraph graph,
                                               CUDA_GRAPH_INSTANTIATE_PARAMS* parameters)
    INLINE_PROF_EXPORT_AS("cuGraphInstantiateWithParams");
CUresult CUDAAPI graph_instantiate_with_params_per_thread(CUgraphExec* exec, CUgraph graph,
                                                          CUDA_GRAPH_INSTANTIATE_PARAMS* parameters)
    INLINE_PROF_EXPORT_AS("cuGraphInstantiateWithParams_ptsz");
CUresult CUDAAPI graph_exec_update(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                                   CUgraphExecUpdateResult* update)
    INLINE_PROF_EXPORT_AS("cuGraphExecUpdate");
CUresult CUDAAPI graph_exec_update_v2(CUgraphExec exec, CUgraph graph,
                                      CUgraphExecUpdateResultInfo* update)
    INLINE_PROF_EXPORT_AS("cuGraphExecUpdate_v2");
CUresult CUDAAPI graph_exec_kernel_set(CUgraphExec exec, CUgraphNode node,
                                       const CUDA_KERNEL_NODE_PARAMS_v1* parameters)
    INLINE_PROF_EXPORT_AS("cuGraphExecKernelNodeSetParams");
CUresult CUDAAPI graph_exec_kernel_set_v2(CUgraphExec exec, CUgraphNode node,
                                          const CUDA_KERNEL_NODE_PARAMS_v2* parameters)
    INLINE_PROF_EXPORT_AS("cuGraphExecKernelNodeSetParams_v2");
CUresult CUDAAPI graph_exec_memcpy_set(CUgraphExec exec, CUgraphNode node,
                                       const CUDA_MEMCPY3D* parameters, CUcontext context)
    INLINE_PROF_EXPORT_AS("cuGraphExecMemcpyNodeSetParams");
CUresult CUDAAPI graph_exec_memset_set(CUgraphExec exec, CUgraphNode node,
                                       const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext context)
    INLINE_PROF_EXPORT_AS("cuGraphExecMemsetNodeSetParams");
CUresult CUDAAPI graph_exec_host_set(CUgraphExec exec, CUgraphNode node,
                                     const CUDA_HOST_NODE_PARAMS* parameters)
    INLINE_PROF_EXPORT_AS("cuGraphExecHostNodeSetParams");
CUresult CUDAAPI graph_exec_child_set(CUgraphExec exec, CUgraphNode node, CUgraph child)
    INLINE_PROF_EXPORT_AS("cuGraphExecChildGraphNodeSetParams");
CUresult CUDAAPI graph_exec_record_set(CUgraphExec exec, CUgraphNode node, CUevent event)
    INLINE_PROF_EXPORT_AS("cuGraphExecEventRecordNodeSetEvent");
CUresult CUDAAPI graph_exec_wait_set(CUgraphExec exec, CUgraphNode node, CUevent event)
    INLINE_PROF_EXPORT_AS("cuGraphExecEventWaitNodeSetEvent");
CUresult CUDAAPI graph_exec_signal_set(CUgraphExec exec, CUgraphNode node,
                                       const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS* parameters)
    INLINE_PROF_EXPORT_AS("cuGraphExecExternalSemaphoresSignalNodeSetParams");
CUresult CUDAAPI graph_exec_semaphore_wait_set(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_EXT_SEM_WAIT_NODE_PARAMS* parameters)
    INLINE_PROF_EXPORT_AS("cuGraphExecExternalSemaphoresWaitNodeSetParams");
CUresult CUDAAPI graph_exec_memory_ops_set(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters)
    INLINE_PROF_EXPORT_AS("cuGraphExecBatchMemOpNodeSetParams");
CUresult CUDAAPI graph_exec_node_set(CUgraphExec exec, CUgraphNode node,
                                     CUgraphNodeParams* parameters)
    INLINE_PROF_EXPORT_AS("cuGraphExecNodeSetParams");
CUresult CUDAAPI graph_node_set_enabled(CUgraphExec exec, CUgraphNode node, unsigned is_enabled)
    INLINE_PROF_EXPORT_AS("cuGraphNodeSetEnabled");
CUresult CUDAAPI graph_exec_destroy(CUgraphExec exec) INLINE_PROF_EXPORT_AS("cuGraphExecDestroy");
CUresult CUDAAPI graph_destroy(CUgraph graph) INLINE_PROF_EXPORT_AS("cuGraphDestroy");
CUresult CUDAAPI graph_clone(CUgraph* clone, CUgraph original)
    INLINE_PROF_EXPORT_AS("cuGraphClone");
CUresult CUDAAPI graph_retain_object(CUgraph graph, CUuserObject object, unsigned count,
                                     unsigned flags)
    INLINE_PROF_EXPORT_AS("cuGraphRetainUserObject");
CUresult CUDAAPI begin_capture(CUstream stream) INLINE_PROF_EXPORT_AS("cuStreamBeginCapture");
CUresult CUDAAPI begin_capture_per_thread(CUstream stream)
    INLINE_PROF_EXPORT_AS("cuStreamBeginCapture_ptsz");
CUresult CUDAAPI begin_capture_v2(CUstream stream, CUstreamCaptureMode mode)
    INLINE_PROF_EXPORT_AS("cuStreamBeginCapture_v2");
CUresult CUDAAPI begin_capture_v2_per_thread(CUstream stream, CUstreamCaptureMode mode)
    INLINE_PROF_EXPORT_AS("cuStreamBeginCapture_v2_ptsz");
CUresult CUDAAPI begin_capture_to_graph(CUstream stream, CUgraph graph,
                                        const CUgraphNode* dependencies,
                                        const CUgraphEdgeData* edges, std::size_t count,
                                        CUstreamCaptureMode mode)
    INLINE_PROF_EXPORT_AS("cuStreamBeginCaptureToGraph");
CUresult CUDAAPI begin_capture_to_graph_per_thread(CUstream stream, CUgraph graph,
                                                   const CUgraphNode* dependencies,
                                                   const CUgraphEdgeData* edges, std::size_t count,
                                                   CUstreamCaptureMode mode)
    INLINE_PROF_EXPORT_AS("cuStreamBeginCaptureToGraph_ptsz");
CUresult CUDAAPI end_capture(CUstream stream, CUgraph* graph)
    INLINE_PROF_EXPORT_AS("cuStreamEndCapture");
CUresult CUDAAPI end_capture_per_thread(CUstream stream, CUgraph* graph)
    INLINE_PROF_EXPORT_AS("cuStreamEndCapture_ptsz");

// The driver's functions behind them.
struct GraphOriginals {
  std::atomic<void*> graph_instantiate{nullptr};
  std::atomic<void*> graph_instantiate_v2{nullptr};
  std::atomic<void*> graph_instantiate_with_flags{nullptr};
  std::atomic<void*> graph_instantiate_with_params{nullptr};
  std::atomic<void*> graph_instantiate_with_params_per_thread{nullptr};
  std::atomic<void*> graph_exec_update{nullptr};
  std::atomic<void*> graph_exec_update_v2{nullptr};
  std::atomic<void*> graph_exec_kernel_set{nullptr};
  std::atomic<void*> graph_exec_kernel_set_v2{nullptr};
  std::atomic<void*> graph_exec_memcpy_set{nullptr};
  std::atomic<void*> graph_exec_memset_set{nullptr};
  std::atomic<void*> graph_exec_host_set{nullptr};
  std::atomic<void*> graph_exec_child_set{nullptr};
  std::atomic<void*> graph_exec_record_set{nullptr};
  std::atomic<void*> graph_exec_wait_set{nullptr};
  std::atomic<void*> graph_exec_signal_set{nullptr};
  std::atomic<void*> graph_exec_semaphore_wait_set{nullptr};
  std::atomic<void*> graph_exec_memory_ops_set{nullptr};
  std::atomic<void*> graph_exec_node_set{nullptr};
  std::atomic<void*> graph_node_set_enabled{nullptr};
  std::atomic<void*> graph_exec_destroy{nullptr};
  std::atomic<void*> graph_destroy{nullptr};
  std::atomic<void*> graph_clone{nullptr};
  std::atomic<void*> graph_retain_object{nullptr};
  std::atomic<void*> begin_capture{nullptr};
  std::atomic<void*> begin_capture_per_thread{nullptr};
  std::atomic<void*> begin_capture_v2{nullptr};
  std::atomic<void*> begin_capture_v2_per_thread{nullptr};
  std::atomic<void*> begin_capture_to_graph{nullptr};
  std::atomic<void*> begin_capture_to_graph_per_thread{nullptr};
  std::atomic<void*> end_capture{nullptr};
  std::atomic<void*> end_capture_per_thread{nullptr};
};
extern constinit GraphOriginals graph_originals;

}  // namespace inline_prof::hook
