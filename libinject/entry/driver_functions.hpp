// The driver functions that applications get from us: the one list.
//
// From it come the table of entry/hooked_functions.cpp, the wrappers' declarations and exported
// names, the originals behind them, and the list of exports that the link rules check.  A wrapper
// is a function `hooked_SYMBOL` with the vendor's signature, which makes the application's call
// once, unchanged, by `original_SYMBOL(...)`.  Only types that every toolkit since 12.4 declares
// are used: CUexecAffinityParam and CUctxCreateParams are passed on as they come.
#pragma once

#include "sys/hot_line.hpp"

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace inline_prof::hook {

#define INLINE_PROF_LAUNCH_PARAMETERS                                                \
  CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
      unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,    \
      void **parameters
#define INLINE_PROF_LAUNCH_ARGUMENTS \
  f, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters
#define INLINE_PROF_LAUNCH_TYPES \
  CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**

// What a null stream means; also the index of a launch function's original.  The spare one is for a
// second address that the driver hands out under the same name.
inline constexpr std::size_t kLegacy = 0;
inline constexpr std::size_t kPerThread = 1;
inline constexpr std::size_t kSpare = 2;

// X(symbol of libcuda, name as asked of cuGetProcAddress, CUDA version that brought this form,
//   kLegacy or kPerThread, signature, originals), the last one for launches only.
//
// clang-format off
#define INLINE_PROF_HOOKED_LAUNCHES(X) \
  X(cuLaunchKernel, cuLaunchKernel, 4000, kLegacy, CUresult(INLINE_PROF_LAUNCH_TYPES, void**), sys::hot_line.kernel) \
  X(cuLaunchKernel_ptsz, cuLaunchKernel, 7000, kPerThread, CUresult(INLINE_PROF_LAUNCH_TYPES, void**), sys::hot_line.kernel) \
  X(cuLaunchKernelEx, cuLaunchKernelEx, 11060, kLegacy, CUresult(const CUlaunchConfig*, CUfunction, void**, void**), sys::hot_line.kernel_ex) \
  X(cuLaunchKernelEx_ptsz, cuLaunchKernelEx, 11060, kPerThread, CUresult(const CUlaunchConfig*, CUfunction, void**, void**), sys::hot_line.kernel_ex) \
  X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000, kLegacy, CUresult(INLINE_PROF_LAUNCH_TYPES), launch_originals.cooperative) \
  X(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel, 9000, kPerThread, CUresult(INLINE_PROF_LAUNCH_TYPES), launch_originals.cooperative) \
  X(cuGraphLaunch, cuGraphLaunch, 10000, kLegacy, CUresult(CUgraphExec, CUstream), launch_originals.graph_launch) \
  X(cuGraphLaunch_ptsz, cuGraphLaunch, 10000, kPerThread, CUresult(CUgraphExec, CUstream), launch_originals.graph_launch)

