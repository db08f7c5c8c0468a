// The status codes that cuBLAS and cuBLASLt share.
#pragma once

#include <cublas_v2.h>
#include <cuda.h>

namespace simgpu {

// Status of a failed driver call.
[[nodiscard]] cublasStatus_t status_of(CUresult result);

[[nodiscard]] const char* status_name(cublasStatus_t status);
[[nodiscard]] const char* status_text(cublasStatus_t status);

}  // namespace simgpu
