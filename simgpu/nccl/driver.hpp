// How the simulated NCCL reaches the driver.
#pragma once

#include "common/entry.hpp"
#include "common/proc_name.hpp"
#include "nccl/vendor_nccl.hpp"

#include <cstdint>

namespace simgpu {

class NcclEntry : public Entry {
 public:
  explicit NcclEntry(const char* function) : Entry(function, ncclUnhandledCudaError) {}
};

// The vendor's library has a static runtime inside and asks it for entry points
// (cudaGetDriverEntryPointByVersion), which asks the driver: dlopen, dlsym of cuGetProcAddress_v2,
// one request per function.  The same requests are made here, without the runtime between.
// X(member, vendor's name with version).
#define SIMGPU_NCCL_REQUESTS(X)                               \
  X(init, cuInit_v2000)                                       \
  X(ctx_get_current, cuCtxGetCurrent_v4000)                   \
  X(ctx_set_current, cuCtxSetCurrent_v4000)                   \
  X(ctx_get_device, cuCtxGetDevice_v2000)                     \
  X(device_get, cuDeviceGet_v2000)                            \
  X(primary_ctx_retain, cuDevicePrimaryCtxRetain_v7000)       \
  X(library_load_data, cuLibraryLoadData_v12000)              \
  X(library_unload, cuLibraryUnload_v12000)                   \
  X(library_get_kernel, cuLibraryGetKernel_v12000)            \
  X(kernel_get_function, cuKernelGetFunction_v12000)          \
  X(launch_kernel_ex, cuLaunchKernelEx_v11060)                \
  X(event_create, cuEventCreate_v2000)                        \
  X(event_destroy, cuEventDestroy_v4000)                      \
  X(event_record, cuEventRecord_v2000)                        \
  X(stream_wait_event, cuStreamWaitEvent_v3020)               \
  X(stream_get_capture_info, cuStreamGetCaptureInfo_v11030)   \
  X(ctx_synchronize, cuCtxSynchronize_v2000)                  \
  X(user_object_create, cuUserObjectCreate_v11030)            \
  X(graph_retain_user_object, cuGraphRetainUserObject_v11030) \
  X(copy, cuMemcpyAsync_v4000)                                \
  X(allocate, cuMemAlloc_v3020)                               \
  X(release, cuMemFree_v3020)                                 \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode_v10010)

struct NcclDriver {
#define SIMGPU_MEMBER(member, typed) PFN_##typed member = nullptr;
  SIMGPU_NCCL_REQUESTS(SIMGPU_MEMBER)
#undef SIMGPU_MEMBER

  // simgpu.h
  std::int64_t (*host_now)() = nullptr;
  void (*advance_host)(std::int64_t) = nullptr;
};

// Null if there is no simulated driver, or SIMGPU_FAIL names a function that is not here.
[[nodiscard]] const NcclDriver* nccl_driver();

// Makes a communicator's context current, and the caller's again at the end.
class CurrentContext {
 public:
  CurrentContext(const NcclDriver& driver, CUcontext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const NcclDriver& driver_;
  CUcontext before_ = nullptr;
};

// Sets what ncclGetLastError reports in this thread, and returns `result`.
ncclResult_t fail(ncclResult_t result, const char* why);
[[nodiscard]] const char* last_failure();

// The result for a driver call.
ncclResult_t result_of(CUresult result, const char* function);

}  // namespace simgpu