// Functions with one form for both kinds of default stream are kLegacy.
#define INLINE_PROF_HOOKED_CALLS(X) \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, kLegacy, CUresult(CUcontext*, CUdevice)) \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, kLegacy, CUresult(CUdevice)) \
  X(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, kLegacy, CUresult(CUdevice)) \
  X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, kLegacy, CUresult(CUdevice)) \
  X(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, kLegacy, CUresult(CUdevice)) \
  X(cuCtxCreate, cuCtxCreate, 2000, kLegacy, CUresult(CUcontext*, unsigned, CUdevice)) \
  X(cuCtxCreate_v2, cuCtxCreate, 3020, kLegacy, CUresult(CUcontext*, unsigned, CUdevice)) \
  X(cuCtxCreate_v3, cuCtxCreate, 11040, kLegacy, CUresult(CUcontext*, void*, int, unsigned, CUdevice)) \
  X(cuCtxCreate_v4, cuCtxCreate, 12050, kLegacy, CUresult(CUcontext*, void*, unsigned, CUdevice)) \
  X(cuCtxSetCurrent, cuCtxSetCurrent, 4000, kLegacy, CUresult(CUcontext)) \
  X(cuCtxPushCurrent, cuCtxPushCurrent, 2000, kLegacy, CUresult(CUcontext)) \
  X(cuCtxPushCurrent_v2, cuCtxPushCurrent, 4000, kLegacy, CUresult(CUcontext)) \
  X(cuCtxDestroy, cuCtxDestroy, 2000, kLegacy, CUresult(CUcontext)) \
  X(cuCtxDestroy_v2, cuCtxDestroy, 4000, kLegacy, CUresult(CUcontext)) \
  X(cuStreamDestroy_v2, cuStreamDestroy, 4000, kLegacy, CUresult(CUstream)) \
  X(cuStreamSynchronize, cuStreamSynchronize, 2000, kLegacy, CUresult(CUstream)) \
  X(cuStreamSynchronize_ptsz, cuStreamSynchronize, 7000, kPerThread, CUresult(CUstream)) \
  X(cuEventSynchronize, cuEventSynchronize, 2000, kLegacy, CUresult(CUevent)) \
  X(cuCtxSynchronize, cuCtxSynchronize, 2000, kLegacy, CUresult()) \
  X(cuMemcpyAsync, cuMemcpyAsync, 4000, kLegacy, CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)) \
  X(cuMemcpyAsync_ptsz, cuMemcpyAsync, 7000, kPerThread, CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)) \
  X(cuMemcpyHtoD_v2, cuMemcpyHtoD, 3020, kLegacy, CUresult(CUdeviceptr, const void*, std::size_t)) \
  X(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD, 7000, kPerThread, CUresult(CUdeviceptr, const void*, std::size_t)) \
  X(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, 3020, kLegacy, CUresult(CUdeviceptr, const void*, std::size_t, CUstream)) \
  X(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync, 7000, kPerThread, CUresult(CUdeviceptr, const void*, std::size_t, CUstream)) \
  X(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, 3020, kLegacy, CUresult(void*, CUdeviceptr, std::size_t, CUstream)) \
  X(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync, 7000, kPerThread, CUresult(void*, CUdeviceptr, std::size_t, CUstream)) \
  X(cuMemcpyDtoH_v2, cuMemcpyDtoH, 3020, kLegacy, CUresult(void*, CUdeviceptr, std::size_t)) \
  X(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH, 7000, kPerThread, CUresult(void*, CUdeviceptr, std::size_t)) \
  X(cuModuleGetFunction, cuModuleGetFunction, 2000, kLegacy, CUresult(CUfunction*, CUmodule, const char*)) \
  X(cuLibraryGetKernel, cuLibraryGetKernel, 12000, kLegacy, CUresult(CUkernel*, CUlibrary, const char*)) \
  X(cuKernelGetFunction, cuKernelGetFunction, 12000, kLegacy, CUresult(CUfunction*, CUkernel)) \
  X(cuModuleUnload, cuModuleUnload, 2000, kLegacy, CUresult(CUmodule)) \
  X(cuLibraryUnload, cuLibraryUnload, 12000, kLegacy, CUresult(CUlibrary)) \
  X(cuGetProcAddress, cuGetProcAddress, 11030, kLegacy, CUresult(const char*, void**, int, cuuint64_t)) \
  X(cuGetProcAddress_v2, cuGetProcAddress, 12000, kLegacy, CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*)) \
  X(cuGraphInstantiate, cuGraphInstantiate, 10000, kLegacy, CUresult(CUgraphExec*, CUgraph, CUgraphNode*, char*, std::size_t)) \
  X(cuGraphInstantiate_v2, cuGraphInstantiate, 11000, kLegacy, CUresult(CUgraphExec*, CUgraph, CUgraphNode*, char*, std::size_t)) \
  X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, kLegacy, CUresult(CUgraphExec*, CUgraph, unsigned long long)) \
  X(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, kLegacy, CUresult(CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*)) \
  X(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams, 12000, kPerThread, CUresult(CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*)) \
  X(cuGraphExecUpdate, cuGraphExecUpdate, 10020, kLegacy, CUresult(CUgraphExec, CUgraph, CUgraphNode*, CUgraphExecUpdateResult*)) \
  X(cuGraphExecUpdate_v2, cuGraphExecUpdate, 12000, kLegacy, CUresult(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*)) \
  X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 10010, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*)) \
  X(cuGraphExecKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams, 12000, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v2*)) \
  X(cuGraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams, 10020, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D*, CUcontext)) \
  X(cuGraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams, 10020, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_MEMSET_NODE_PARAMS*, CUcontext)) \
  X(cuGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams, 10020, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_HOST_NODE_PARAMS*)) \
  X(cuGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams, 11010, kLegacy, CUresult(CUgraphExec, CUgraphNode, CUgraph)) \
  X(cuGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent, 11010, kLegacy, CUresult(CUgraphExec, CUgraphNode, CUevent)) \
  X(cuGraphExecEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent, 11010, kLegacy, CUresult(CUgraphExec, CUgraphNode, CUevent)) \
  X(cuGraphExecExternalSemaphoresSignalNodeSetParams, cuGraphExecExternalSemaphoresSignalNodeSetParams, 11020, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS*)) \
  X(cuGraphExecExternalSemaphoresWaitNodeSetParams, cuGraphExecExternalSemaphoresWaitNodeSetParams, 11020, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_EXT_SEM_WAIT_NODE_PARAMS*)) \
  X(cuGraphExecBatchMemOpNodeSetParams, cuGraphExecBatchMemOpNodeSetParams, 11070, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS*)) \
  X(cuGraphExecNodeSetParams, cuGraphExecNodeSetParams, 12020, kLegacy, CUresult(CUgraphExec, CUgraphNode, CUgraphNodeParams*)) \
  X(cuGraphNodeSetEnabled, cuGraphNodeSetEnabled, 11060, kLegacy, CUresult(CUgraphExec, CUgraphNode, unsigned)) \
  X(cuGraphExecDestroy, cuGraphExecDestroy, 10000, kLegacy, CUresult(CUgraphExec)) \
  X(cuGraphDestroy, cuGraphDestroy, 10000, kLegacy, CUresult(CUgraph)) \
  X(cuGraphClone, cuGraphClone, 10000, kLegacy, CUresult(CUgraph*, CUgraph)) \
  X(cuGraphRetainUserObject, cuGraphRetainUserObject, 11030, kLegacy, CUresult(CUgraph, CUuserObject, unsigned, unsigned)) \
  X(cuStreamBeginCapture, cuStreamBeginCapture, 10000, kLegacy, CUresult(CUstream)) \
  X(cuStreamBeginCapture_ptsz, cuStreamBeginCapture, 10000, kPerThread, CUresult(CUstream)) \
  X(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010, kLegacy, CUresult(CUstream, CUstreamCaptureMode)) \
  X(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture, 10010, kPerThread, CUresult(CUstream, CUstreamCaptureMode)) \
  X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030, kLegacy, CUresult(CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, std::size_t, CUstreamCaptureMode)) \
  X(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph, 12030, kPerThread, CUresult(CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, std::size_t, CUstreamCaptureMode)) \
  X(cuStreamEndCapture, cuStreamEndCapture, 10000, kLegacy, CUresult(CUstream, CUgraph*)) \
  X(cuStreamEndCapture_ptsz, cuStreamEndCapture, 10000, kPerThread, CUresult(CUstream, CUgraph*))
