// The driver's functions for graphs that we call ourselves.  Apart from cuda_api.hpp, since most
// programs have no graphs and drivers before 12.3 lack some of these: then graphs are timed whole.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace inline_prof::sys {

// Members of GraphApi, and the driver's names.
#define INLINE_PROF_GRAPH_FUNCTIONS(X)                    \
  X(clone, "cuGraphClone")                                \
  X(destroy, "cuGraphDestroy")                            \
  X(create, "cuGraphCreate")                              \
  X(find_in_clone, "cuGraphNodeFindInClone")              \
  X(get_nodes, "cuGraphGetNodes")                         \
  X(get_type, "cuGraphNodeGetType")                       \
  X(get_kernel, "cuGraphKernelNodeGetParams_v2")          \
  X(get_child, "cuGraphChildGraphNodeGetGraph")           \
  X(get_attribute, "cuGraphKernelNodeGetAttribute")       \
  X(get_dependencies, "cuGraphNodeGetDependencies_v2")    \
  X(get_dependents, "cuGraphNodeGetDependentNodes_v2")    \
  X(add_dependencies, "cuGraphAddDependencies_v2")        \
  X(remove_dependencies, "cuGraphRemoveDependencies_v2")  \
  X(add_event_record, "cuGraphAddEventRecordNode")        \
  X(add_kernel, "cuGraphAddKernelNode_v2")                \
  X(instantiate, "cuGraphInstantiateWithFlags")           \
  X(upload, "cuGraphUpload")                              \
  X(launch, "cuGraphLaunch")                              \
  X(destroy_exec, "cuGraphExecDestroy")                   \
  X(set_event, "cuGraphExecEventRecordNodeSetEvent")      \
  X(set_kernel, "cuGraphKernelNodeSetParams_v2")          \
  X(set_exec_kernel, "cuGraphExecKernelNodeSetParams_v2") \
  X(set_exec_enabled, "cuGraphNodeSetEnabled")            \
  X(get_capture, "cuStreamGetCaptureInfo_v2")             \
  X(record_event_with_flags, "cuEventRecordWithFlags")

// Signatures are spelled out: cuda.h of 13.0 gives some of these names to other versions than
// cuda.h of 12.4 does.
struct GraphApi {
  using Node = CUgraphNode;
  CUresult(CUDAAPI* clone)(CUgraph*, CUgraph) = nullptr;
  CUresult(CUDAAPI* destroy)(CUgraph) = nullptr;
  CUresult(CUDAAPI* create)(CUgraph*, unsigned) = nullptr;
  CUresult(CUDAAPI* find_in_clone)(Node*, Node, CUgraph) = nullptr;
  CUresult(CUDAAPI* get_nodes)(CUgraph, Node*, std::size_t*) = nullptr;
  CUresult(CUDAAPI* get_type)(Node, CUgraphNodeType*) = nullptr;
  CUresult(CUDAAPI* get_kernel)(Node, CUDA_KERNEL_NODE_PARAMS_v2*) = nullptr;
  CUresult(CUDAAPI* get_child)(Node, CUgraph*) = nullptr;
  CUresult(CUDAAPI* get_attribute)(Node, CUkernelNodeAttrID, CUkernelNodeAttrValue*) = nullptr;
  CUresult(CUDAAPI* get_dependencies)(Node, Node*, CUgraphEdgeData*, std::size_t*) = nullptr;
  CUresult(CUDAAPI* get_dependents)(Node, Node*, CUgraphEdgeData*, std::size_t*) = nullptr;
  CUresult(CUDAAPI* add_dependencies)(CUgraph, const Node*, const Node*, const CUgraphEdgeData*,
                                      std::size_t) = nullptr;
  CUresult(CUDAAPI* remove_dependencies)(CUgraph, const Node*, const Node*, const CUgraphEdgeData*,
                                         std::size_t) = nullptr;
  CUresult(CUDAAPI* add_event_record)(Node*, CUgraph, const Node*, std::size_t, CUevent) = nullptr;
  CUresult(CUDAAPI* add_kernel)(Node*, CUgraph, const Node*, std::size_t,
                                const CUDA_KERNEL_NODE_PARAMS_v2*) = nullptr;
  CUresult(CUDAAPI* instantiate)(CUgraphExec*, CUgraph, unsigned long long) = nullptr;
  CUresult(CUDAAPI* upload)(CUgraphExec, CUstream) = nullptr;
  CUresult(CUDAAPI* launch)(CUgraphExec, CUstream) = nullptr;
  CUresult(CUDAAPI* destroy_exec)(CUgraphExec) = nullptr;
  CUresult(CUDAAPI* set_event)(CUgraphExec, Node, CUevent) = nullptr;
  CUresult(CUDAAPI* set_kernel)(Node, const CUDA_KERNEL_NODE_PARAMS_v2*) = nullptr;
  CUresult(CUDAAPI* set_exec_kernel)(CUgraphExec, Node,
                                     const CUDA_KERNEL_NODE_PARAMS_v2*) = nullptr;
  CUresult(CUDAAPI* set_exec_enabled)(CUgraphExec, Node, unsigned) = nullptr;
  CUresult(CUDAAPI* get_capture)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                                 const Node**, std::size_t*) = nullptr;
  CUresult(CUDAAPI* record_event_with_flags)(CUevent, CUstream, unsigned) = nullptr;

  // Everything is there that a timed node needs.
  [[nodiscard]] bool can_time_nodes() const noexcept;
};

// Looked up at the first call; after load_cuda().
[[nodiscard]] const GraphApi& graph_api() noexcept;

}  // namespace inline_prof::sys
