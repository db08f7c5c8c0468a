// The driver's functions that we call ourselves, found in the libcuda that the application has
// loaded. They are the driver's own, never our wrappers. An older driver may lack some; features
// that need them are left out then.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace inline_prof::sys {

// Versions are spelled out: cuda.h's macros map, e.g., cuStreamWaitValue32 to its _v2.
#define INLINE_PROF_REQUIRED_FUNCTIONS(X)         \
  X(cuEventCreate, "cuEventCreate")               \
  X(cuEventDestroy, "cuEventDestroy_v2")          \
  X(cuEventRecord, "cuEventRecord")               \
  X(cuEventQuery, "cuEventQuery")                 \
  X(cuCtxGetCurrent, "cuCtxGetCurrent")           \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2")      \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2")        \
  X(cuCtxGetDevice, "cuCtxGetDevice")             \
  X(cuStreamIsCapturing, "cuStreamIsCapturing")   \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute") \
  X(cuDeviceGetName, "cuDeviceGetName")           \
  X(cuDriverGetVersion, "cuDriverGetVersion")

#define INLINE_PROF_OPTIONAL_FUNCTIONS(X)                                                       \
  X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode")                     \
  X(cuStreamGetCtx, "cuStreamGetCtx")                                                           \
  X(cuStreamCreate, "cuStreamCreate")                                                           \
  X(cuStreamQuery, "cuStreamQuery")                                                             \
  X(cuStreamDestroy, "cuStreamDestroy_v2")                                                      \
  X(cuStreamWaitValue32, "cuStreamWaitValue32_v2")                                              \
  X(cuMemHostAlloc, "cuMemHostAlloc")                                                           \
  X(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2")                                  \
  X(cuMemFreeHost, "cuMemFreeHost")                                                             \
  X(cuPointerGetAttribute, "cuPointerGetAttribute")                                             \
  X(cuModuleLoadData, "cuModuleLoadData")                                                       \
  X(cuModuleUnload, "cuModuleUnload")                                                           \
  X(cuModuleGetFunction, "cuModuleGetFunction")                                                 \
  X(cuLaunchKernel, "cuLaunchKernel")                                                           \
  X(cuFuncGetName, "cuFuncGetName")                                                             \
  X(cuKernelGetName, "cuKernelGetName")                                                         \
  X(cuFuncGetModule, "cuFuncGetModule")                                                         \
  X(cuKernelGetFunction, "cuKernelGetFunction")                                                 \
  X(cuLibraryGetModule, "cuLibraryGetModule")                                                   \
  X(cuFuncGetAttribute, "cuFuncGetAttribute")                                                   \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor") \
  X(cuDeviceGetUuid, "cuDeviceGetUuid_v2")                                                      \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2")                                                    \
  X(cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState")

struct CudaApi {
#define INLINE_PROF_MEMBER(function, symbol) \
  decltype(&::function) function = nullptr;  // NOLINT(bugprone-macro-parentheses): a name
  INLINE_PROF_REQUIRED_FUNCTIONS(INLINE_PROF_MEMBER)
  INLINE_PROF_OPTIONAL_FUNCTIONS(INLINE_PROF_MEMBER)
#undef INLINE_PROF_MEMBER
  // Version 1: two events, a float of milliseconds.  Not every header still declares it.
  CUresult(CUDAAPI* elapsed_ms)(float*, CUevent, CUevent) = nullptr;
};

// Fills the table.  Returns null, or the name of the first required function that is missing.
[[nodiscard]] const char* load_cuda() noexcept;

// Called after load_cuda() has returned null.
[[nodiscard]] const CudaApi& cuda() noexcept;

inline constexpr const char* kDriverSoname = "libcuda.so.1";

// The driver's graph functions that we call ourselves, which are looked up once a program has a
// graph.  Drivers before 12.3 lack some of these: then graphs are timed as a whole.
//
// X(member, symbol of libcuda, whether nodes cannot be timed without it, signature).  Symbols and
// signatures are spelled out, because cuda.h of 13.0 gives some of these names to other versions
// than cuda.h of 12.4 does.
//
// clang-format off
#define INLINE_PROF_GRAPH_FUNCTIONS(X) \
  X(clone, cuGraphClone, true, CUresult(CUgraph*, CUgraph)) \
  X(destroy, cuGraphDestroy, true, CUresult(CUgraph)) \
  X(create, cuGraphCreate, false, CUresult(CUgraph*, unsigned)) \
  X(find_in_clone, cuGraphNodeFindInClone, true, CUresult(CUgraphNode*, CUgraphNode, CUgraph)) \
  X(get_nodes, cuGraphGetNodes, true, CUresult(CUgraph, CUgraphNode*, std::size_t*)) \
  X(get_type, cuGraphNodeGetType, true, CUresult(CUgraphNode, CUgraphNodeType*)) \
  X(get_kernel, cuGraphKernelNodeGetParams_v2, true, CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*)) \
  X(get_memcpy, cuGraphMemcpyNodeGetParams, false, CUresult(CUgraphNode, CUDA_MEMCPY3D*)) \
  X(get_memset, cuGraphMemsetNodeGetParams, false, CUresult(CUgraphNode, CUDA_MEMSET_NODE_PARAMS*)) \
  X(get_memory_operations, cuGraphBatchMemOpNodeGetParams, false, CUresult(CUgraphNode, CUDA_BATCH_MEM_OP_NODE_PARAMS*)) \
  X(get_child, cuGraphChildGraphNodeGetGraph, false, CUresult(CUgraphNode, CUgraph*)) \
  X(get_attribute, cuGraphKernelNodeGetAttribute, false, CUresult(CUgraphNode, CUkernelNodeAttrID, CUkernelNodeAttrValue*)) \
  X(get_dependencies, cuGraphNodeGetDependencies_v2, true, CUresult(CUgraphNode, CUgraphNode*, CUgraphEdgeData*, std::size_t*)) \
  X(get_dependents, cuGraphNodeGetDependentNodes_v2, true, CUresult(CUgraphNode, CUgraphNode*, CUgraphEdgeData*, std::size_t*)) \
  X(add_dependencies, cuGraphAddDependencies_v2, true, CUresult(CUgraph, const CUgraphNode*, const CUgraphNode*, const CUgraphEdgeData*, std::size_t)) \
  X(remove_dependencies, cuGraphRemoveDependencies_v2, true, CUresult(CUgraph, const CUgraphNode*, const CUgraphNode*, const CUgraphEdgeData*, std::size_t)) \
  X(add_event_record, cuGraphAddEventRecordNode, true, CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, CUevent)) \
  X(add_kernel, cuGraphAddKernelNode_v2, false, CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const CUDA_KERNEL_NODE_PARAMS_v2*)) \
  X(instantiate, cuGraphInstantiateWithFlags, true, CUresult(CUgraphExec*, CUgraph, unsigned long long)) \
  X(upload, cuGraphUpload, true, CUresult(CUgraphExec, CUstream)) \
  X(launch, cuGraphLaunch, true, CUresult(CUgraphExec, CUstream)) \
  X(destroy_exec, cuGraphExecDestroy, true, CUresult(CUgraphExec)) \
  X(set_event, cuGraphExecEventRecordNodeSetEvent, true, CUresult(CUgraphExec, CUgraphNode, CUevent)) \
  X(set_kernel, cuGraphKernelNodeSetParams_v2, false, CUresult(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v2*)) \
  X(set_exec_kernel, cuGraphExecKernelNodeSetParams_v2, false, CUresult(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v2*)) \
  X(set_exec_enabled, cuGraphNodeSetEnabled, false, CUresult(CUgraphExec, CUgraphNode, unsigned)) \
  X(get_capture, cuStreamGetCaptureInfo_v2, false, CUresult(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, const CUgraphNode**, std::size_t*)) \
  X(record_event_with_flags, cuEventRecordWithFlags, false, CUresult(CUevent, CUstream, unsigned))
// clang-format on

template <typename Signature>
using DriverFunction = Signature*;

struct GraphApi {
#define INLINE_PROF_MEMBER(member, symbol, needed, ...) \
  DriverFunction<__VA_ARGS__> member = nullptr;
  INLINE_PROF_GRAPH_FUNCTIONS(INLINE_PROF_MEMBER)
#undef INLINE_PROF_MEMBER

  // Returns true if every function is there that timing a node needs.
  [[nodiscard]] bool can_time_nodes() const noexcept;
};

// Looks the functions up at the first call, which must come after load_cuda().
[[nodiscard]] const GraphApi& graph_api() noexcept;

}  // namespace inline_prof::sys
