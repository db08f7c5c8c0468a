// Products of matrices by cuBLAS.
#pragma once

#include "check.hpp"

#include <cublas_v2.h>
#include <cuda_fp16.h>

namespace example {

inline const char* error_text(cublasStatus_t status) {
  return cublasGetStatusString(status);
}

// C[m,n] = A[m,k] * B[k,n]: row-major f16, sums in f32, on the handle's stream.  `transpose_a`: A
// lies in memory as [k,m]; `transpose_b`: B as [n,k].
void multiply(cublasHandle_t cublas, bool transpose_a, bool transpose_b, int m, int n, int k,
              const __half* a, const __half* b, __half* c);

}  // namespace example
