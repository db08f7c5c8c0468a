// A cuBLAS handle, and how this library reaches the driver.
#pragma once

#include "common/entry.hpp"
#include "cublas/vendor_cublas.hpp"

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace inline_prof::simgpu {

class BlasEntry : public Entry {
 public:
  explicit BlasEntry(const char* function) : Entry(function, CUBLAS_STATUS_EXECUTION_FAILED) {}
};

// The vendor's cuBLAS has its own runtime inside and looks the driver up by itself: dlopen of
// libcuda.so.1 and raw dlsym, so that hooks of the runtime library never see its launches.
struct BlasDriver {
  decltype(&cuInit) init = nullptr;
  decltype(&cuCtxGetCurrent) ctx_get_current = nullptr;
  decltype(&cuCtxSetCurrent) ctx_set_current = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) primary_ctx_retain = nullptr;
  decltype(&cuModuleLoadData) module_load_data = nullptr;
  decltype(&cuModuleUnload) module_unload = nullptr;
  decltype(&cuModuleGetFunction) module_get_function = nullptr;
  decltype(&cuThreadExchangeStreamCaptureMode) exchange_capture_mode = nullptr;
  decltype(&cuLaunchKernel) launch_kernel = nullptr;
};

// Null if there is no driver, or it lacks one of these.
[[nodiscard]] const BlasDriver* blas_driver();

// Status of a failed driver call.
[[nodiscard]] cublasStatus_t status_of(CUresult result);

}  // namespace inline_prof::simgpu

struct cublasContext {
  const inline_prof::simgpu::BlasDriver* driver = nullptr;
  CUcontext context = nullptr;
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;

  struct LoadedKernel {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
  };
  std::mutex mutex;
  std::unordered_map<std::string, LoadedKernel> kernels;  // loaded when first needed
};
