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
//   kLegacy or kPerThread, signature, originals), the last one for launches only.
//
// clang-format off
#define INLINE_PROF_HOOKED_KERNEL_LAUNCHES(X) \
  X(cuLaunchKernel, cuLaunchKernel, 4000, kLegacy, CUresult(INLINE_PROF_LAUNCH_TYPES, void**), sys::hot_line.kernel) \
  X(cuLaunchKernel_ptsz, cuLaunchKernel, 7000, kPerThread, CUresult(INLINE_PROF_LAUNCH_TYPES, void**), sys::hot_line.kernel) \
  X(cuLaunchKernelEx, cuLaunchKernelEx, 11060, kLegacy, CUresult(const CUlaunchConfig*, CUfunction, void**, void**), sys::hot_line.kernel_ex) \
  X(cuLaunchKernelEx_ptsz, cuLaunchKernelEx, 11060, kPerThread, CUresult(const CUlaunchConfig*, CUfunction, void**, void**), sys::hot_line.kernel_ex) \
  X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000, kLegacy, CUresult(INLINE_PROF_LAUNCH_TYPES), hook::launch_originals.cooperative) \
  X(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel, 9000, kPerThread, CUresult(INLINE_PROF_LAUNCH_TYPES), hook::launch_originals.cooperative)
#define INLINE_PROF_HOOKED_GRAPH_LAUNCHES(X) \
  X(cuGraphLaunch, cuGraphLaunch, 10000, kLegacy, CUresult(CUgraphExec, CUstream), hook::launch_originals.graph_launch) \
  X(cuGraphLaunch_ptsz, cuGraphLaunch, 10000, kPerThread, CUresult(CUgraphExec, CUstream), hook::launch_originals.graph_launch)

