// The common base of the math libraries' handles: a context, and kernels loaded into it.
#pragma once

#include "common/entry.hpp"
#include "common/proc_name.hpp"
#include "simgpu.h"

#include <cuda.h>

#include <array>
#include <library_types.h>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace simgpu {

// The driver's functions that a math library calls, found in the vendor's two ways.

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

// One kernel of a library call.
struct KernelCall {
  std::string name;
  std::array<unsigned, 3> grid{1, 1, 1};
  unsigned threads = 128;
  simgpu_work work{};
};

enum class LaunchBy { kLaunchKernel, kLaunchKernelEx };

// cuBLAS 13.0, cublasLtHandle_t: a cublasHandle_t may be cast to a cublasLtHandle_t.  So a handle
// of either library begins with this, and goes on working with the driver functions of its maker.
class MathHandle {
 public:
  MathHandle(const DriverFunctions& driver, LaunchBy launch_by)
      : driver_(driver), launch_by_(launch_by) {}
  ~MathHandle();
  MathHandle(const MathHandle&) = delete;
  MathHandle& operator=(const MathHandle&) = delete;

  // Initialises the driver, and gives a thread without a context the first device's primary one, as
  // the runtime inside the vendor's libraries does.
  [[nodiscard]] CUresult open();

  // Launches in order; stops at the first that fails.  A kernel is loaded at its first launch.
  [[nodiscard]] CUresult launch(CUstream stream, const std::vector<KernelCall>& calls);

  // Launches, waits, and gives the time in ms between an event before and one after.
  [[nodiscard]] CUresult time(CUstream stream, const std::vector<KernelCall>& calls,
                              float& milliseconds);

  [[nodiscard]] int sm_count() const { return sm_count_; }

 private:
  struct LoadedKernel {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
  };
  [[nodiscard]] CUresult load(const std::string& name, CUfunction& function);

  const DriverFunctions& driver_;
  LaunchBy launch_by_;
  int sm_count_ = 1;
  std::mutex mutex_;
  std::unordered_map<std::string, LoadedKernel> kernels_;
};

// Answers cublasGetProperty and its like; returns false if `part` is no part of a version.
[[nodiscard]] inline bool version_part(libraryPropertyType part, const std::array<int, 3>& version,
                                       int* value) {
  if (value == nullptr || part < MAJOR_VERSION || part > PATCH_LEVEL) return false;
  *value = version.at(static_cast<std::size_t>(part));
  return true;
}

// Blocks of `size` that cover `extent`.
[[nodiscard]] inline unsigned blocks_for(double extent, double size) {
  const double blocks = (extent + size - 1) / size;
  return blocks < 1.0 ? 1U : static_cast<unsigned>(blocks);
}

}  // namespace simgpu
