// What a math library calls of the driver, and the two ways in which the vendor's find it.
#pragma once

#include "common/fail_names.hpp"
#include "common/proc_name.hpp"

#include <cuda.h>

namespace simgpu {

// X(member, vendor's name with the version in which the present signature appeared): what the
// vendor's runtime asks for.
#define SIMGPU_MATH_REQUESTS(X)                                      \
  X(init, cuInit_v2000)                                              \
  X(ctx_get_current, cuCtxGetCurrent_v4000)                          \
  X(ctx_set_current, cuCtxSetCurrent_v4000)                          \
  X(ctx_get_device, cuCtxGetDevice_v2000)                            \
  X(device_get_attribute, cuDeviceGetAttribute_v2000)                \
  X(primary_ctx_retain, cuDevicePrimaryCtxRetain_v7000)              \
  X(module_load_data, cuModuleLoadData_v2000)                        \
  X(module_unload, cuModuleUnload_v2000)                             \
  X(module_get_function, cuModuleGetFunction_v2000)                  \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode_v10010) \
  X(launch_kernel, cuLaunchKernel_v4000)                             \
  X(launch_kernel_ex, cuLaunchKernelEx_v11060)                       \
  X(event_create, cuEventCreate_v2000)                               \
  X(event_record, cuEventRecord_v2000)                               \
  X(event_synchronize, cuEventSynchronize_v2000)                     \
  X(event_elapsed_time, cuEventElapsedTime_v2000)                    \
  X(event_destroy, cuEventDestroy_v4000)

struct DriverFunctions {
#define SIMGPU_MEMBER(member, typed) PFN_##typed member = nullptr;
  SIMGPU_MATH_REQUESTS(SIMGPU_MEMBER)
#undef SIMGPU_MEMBER
};

// As cuBLAS and cuBLASLt do: dlopen of libcuda.so.1 and raw dlsym, so that hooks of the runtime
// library never see their launches.  False if there is no driver, or it lacks one of the functions.
[[nodiscard]] bool find_by_dlsym(DriverFunctions& driver);

// As cuDNN does, which has a runtime of its own inside: one dlsym of cuGetProcAddress_v2, and a
// request with name and version for each function.
[[nodiscard]] bool find_by_proc_address(DriverFunctions& driver);

}  // namespace simgpu