// Copies, fills and operations of streams on memory; their wrappers are in launch/copy_hooks.cpp.
#define INLINE_PROF_HOOKED_COPIES(X) \
  X(cuMemcpy, cuMemcpy, 4000, kLegacy, CUresult(CUdeviceptr, CUdeviceptr, std::size_t)) \
  X(cuMemcpy_ptds, cuMemcpy, 7000, kPerThread, CUresult(CUdeviceptr, CUdeviceptr, std::size_t)) \
  X(cuMemcpyAsync, cuMemcpyAsync, 4000, kLegacy, CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)) \
  X(cuMemcpyAsync_ptsz, cuMemcpyAsync, 7000, kPerThread, CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)) \
  X(cuMemcpyHtoD_v2, cuMemcpyHtoD, 3020, kLegacy, CUresult(CUdeviceptr, const void*, std::size_t)) \
  X(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD, 7000, kPerThread, CUresult(CUdeviceptr, const void*, std::size_t)) \
  X(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, 3020, kLegacy, CUresult(CUdeviceptr, const void*, std::size_t, CUstream)) \
  X(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync, 7000, kPerThread, CUresult(CUdeviceptr, const void*, std::size_t, CUstream)) \
  X(cuMemcpyDtoH_v2, cuMemcpyDtoH, 3020, kLegacy, CUresult(void*, CUdeviceptr, std::size_t)) \
  X(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH, 7000, kPerThread, CUresult(void*, CUdeviceptr, std::size_t)) \
  X(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, 3020, kLegacy, CUresult(void*, CUdeviceptr, std::size_t, CUstream)) \
  X(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync, 7000, kPerThread, CUresult(void*, CUdeviceptr, std::size_t, CUstream)) \
  X(cuMemcpyDtoD_v2, cuMemcpyDtoD, 3020, kLegacy, CUresult(CUdeviceptr, CUdeviceptr, std::size_t)) \
  X(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD, 7000, kPerThread, CUresult(CUdeviceptr, CUdeviceptr, std::size_t)) \
  X(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, 3020, kLegacy, CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)) \
  X(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync, 7000, kPerThread, CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)) \
  X(cuMemcpyPeer, cuMemcpyPeer, 4000, kLegacy, CUresult(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t)) \
  X(cuMemcpyPeer_ptds, cuMemcpyPeer, 7000, kPerThread, CUresult(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t)) \
  X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, 4000, kLegacy, CUresult(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, CUstream)) \
  X(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync, 7000, kPerThread, CUresult(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, CUstream)) \
  X(cuMemcpy2D_v2, cuMemcpy2D, 3020, kLegacy, CUresult(const CUDA_MEMCPY2D*)) \
  X(cuMemcpy2D_v2_ptds, cuMemcpy2D, 7000, kPerThread, CUresult(const CUDA_MEMCPY2D*)) \
  X(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned, 3020, kLegacy, CUresult(const CUDA_MEMCPY2D*)) \
  X(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2DUnaligned, 7000, kPerThread, CUresult(const CUDA_MEMCPY2D*)) \
  X(cuMemcpy2DAsync_v2, cuMemcpy2DAsync, 3020, kLegacy, CUresult(const CUDA_MEMCPY2D*, CUstream)) \
  X(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync, 7000, kPerThread, CUresult(const CUDA_MEMCPY2D*, CUstream)) \
  X(cuMemcpy3D_v2, cuMemcpy3D, 3020, kLegacy, CUresult(const CUDA_MEMCPY3D*)) \
  X(cuMemcpy3D_v2_ptds, cuMemcpy3D, 7000, kPerThread, CUresult(const CUDA_MEMCPY3D*)) \
  X(cuMemcpy3DAsync_v2, cuMemcpy3DAsync, 3020, kLegacy, CUresult(const CUDA_MEMCPY3D*, CUstream)) \
  X(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync, 7000, kPerThread, CUresult(const CUDA_MEMCPY3D*, CUstream)) \
  X(cuMemcpy3DPeer, cuMemcpy3DPeer, 4000, kLegacy, CUresult(const CUDA_MEMCPY3D_PEER*)) \
  X(cuMemcpy3DPeer_ptds, cuMemcpy3DPeer, 7000, kPerThread, CUresult(const CUDA_MEMCPY3D_PEER*)) \
  X(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, 4000, kLegacy, CUresult(const CUDA_MEMCPY3D_PEER*, CUstream)) \
  X(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DPeerAsync, 7000, kPerThread, CUresult(const CUDA_MEMCPY3D_PEER*, CUstream)) \
  X(cuMemcpyBatchAsync, cuMemcpyBatchAsync, 12080, kLegacy, CUresult(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, void*, std::size_t*, std::size_t, std::size_t*, CUstream)) \
  X(cuMemcpyBatchAsync_ptsz, cuMemcpyBatchAsync, 12080, kPerThread, CUresult(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, void*, std::size_t*, std::size_t, std::size_t*, CUstream)) \
  X(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync, 13000, kLegacy, CUresult(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, void*, std::size_t*, std::size_t, CUstream)) \
  X(cuMemcpyBatchAsync_v2_ptsz, cuMemcpyBatchAsync, 13000, kPerThread, CUresult(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, void*, std::size_t*, std::size_t, CUstream)) \
  X(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync, 12080, kLegacy, CUresult(std::size_t, void*, std::size_t*, unsigned long long, CUstream)) \
  X(cuMemcpy3DBatchAsync_ptsz, cuMemcpy3DBatchAsync, 12080, kPerThread, CUresult(std::size_t, void*, std::size_t*, unsigned long long, CUstream)) \
  X(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync, 13000, kLegacy, CUresult(std::size_t, void*, unsigned long long, CUstream)) \
  X(cuMemcpy3DBatchAsync_v2_ptsz, cuMemcpy3DBatchAsync, 13000, kPerThread, CUresult(std::size_t, void*, unsigned long long, CUstream)) \
  X(cuMemsetD8_v2, cuMemsetD8, 3020, kLegacy, CUresult(CUdeviceptr, unsigned char, std::size_t)) \
  X(cuMemsetD8_v2_ptds, cuMemsetD8, 7000, kPerThread, CUresult(CUdeviceptr, unsigned char, std::size_t)) \
  X(cuMemsetD8Async, cuMemsetD8Async, 3020, kLegacy, CUresult(CUdeviceptr, unsigned char, std::size_t, CUstream)) \
  X(cuMemsetD8Async_ptsz, cuMemsetD8Async, 7000, kPerThread, CUresult(CUdeviceptr, unsigned char, std::size_t, CUstream)) \
  X(cuMemsetD2D8_v2, cuMemsetD2D8, 3020, kLegacy, CUresult(CUdeviceptr, std::size_t, unsigned char, std::size_t, std::size_t)) \
  X(cuMemsetD2D8_v2_ptds, cuMemsetD2D8, 7000, kPerThread, CUresult(CUdeviceptr, std::size_t, unsigned char, std::size_t, std::size_t)) \
  X(cuMemsetD2D8Async, cuMemsetD2D8Async, 3020, kLegacy, CUresult(CUdeviceptr, std::size_t, unsigned char, std::size_t, std::size_t, CUstream)) \
  X(cuMemsetD2D8Async_ptsz, cuMemsetD2D8Async, 7000, kPerThread, CUresult(CUdeviceptr, std::size_t, unsigned char, std::size_t, std::size_t, CUstream)) \
  X(cuMemsetD16_v2, cuMemsetD16, 3020, kLegacy, CUresult(CUdeviceptr, unsigned short, std::size_t)) \
  X(cuMemsetD16_v2_ptds, cuMemsetD16, 7000, kPerThread, CUresult(CUdeviceptr, unsigned short, std::size_t)) \
  X(cuMemsetD16Async, cuMemsetD16Async, 3020, kLegacy, CUresult(CUdeviceptr, unsigned short, std::size_t, CUstream)) \
  X(cuMemsetD16Async_ptsz, cuMemsetD16Async, 7000, kPerThread, CUresult(CUdeviceptr, unsigned short, std::size_t, CUstream)) \
  X(cuMemsetD2D16_v2, cuMemsetD2D16, 3020, kLegacy, CUresult(CUdeviceptr, std::size_t, unsigned short, std::size_t, std::size_t)) \
  X(cuMemsetD2D16_v2_ptds, cuMemsetD2D16, 7000, kPerThread, CUresult(CUdeviceptr, std::size_t, unsigned short, std::size_t, std::size_t)) \
  X(cuMemsetD2D16Async, cuMemsetD2D16Async, 3020, kLegacy, CUresult(CUdeviceptr, std::size_t, unsigned short, std::size_t, std::size_t, CUstream)) \
  X(cuMemsetD2D16Async_ptsz, cuMemsetD2D16Async, 7000, kPerThread, CUresult(CUdeviceptr, std::size_t, unsigned short, std::size_t, std::size_t, CUstream)) \
  X(cuMemsetD32_v2, cuMemsetD32, 3020, kLegacy, CUresult(CUdeviceptr, unsigned, std::size_t)) \
  X(cuMemsetD32_v2_ptds, cuMemsetD32, 7000, kPerThread, CUresult(CUdeviceptr, unsigned, std::size_t)) \
  X(cuMemsetD32Async, cuMemsetD32Async, 3020, kLegacy, CUresult(CUdeviceptr, unsigned, std::size_t, CUstream)) \
  X(cuMemsetD32Async_ptsz, cuMemsetD32Async, 7000, kPerThread, CUresult(CUdeviceptr, unsigned, std::size_t, CUstream)) \
  X(cuMemsetD2D32_v2, cuMemsetD2D32, 3020, kLegacy, CUresult(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t)) \
  X(cuMemsetD2D32_v2_ptds, cuMemsetD2D32, 7000, kPerThread, CUresult(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t)) \
  X(cuMemsetD2D32Async, cuMemsetD2D32Async, 3020, kLegacy, CUresult(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t, CUstream)) \
  X(cuMemsetD2D32Async_ptsz, cuMemsetD2D32Async, 7000, kPerThread, CUresult(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t, CUstream)) \
  X(cuStreamWaitValue32_v2, cuStreamWaitValue32, 11070, kLegacy, CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned)) \
  X(cuStreamWaitValue32_v2_ptsz, cuStreamWaitValue32, 11070, kPerThread, CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned)) \
  X(cuStreamWaitValue64_v2, cuStreamWaitValue64, 11070, kLegacy, CUresult(CUstream, CUdeviceptr, cuuint64_t, unsigned)) \
  X(cuStreamWaitValue64_v2_ptsz, cuStreamWaitValue64, 11070, kPerThread, CUresult(CUstream, CUdeviceptr, cuuint64_t, unsigned)) \
  X(cuStreamWriteValue32_v2, cuStreamWriteValue32, 11070, kLegacy, CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned)) \
  X(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32, 11070, kPerThread, CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned)) \
  X(cuStreamWriteValue64_v2, cuStreamWriteValue64, 11070, kLegacy, CUresult(CUstream, CUdeviceptr, cuuint64_t, unsigned)) \
  X(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64, 11070, kPerThread, CUresult(CUstream, CUdeviceptr, cuuint64_t, unsigned)) \
  X(cuStreamBatchMemOp_v2, cuStreamBatchMemOp, 11070, kLegacy, CUresult(CUstream, unsigned, CUstreamBatchMemOpParams*, unsigned)) \
  X(cuStreamBatchMemOp_v2_ptsz, cuStreamBatchMemOp, 11070, kPerThread, CUresult(CUstream, unsigned, CUstreamBatchMemOpParams*, unsigned))

