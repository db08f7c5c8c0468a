#include "math/blas_status.hpp"

namespace simgpu {

cublasStatus_t status_of(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return CUBLAS_STATUS_ALLOC_FAILED;
    case CUDA_ERROR_NOT_INITIALIZED:
      return CUBLAS_STATUS_NOT_INITIALIZED;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

namespace {

struct Status {
  cublasStatus_t code;
  const char* name;
  const char* text;
};

#define SIMGPU_STATUS(code, text) \
  Status {                        \
    code, #code, text             \
  }
constexpr Status kStatuses[] = {
    SIMGPU_STATUS(CUBLAS_STATUS_SUCCESS, "success"),
    SIMGPU_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized"),
    SIMGPU_STATUS(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed"),
    SIMGPU_STATUS(CUBLAS_STATUS_INVALID_VALUE, "an invalid value was used as an argument"),
    SIMGPU_STATUS(CUBLAS_STATUS_ARCH_MISMATCH, "the device lacks a required feature"),
    SIMGPU_STATUS(CUBLAS_STATUS_MAPPING_ERROR, "access to device memory failed"),
    SIMGPU_STATUS(CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the GPU"),
    SIMGPU_STATUS(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed"),
    SIMGPU_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, "the functionality is not supported"),
    SIMGPU_STATUS(CUBLAS_STATUS_LICENSE_ERROR, "the license check failed"),
};
#undef SIMGPU_STATUS

constexpr Status kUnknown{{}, "unknown cuBLAS status", "unknown cuBLAS status"};

const Status& find(cublasStatus_t code) {
  for (const Status& status : kStatuses) {
    if (status.code == code) return status;
  }
  return kUnknown;
}

}  // namespace

const char* status_name(cublasStatus_t status) {
  return find(status).name;
}

const char* status_text(cublasStatus_t status) {
  return find(status).text;
}

}  // namespace simgpu
