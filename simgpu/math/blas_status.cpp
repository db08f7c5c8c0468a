#include "math/blas_status.hpp"

#include "common/code_texts.hpp"

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

constexpr CodeText<cublasStatus_t> kStatuses[] = {
    SIMGPU_CODE(CUBLAS_STATUS_SUCCESS, "success"),
    SIMGPU_CODE(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized"),
    SIMGPU_CODE(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed"),
    SIMGPU_CODE(CUBLAS_STATUS_INVALID_VALUE, "an invalid value was used as an argument"),
    SIMGPU_CODE(CUBLAS_STATUS_ARCH_MISMATCH, "the device lacks a required feature"),
    SIMGPU_CODE(CUBLAS_STATUS_MAPPING_ERROR, "access to device memory failed"),
    SIMGPU_CODE(CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the GPU"),
    SIMGPU_CODE(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed"),
    SIMGPU_CODE(CUBLAS_STATUS_NOT_SUPPORTED, "the functionality is not supported"),
    SIMGPU_CODE(CUBLAS_STATUS_LICENSE_ERROR, "the license check failed"),
};

constexpr const char* kUnknown = "unknown cuBLAS status";

}  // namespace

const char* status_name(cublasStatus_t status) {
  const auto* known = find_code(kStatuses, status);
  return known == nullptr ? kUnknown : known->name;
}

const char* status_text(cublasStatus_t status) {
  const auto* known = find_code(kStatuses, status);
  return known == nullptr ? kUnknown : known->text;
}

}  // namespace simgpu