// Functions with one form for both kinds of default stream are kLegacy.
// Contexts, streams, modules and waits; the wrappers are in launch/ as well.
#define INLINE_PROF_HOOKED_HANDLES(X) \
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
  X(cuCtxSynchronize_v2, cuCtxSynchronize, 13000, kLegacy, CUresult(CUcontext)) \
  X(cuModuleGetFunction, cuModuleGetFunction, 2000, kLegacy, CUresult(CUfunction*, CUmodule, const char*)) \
  X(cuLibraryGetKernel, cuLibraryGetKernel, 12000, kLegacy, CUresult(CUkernel*, CUlibrary, const char*)) \
  X(cuKernelGetFunction, cuKernelGetFunction, 12000, kLegacy, CUresult(CUfunction*, CUkernel)) \
  X(cuModuleUnload, cuModuleUnload, 2000, kLegacy, CUresult(CUmodule)) \
  X(cuLibraryUnload, cuLibraryUnload, 12000, kLegacy, CUresult(CUlibrary))

// Graphs and captures; the wrappers are in graphs/.
#define INLINE_PROF_HOOKED_GRAPHS(X) \
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

// Look-ups; the wrappers are in entry/.
#define INLINE_PROF_HOOKED_LOOKUPS(X) \
  X(cuGetProcAddress, cuGetProcAddress, 11030, kLegacy, CUresult(const char*, void**, int, cuuint64_t)) \
  X(cuGetProcAddress_v2, cuGetProcAddress, 12000, kLegacy, CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*))
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
void count_unwrapped() noexcept;
[[nodiscard]] unsigned long unwrapped_count() noexcept;

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

// cuda.h's own macros (cuCtxCreate -> cuCtxCreate_v4) stay out of the way: the C++ name is ours,
// the exported symbol is the vendor's.
#define INLINE_PROF_DECLARE_LAUNCH(symbol, name, version, slot, signature, originals) \
  using Signature_##symbol = signature;                                               \
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
