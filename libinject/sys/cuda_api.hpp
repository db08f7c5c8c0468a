// The driver's functions that we call ourselves, found in the libcuda that the application has
// loaded. They are the driver's own, never our wrappers. An older driver may lack some; features
// that need them are left out then.
#pragma once

#include <cuda.h>

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

}  // namespace inline_prof::sys
