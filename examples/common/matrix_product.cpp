#include "matrix_product.hpp"

namespace example {

void multiply(cublasHandle_t cublas, bool transpose_a, bool transpose_b, int m, int n, int k,
              const __half* a, const __half* b, __half* c) {
  // cuBLAS is column-major: it sees the transposed matrices, and C^T = B^T A^T.
  const float one = 1.0F;
  const float zero = 0.0F;
  EXAMPLE_CHECK(cublasGemmEx(cublas, transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                             transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, b, CUDA_R_16F,
                             transpose_b ? k : n, a, CUDA_R_16F, transpose_a ? m : k, &zero, c,
                             CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

}  // namespace example
