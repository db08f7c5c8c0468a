#include "cublas/handle.hpp"

#include <library_types.h>
#include <memory>

using namespace simgpu;

namespace {

// Null if there is no driver, it lacks a function, or SIMGPU_FAIL names one that is not here.
const DriverFunctions* blas_driver() {
  static DriverFunctions driver;
  static const bool found =
      find_by_dlsym(driver) &&
      fail_rules_are_known({.prefix = "cublas",
                            .symbol = reinterpret_cast<const void*>(&cublasCreate_v2),
                            .but_not = "cublasLt"});
  return found ? &driver : nullptr;
}

}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  static const BlasEntry entry{__func__};
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<cublasStatus_t>(injected);
  }
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const DriverFunctions* driver = blas_driver();
  if (driver == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  auto made = std::make_unique<cublasContext>(*driver, LaunchBy::kLaunchKernel);
  if (made->open() != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = made.release();
  return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_HANDLE_CALL(cublasDestroy_v2) {
  delete &h;
  return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_HANDLE_CALL(cublasSetStream_v2, stream) {
  h.stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_HANDLE_CALL(cublasSetMathMode, mode) {
  h.math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

SIMGPU_HANDLE_CALL(cublasSetPointerMode_v2, mode) {
  if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  h.pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

#define SIMGPU_GET(symbol, value)                          \
  SIMGPU_HANDLE_CALL(symbol, to) {                         \
    if (to == nullptr) return CUBLAS_STATUS_INVALID_VALUE; \
    *to = value;                                           \
    return CUBLAS_STATUS_SUCCESS;                          \
  }
SIMGPU_GET(cublasGetStream_v2, h.stream)
SIMGPU_GET(cublasGetMathMode, h.math)
SIMGPU_GET(cublasGetPointerMode_v2, h.pointer_mode)
SIMGPU_GET(cublasGetVersion_v2, CUBLAS_VERSION)

// cuBLAS 13.0, cublasSetWorkspace: "The workspace pointer has to be aligned to at least 256 bytes,
// otherwise CUBLAS_STATUS_INVALID_VALUE error is returned."  Simulated kernels need no workspace.
SIMGPU_HANDLE_CALL(cublasSetWorkspace_v2, workspace, unused) {
  return reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0 ? CUBLAS_STATUS_SUCCESS
                                                                : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  static const BlasEntry entry{__func__};
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<cublasStatus_t>(injected);
  }
  return version_part(type, {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH}, value)
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_INVALID_VALUE;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  return status_name(status);
}

const char* cublasGetStatusString(cublasStatus_t status) {
  return status_text(status);
}
