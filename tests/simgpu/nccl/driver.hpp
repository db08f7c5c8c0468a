// How the simulated NCCL reaches the driver.
#pragma once

#include "common/entry.hpp"
#include "nccl/vendor_nccl.hpp"

#include <cudaTypedefs.h>

#include <cstdint>

namespace inline_prof::simgpu {

class NcclEntry : public Entry {
 public:
  explicit NcclEntry(const char* function) : Entry(function, ncclUnhandledCudaError) {}
};

// The vendor's library has a static runtime inside and asks it for entry points
// (cudaGetDriverEntryPointByVersion), which asks the driver: dlopen, dlsym of cuGetProcAddress_v2,
// one request per function.  The same requests are made here, without the runtime between.
struct NcclDriver {
  PFN_cuInit_v2000 init = nullptr;
  PFN_cuCtxGetCurrent_v4000 ctx_get_current = nullptr;
  PFN_cuCtxSetCurrent_v4000 ctx_set_current = nullptr;
  PFN_cuCtxGetDevice_v2000 ctx_get_device = nullptr;
  PFN_cuDeviceGet_v2000 device_get = nullptr;
  PFN_cuDevicePrimaryCtxRetain_v7000 primary_ctx_retain = nullptr;
  PFN_cuLibraryLoadData_v12000 library_load_data = nullptr;
  PFN_cuLibraryUnload_v12000 library_unload = nullptr;
  PFN_cuLibraryGetKernel_v12000 library_get_kernel = nullptr;
  PFN_cuKernelGetFunction_v12000 kernel_get_function = nullptr;
  PFN_cuLaunchKernelEx_v11060 launch_kernel_ex = nullptr;
  PFN_cuEventCreate_v2000 event_create = nullptr;
  PFN_cuEventDestroy_v4000 event_destroy = nullptr;
  PFN_cuEventRecord_v2000 event_record = nullptr;
  PFN_cuStreamWaitEvent_v3020 stream_wait_event = nullptr;
  PFN_cuStreamGetCaptureInfo_v11030 stream_get_capture_info = nullptr;
  PFN_cuCtxSynchronize_v2000 ctx_synchronize = nullptr;
  PFN_cuUserObjectCreate_v11030 user_object_create = nullptr;
  PFN_cuGraphRetainUserObject_v11030 graph_retain_user_object = nullptr;
  PFN_cuMemcpyAsync_v4000 copy = nullptr;
  PFN_cuMemAlloc_v3020 allocate = nullptr;
  PFN_cuMemFree_v3020 release = nullptr;
  PFN_cuThreadExchangeStreamCaptureMode_v10010 exchange_capture_mode = nullptr;

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

// What ncclGetLastError says in this thread, and the result that goes with it.
ncclResult_t fail(ncclResult_t result, const char* why);
[[nodiscard]] const char* last_failure();

// The result for a driver call.
ncclResult_t result_of(CUresult result, const char* function);

}  // namespace inline_prof::simgpu
