// The driver functions that applications get from us: the one list.
//
// It gives the table of entry/hooked_functions.cpp, the wrappers' declarations and exported names,
// the originals behind them, and the list of exports that the link rules check.  A wrapper is a
// function `hooked_SYMBOL` with the vendor's signature, which makes the application's call once,
// unchanged, by `original_SYMBOL(...)`.  Both stand in the namespace of the wrapper's folder.  Only
// types that every toolkit since 12.4 declares are used: CUexecAffinityParam and CUctxCreateParams
// are passed on as they come.
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

// Meanings of a null stream; also the indices of a launch function's originals.  The spare one is
// for a second address that the driver hands out under the same name.
inline constexpr std::size_t kLegacy = 0;
inline constexpr std::size_t kPerThread = 1;
inline constexpr std::size_t kSpare = 2;

// X(symbol of libcuda, name as asked of cuGetProcAddress, CUDA version that brought this form,
//   kLegacy or kPerThread, signature, originals, spare wrapper), the last two for launches only.
//
// clang-format off
// A function and its form for the per-thread default stream, with the versions of both.  `name` is
// only pasted: cuda.h has macros of such names.
#define INLINE_PROF_BOTH(X, name, form, suffix, version, per_thread_version, ...) \
  X(name##form, #name, version, kLegacy, __VA_ARGS__) \
  X(name##form##suffix, #name, per_thread_version, kPerThread, __VA_ARGS__)

#define INLINE_PROF_HOOKED_KERNEL_LAUNCHES(X) \
  INLINE_PROF_BOTH(X, cuLaunchKernel, , _ptsz, 4000, 7000, CUresult(INLINE_PROF_LAUNCH_TYPES, void**), sys::hot_line.kernel, hooked_cuLaunchKernel_spare) \
  INLINE_PROF_BOTH(X, cuLaunchKernelEx, , _ptsz, 11060, 11060, CUresult(const CUlaunchConfig*, CUfunction, void**, void**), sys::hot_line.kernel_ex, hooked_cuLaunchKernelEx_spare) \
  INLINE_PROF_BOTH(X, cuLaunchCooperativeKernel, , _ptsz, 9000, 9000, CUresult(INLINE_PROF_LAUNCH_TYPES), hook::launch_originals.cooperative, hooked_cuLaunchCooperativeKernel_spare)
#define INLINE_PROF_HOOKED_GRAPH_LAUNCHES(X) \
  INLINE_PROF_BOTH(X, cuGraphLaunch, , _ptsz, 10000, 10000, CUresult(CUgraphExec, CUstream), hook::launch_originals.graph_launch, hooked_cuGraphLaunch_spare)

// Copies, fills and operations of streams on memory; their wrappers are in launch/copy_hooks.cpp.
#define INLINE_PROF_HOOKED_COPIES(X) \
  INLINE_PROF_BOTH(X, cuMemcpy, , _ptds, 4000, 7000, CUresult(CUdeviceptr, CUdeviceptr, std::size_t)) \
  INLINE_PROF_BOTH(X, cuMemcpyAsync, , _ptsz, 4000, 7000, CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemcpyHtoD, _v2, _ptds, 3020, 7000, CUresult(CUdeviceptr, const void*, std::size_t)) \
  INLINE_PROF_BOTH(X, cuMemcpyHtoDAsync, _v2, _ptsz, 3020, 7000, CUresult(CUdeviceptr, const void*, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemcpyDtoH, _v2, _ptds, 3020, 7000, CUresult(void*, CUdeviceptr, std::size_t)) \
  INLINE_PROF_BOTH(X, cuMemcpyDtoHAsync, _v2, _ptsz, 3020, 7000, CUresult(void*, CUdeviceptr, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemcpyDtoD, _v2, _ptds, 3020, 7000, CUresult(CUdeviceptr, CUdeviceptr, std::size_t)) \
  INLINE_PROF_BOTH(X, cuMemcpyDtoDAsync, _v2, _ptsz, 3020, 7000, CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemcpyPeer, , _ptds, 4000, 7000, CUresult(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t)) \
  INLINE_PROF_BOTH(X, cuMemcpyPeerAsync, , _ptsz, 4000, 7000, CUresult(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemcpy2D, _v2, _ptds, 3020, 7000, CUresult(const CUDA_MEMCPY2D*)) \
  INLINE_PROF_BOTH(X, cuMemcpy2DUnaligned, _v2, _ptds, 3020, 7000, CUresult(const CUDA_MEMCPY2D*)) \
  INLINE_PROF_BOTH(X, cuMemcpy2DAsync, _v2, _ptsz, 3020, 7000, CUresult(const CUDA_MEMCPY2D*, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemcpy3D, _v2, _ptds, 3020, 7000, CUresult(const CUDA_MEMCPY3D*)) \
  INLINE_PROF_BOTH(X, cuMemcpy3DAsync, _v2, _ptsz, 3020, 7000, CUresult(const CUDA_MEMCPY3D*, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemcpy3DPeer, , _ptds, 4000, 7000, CUresult(const CUDA_MEMCPY3D_PEER*)) \
  INLINE_PROF_BOTH(X, cuMemcpy3DPeerAsync, , _ptsz, 4000, 7000, CUresult(const CUDA_MEMCPY3D_PEER*, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemcpyBatchAsync, , _ptsz, 12080, 12080, CUresult(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, void*, std::size_t*, std::size_t, std::size_t*, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemcpyBatchAsync, _v2, _ptsz, 13000, 13000, CUresult(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, void*, std::size_t*, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemcpy3DBatchAsync, , _ptsz, 12080, 12080, CUresult(std::size_t, void*, std::size_t*, unsigned long long, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemcpy3DBatchAsync, _v2, _ptsz, 13000, 13000, CUresult(std::size_t, void*, unsigned long long, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemsetD8, _v2, _ptds, 3020, 7000, CUresult(CUdeviceptr, unsigned char, std::size_t)) \
  INLINE_PROF_BOTH(X, cuMemsetD8Async, , _ptsz, 3020, 7000, CUresult(CUdeviceptr, unsigned char, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemsetD2D8, _v2, _ptds, 3020, 7000, CUresult(CUdeviceptr, std::size_t, unsigned char, std::size_t, std::size_t)) \
  INLINE_PROF_BOTH(X, cuMemsetD2D8Async, , _ptsz, 3020, 7000, CUresult(CUdeviceptr, std::size_t, unsigned char, std::size_t, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemsetD16, _v2, _ptds, 3020, 7000, CUresult(CUdeviceptr, unsigned short, std::size_t)) \
  INLINE_PROF_BOTH(X, cuMemsetD16Async, , _ptsz, 3020, 7000, CUresult(CUdeviceptr, unsigned short, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemsetD2D16, _v2, _ptds, 3020, 7000, CUresult(CUdeviceptr, std::size_t, unsigned short, std::size_t, std::size_t)) \
  INLINE_PROF_BOTH(X, cuMemsetD2D16Async, , _ptsz, 3020, 7000, CUresult(CUdeviceptr, std::size_t, unsigned short, std::size_t, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemsetD32, _v2, _ptds, 3020, 7000, CUresult(CUdeviceptr, unsigned, std::size_t)) \
  INLINE_PROF_BOTH(X, cuMemsetD32Async, , _ptsz, 3020, 7000, CUresult(CUdeviceptr, unsigned, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuMemsetD2D32, _v2, _ptds, 3020, 7000, CUresult(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t)) \
  INLINE_PROF_BOTH(X, cuMemsetD2D32Async, , _ptsz, 3020, 7000, CUresult(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t, CUstream)) \
  INLINE_PROF_BOTH(X, cuStreamWaitValue32, _v2, _ptsz, 11070, 11070, CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned)) \
  INLINE_PROF_BOTH(X, cuStreamWaitValue64, _v2, _ptsz, 11070, 11070, CUresult(CUstream, CUdeviceptr, cuuint64_t, unsigned)) \
  INLINE_PROF_BOTH(X, cuStreamWriteValue32, _v2, _ptsz, 11070, 11070, CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned)) \
  INLINE_PROF_BOTH(X, cuStreamWriteValue64, _v2, _ptsz, 11070, 11070, CUresult(CUstream, CUdeviceptr, cuuint64_t, unsigned)) \
  INLINE_PROF_BOTH(X, cuStreamBatchMemOp, _v2, _ptsz, 11070, 11070, CUresult(CUstream, unsigned, CUstreamBatchMemOpParams*, unsigned))

// Functions with one form for both kinds of default stream are kLegacy.
// Contexts, streams, modules and waits; the wrappers are in launch/ as well.
#define INLINE_PROF_HOOKED_HANDLES(X) \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, kLegacy, CUresult(CUcontext*, CUdevice)) \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", 7000, kLegacy, CUresult(CUdevice)) \
  X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000, kLegacy, CUresult(CUdevice)) \
  X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", 7000, kLegacy, CUresult(CUdevice)) \
  X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000, kLegacy, CUresult(CUdevice)) \
  X(cuCtxCreate, "cuCtxCreate", 2000, kLegacy, CUresult(CUcontext*, unsigned, CUdevice)) \
  X(cuCtxCreate_v2, "cuCtxCreate", 3020, kLegacy, CUresult(CUcontext*, unsigned, CUdevice)) \
  X(cuCtxCreate_v3, "cuCtxCreate", 11040, kLegacy, CUresult(CUcontext*, void*, int, unsigned, CUdevice)) \
  X(cuCtxCreate_v4, "cuCtxCreate", 12050, kLegacy, CUresult(CUcontext*, void*, unsigned, CUdevice)) \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", 4000, kLegacy, CUresult(CUcontext)) \
  X(cuCtxPushCurrent, "cuCtxPushCurrent", 2000, kLegacy, CUresult(CUcontext)) \
  X(cuCtxPushCurrent_v2, "cuCtxPushCurrent", 4000, kLegacy, CUresult(CUcontext)) \
  X(cuCtxDestroy, "cuCtxDestroy", 2000, kLegacy, CUresult(CUcontext)) \
  X(cuCtxDestroy_v2, "cuCtxDestroy", 4000, kLegacy, CUresult(CUcontext)) \
  X(cuStreamDestroy_v2, "cuStreamDestroy", 4000, kLegacy, CUresult(CUstream)) \
  INLINE_PROF_BOTH(X, cuStreamSynchronize, , _ptsz, 2000, 7000, CUresult(CUstream)) \
  X(cuEventSynchronize, "cuEventSynchronize", 2000, kLegacy, CUresult(CUevent)) \
  X(cuCtxSynchronize, "cuCtxSynchronize", 2000, kLegacy, CUresult()) \
  X(cuCtxSynchronize_v2, "cuCtxSynchronize", 13000, kLegacy, CUresult(CUcontext)) \
  X(cuModuleGetFunction, "cuModuleGetFunction", 2000, kLegacy, CUresult(CUfunction*, CUmodule, const char*)) \
  X(cuLibraryGetKernel, "cuLibraryGetKernel", 12000, kLegacy, CUresult(CUkernel*, CUlibrary, const char*)) \
  X(cuKernelGetFunction, "cuKernelGetFunction", 12000, kLegacy, CUresult(CUfunction*, CUkernel)) \
  X(cuModuleUnload, "cuModuleUnload", 2000, kLegacy, CUresult(CUmodule)) \
  X(cuLibraryUnload, "cuLibraryUnload", 12000, kLegacy, CUresult(CUlibrary))

// Graphs and captures; the wrappers are in graphs/.
#define INLINE_PROF_HOOKED_GRAPHS(X) \
  X(cuGraphInstantiate, "cuGraphInstantiate", 10000, kLegacy, CUresult(CUgraphExec*, CUgraph, CUgraphNode*, char*, std::size_t)) \
  X(cuGraphInstantiate_v2, "cuGraphInstantiate", 11000, kLegacy, CUresult(CUgraphExec*, CUgraph, CUgraphNode*, char*, std::size_t)) \
  X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040, kLegacy, CUresult(CUgraphExec*, CUgraph, unsigned long long)) \
  INLINE_PROF_BOTH(X, cuGraphInstantiateWithParams, , _ptsz, 12000, 12000, CUresult(CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*)) \
  X(cuGraphExecUpdate, "cuGraphExecUpdate", 10020, kLegacy, CUresult(CUgraphExec, CUgraph, CUgraphNode*, CUgraphExecUpdateResult*)) \
  X(cuGraphExecUpdate_v2, "cuGraphExecUpdate", 12000, kLegacy, CUresult(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*)) \
  X(cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams", 10010, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*)) \
  X(cuGraphExecKernelNodeSetParams_v2, "cuGraphExecKernelNodeSetParams", 12000, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v2*)) \
  X(cuGraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams", 10020, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D*, CUcontext)) \
  X(cuGraphExecMemsetNodeSetParams, "cuGraphExecMemsetNodeSetParams", 10020, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_MEMSET_NODE_PARAMS*, CUcontext)) \
  X(cuGraphExecHostNodeSetParams, "cuGraphExecHostNodeSetParams", 10020, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_HOST_NODE_PARAMS*)) \
  X(cuGraphExecChildGraphNodeSetParams, "cuGraphExecChildGraphNodeSetParams", 11010, kLegacy, CUresult(CUgraphExec, CUgraphNode, CUgraph)) \
  X(cuGraphExecEventRecordNodeSetEvent, "cuGraphExecEventRecordNodeSetEvent", 11010, kLegacy, CUresult(CUgraphExec, CUgraphNode, CUevent)) \
  X(cuGraphExecEventWaitNodeSetEvent, "cuGraphExecEventWaitNodeSetEvent", 11010, kLegacy, CUresult(CUgraphExec, CUgraphNode, CUevent)) \
  X(cuGraphExecExternalSemaphoresSignalNodeSetParams, "cuGraphExecExternalSemaphoresSignalNodeSetParams", 11020, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS*)) \
  X(cuGraphExecExternalSemaphoresWaitNodeSetParams, "cuGraphExecExternalSemaphoresWaitNodeSetParams", 11020, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_EXT_SEM_WAIT_NODE_PARAMS*)) \
  X(cuGraphExecBatchMemOpNodeSetParams, "cuGraphExecBatchMemOpNodeSetParams", 11070, kLegacy, CUresult(CUgraphExec, CUgraphNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS*)) \
  X(cuGraphExecNodeSetParams, "cuGraphExecNodeSetParams", 12020, kLegacy, CUresult(CUgraphExec, CUgraphNode, CUgraphNodeParams*)) \
  X(cuGraphNodeSetEnabled, "cuGraphNodeSetEnabled", 11060, kLegacy, CUresult(CUgraphExec, CUgraphNode, unsigned)) \
  X(cuGraphExecDestroy, "cuGraphExecDestroy", 10000, kLegacy, CUresult(CUgraphExec)) \
  X(cuGraphDestroy, "cuGraphDestroy", 10000, kLegacy, CUresult(CUgraph)) \
  X(cuGraphClone, "cuGraphClone", 10000, kLegacy, CUresult(CUgraph*, CUgraph)) \
  X(cuGraphRetainUserObject, "cuGraphRetainUserObject", 11030, kLegacy, CUresult(CUgraph, CUuserObject, unsigned, unsigned)) \
  INLINE_PROF_BOTH(X, cuStreamBeginCapture, , _ptsz, 10000, 10000, CUresult(CUstream)) \
  INLINE_PROF_BOTH(X, cuStreamBeginCapture, _v2, _ptsz, 10010, 10010, CUresult(CUstream, CUstreamCaptureMode)) \
  INLINE_PROF_BOTH(X, cuStreamBeginCaptureToGraph, , _ptsz, 12030, 12030, CUresult(CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, std::size_t, CUstreamCaptureMode)) \
  INLINE_PROF_BOTH(X, cuStreamEndCapture, , _ptsz, 10000, 10000, CUresult(CUstream, CUgraph*))

// Look-ups; the wrappers are in entry/.
#define INLINE_PROF_HOOKED_LOOKUPS(X) \
  X(cuGetProcAddress, "cuGetProcAddress", 11030, kLegacy, CUresult(const char*, void**, int, cuuint64_t)) \
  X(cuGetProcAddress_v2, "cuGetProcAddress", 12000, kLegacy, CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*))
// clang-format on

#define INLINE_PROF_HOOKED_LAUNCHES(X)  \
  INLINE_PROF_HOOKED_KERNEL_LAUNCHES(X) \
  INLINE_PROF_HOOKED_GRAPH_LAUNCHES(X)
#define INLINE_PROF_HOOKED_CALLS(X) \
  INLINE_PROF_HOOKED_COPIES(X)      \
  INLINE_PROF_HOOKED_HANDLES(X)     \
  INLINE_PROF_HOOKED_GRAPHS(X)      \
  INLINE_PROF_HOOKED_LOOKUPS(X)

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

// Looks the driver's function up, for a program that calls our exported symbol and has never asked
// for an address.  Null if libcuda is not loaded or lacks it.
[[nodiscard]] void* find_original(const char* symbol) noexcept;

// The driver's function in `original`; looked up under `symbol` if it is not known yet.
[[nodiscard]] void* resolved(std::atomic<void*>& original, const char* symbol) noexcept;

// Driver functions that the application got unwrapped because all wrappers were taken.
inline constinit std::atomic<unsigned long> unwrapped_functions{0};

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

}  // namespace inline_prof::hook

// Defines a wrapper that does `note` after a call that succeeded.
#define INLINE_PROF_AFTER(symbol, parameters, arguments, note) \
  CUresult CUDAAPI hooked_##symbol parameters {                \
    const CUresult result = original_##symbol arguments;       \
    if (result == CUDA_SUCCESS) (note);                        \
    return result;                                             \
  }

// cuda.h's own macros (cuCtxCreate -> cuCtxCreate_v4) stay out of the way: the C++ name is ours,
// the exported symbol is the vendor's.
#define INLINE_PROF_DECLARE_LAUNCH(symbol, name, version, slot, signature, originals, spare) \
  using Signature_##symbol = signature;                                                      \
  Signature_##symbol hooked_##symbol __asm__(#symbol) __attribute__((visibility("default")));
#define INLINE_PROF_DECLARE_CALL(symbol, name, version, slot, ...)                                \
  using Signature_##symbol = __VA_ARGS__;                                                         \
  Signature_##symbol hooked_##symbol __asm__(#symbol) __attribute__((visibility("default")));     \
  inline constexpr hook::Original<hook::kIndexOf_##symbol, Signature_##symbol> original_##symbol{ \
      #symbol};

namespace inline_prof::launch {

INLINE_PROF_HOOKED_KERNEL_LAUNCHES(INLINE_PROF_DECLARE_LAUNCH)
INLINE_PROF_HOOKED_COPIES(INLINE_PROF_DECLARE_CALL)
INLINE_PROF_HOOKED_HANDLES(INLINE_PROF_DECLARE_CALL)

// Copies of the launch wrappers for a second address; cuLaunchKernel's is assembly.
Signature_cuLaunchKernel hooked_cuLaunchKernel_spare __asm__("inline_prof_launch_kernel_spare");
Signature_cuLaunchKernelEx hooked_cuLaunchKernelEx_spare;
Signature_cuLaunchCooperativeKernel hooked_cuLaunchCooperativeKernel_spare;

// Targets of cuLaunchKernel's assembly for a launch that the filter lets through
// (launch_hooks.cpp).
Signature_cuLaunchKernel launch_counted_legacy __asm__("inline_prof_launch_counted_legacy");
Signature_cuLaunchKernel launch_counted_per_thread __asm__("inline_prof_launch_counted_per_thread");
Signature_cuLaunchKernel launch_counted_spare __asm__("inline_prof_launch_counted_spare");

}  // namespace inline_prof::launch

namespace inline_prof::graphs {

INLINE_PROF_HOOKED_GRAPH_LAUNCHES(INLINE_PROF_DECLARE_LAUNCH)
INLINE_PROF_HOOKED_GRAPHS(INLINE_PROF_DECLARE_CALL)
Signature_cuGraphLaunch hooked_cuGraphLaunch_spare;

}  // namespace inline_prof::graphs

namespace inline_prof::entry {

INLINE_PROF_HOOKED_LOOKUPS(INLINE_PROF_DECLARE_CALL)

}  // namespace inline_prof::entry

#undef INLINE_PROF_DECLARE_CALL
#undef INLINE_PROF_DECLARE_LAUNCH
