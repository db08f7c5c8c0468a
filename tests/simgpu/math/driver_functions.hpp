// What a math library calls of the driver, and the two ways in which the vendor's find it.
#pragma once

#include <cuda.h>

namespace inline_prof::simgpu {

struct DriverFunctions {
  decltype(&cuInit) init = nullptr;
  decltype(&cuCtxGetCurrent) ctx_get_current = nullptr;
  decltype(&cuCtxSetCurrent) ctx_set_current = nullptr;
  decltype(&cuCtxGetDevice) ctx_get_device = nullptr;
  decltype(&cuDeviceGetAttribute) device_get_attribute = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) primary_ctx_retain = nullptr;
  decltype(&cuModuleLoadData) module_load_data = nullptr;
  decltype(&cuModuleUnload) module_unload = nullptr;
  decltype(&cuModuleGetFunction) module_get_function = nullptr;
  decltype(&cuThreadExchangeStreamCaptureMode) exchange_capture_mode = nullptr;
  decltype(&cuLaunchKernel) launch_kernel = nullptr;
  decltype(&cuLaunchKernelEx) launch_kernel_ex = nullptr;
  decltype(&cuEventCreate) event_create = nullptr;
  decltype(&cuEventRecord) event_record = nullptr;
  decltype(&cuEventSynchronize) event_synchronize = nullptr;
  decltype(&cuEventElapsedTime) event_elapsed_time = nullptr;
  decltype(&cuEventDestroy) event_destroy = nullptr;
};

// As cuBLAS and cuBLASLt do: dlopen of libcuda.so.1 and raw dlsym, so that hooks of the runtime
// library never see their launches.  False if there is no driver, or it lacks one of the functions.
[[nodiscard]] bool find_by_dlsym(DriverFunctions& driver);

// As cuDNN does, which has a runtime of its own inside: one dlsym of cuGetProcAddress_v2, and a
// request with name and version for each function.
[[nodiscard]] bool find_by_proc_address(DriverFunctions& driver);

// The functions of a library: those whose names start with `prefix` and not with `but_not`.
struct LibraryNames {
  const char* prefix;
  const char* but_not = nullptr;
  const void* symbol = nullptr;  // one of them, by which the library's file is found
};

// Whether every SIMGPU_FAIL rule for the library names a function that it has; says on stderr which
// does not.  A misspelt name would test nothing.
[[nodiscard]] bool fail_rules_are_known(const LibraryNames& names);

}  // namespace inline_prof::simgpu