// clang-format on

// cuda.h's own macros (cuCtxCreate -> cuCtxCreate_v4) stay out of the way: the C++ name is ours,
// the exported symbol is the vendor's.
#define INLINE_PROF_DECLARE_HOOK(symbol, name, version, slot, ...) \
  using Signature_##symbol = __VA_ARGS__;                          \
  Signature_##symbol hooked_##symbol __asm__(#symbol) __attribute__((visibility("default")));
#define INLINE_PROF_DECLARE_LAUNCH(symbol, name, version, slot, signature, originals) \
  INLINE_PROF_DECLARE_HOOK(symbol, name, version, slot, signature)
INLINE_PROF_HOOKED_LAUNCHES(INLINE_PROF_DECLARE_LAUNCH)
INLINE_PROF_HOOKED_CALLS(INLINE_PROF_DECLARE_HOOK)
#undef INLINE_PROF_DECLARE_LAUNCH
#undef INLINE_PROF_DECLARE_HOOK

// Copies of the launch wrappers for a second address; cuLaunchKernel's is assembly.
Signature_cuLaunchKernel hooked_cuLaunchKernel_spare __asm__("inline_prof_launch_kernel_spare");
Signature_cuLaunchKernelEx hooked_cuLaunchKernelEx_spare;
Signature_cuLaunchCooperativeKernel hooked_cuLaunchCooperativeKernel_spare;
Signature_cuGraphLaunch hooked_cuGraphLaunch_spare;

// Where cuLaunchKernel's assembly jumps when the filter lets a launch through (launch_hooks.cpp).
Signature_cuLaunchKernel launch_counted_legacy __asm__("inline_prof_launch_counted_legacy");
Signature_cuLaunchKernel launch_counted_per_thread __asm__("inline_prof_launch_counted_per_thread");
Signature_cuLaunchKernel launch_counted_spare __asm__("inline_prof_launch_counted_spare");

enum HookedCall : std::size_t {
#define INLINE_PROF_INDEX(symbol, ...) kIndexOf_##symbol,
  INLINE_PROF_HOOKED_CALLS(INLINE_PROF_INDEX)
#undef INLINE_PROF_INDEX
      kHookedCalls
};

// The driver's functions behind the wrappers; those of cuLaunchKernel and cuLaunchKernelEx are in
// the hot line.
struct LaunchOriginals {
  std::array<std::atomic<void*>, sys::kSlotsPerFunction> cooperative{};
  std::array<std::atomic<void*>, sys::kSlotsPerFunction> graph_launch{};
};
extern constinit LaunchOriginals launch_originals;
extern constinit std::array<std::atomic<void*>, kHookedCalls> call_originals;

// The driver's function in `original`; looked up under `symbol` if it is not known yet.
void* resolved(std::atomic<void*>& original, const char* symbol) noexcept;

// Calls the driver's function.  CUDA_ERROR_NOT_INITIALIZED if no loaded libcuda has it.
template <std::size_t kIndex, typename Signature>
struct Original;
template <std::size_t kIndex, typename... A>
struct Original<kIndex, CUresult(A...)> {
  const char* symbol;
  CUresult operator()(A... arguments) const {
    const auto function =
        reinterpret_cast<CUresult(CUDAAPI*)(A...)>(resolved(call_originals[kIndex], symbol));
    return function == nullptr ? CUDA_ERROR_NOT_INITIALIZED : function(arguments...);
  }
};
#define INLINE_PROF_ORIGINAL(symbol, ...) \
  inline constexpr Original<kIndexOf_##symbol, Signature_##symbol> original_##symbol{#symbol};
INLINE_PROF_HOOKED_CALLS(INLINE_PROF_ORIGINAL)
#undef INLINE_PROF_ORIGINAL

}  // namespace inline_prof::hook
