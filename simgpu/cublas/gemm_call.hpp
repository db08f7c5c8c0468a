// One check and one launch for every matrix product of cuBLAS.
#pragma once

#include "cublas/handle.hpp"
#include "math/gemm.hpp"

namespace simgpu {

struct GemmCall {
  cublasOperation_t trans_a, trans_b;
  std::int64_t m, n, k;
  const void* alpha;
  cudaDataType a_type;
  std::int64_t lda;
  cudaDataType b_type;
  std::int64_t ldb;
  const void* beta;
  cudaDataType c_type;
  std::int64_t ldc;
  std::int64_t batch;
  cublasComputeType_t compute;
};

// Argument checks, then one kernel, or two where the sum is split.
[[nodiscard]] cublasStatus_t multiply(cublasContext& handle, const GemmCall& call);

// The checks alone.
[[nodiscard]] cublasStatus_t check_gemm(const GemmCall& call);

// The product as kernels see it.
[[nodiscard]] GemmProblem problem_of(const cublasContext& handle, const GemmCall& call);

// Type and arithmetic of the functions that carry a letter for them, by the type of their factors.
struct Letter {
  cudaDataType type;
  cublasComputeType_t compute;
};
constexpr Letter letter_of(const float*) {
  return {CUDA_R_32F, CUBLAS_COMPUTE_32F};
}
constexpr Letter letter_of(const double*) {
  return {CUDA_R_64F, CUBLAS_COMPUTE_64F};
}
constexpr Letter letter_of(const cuComplex*) {
  return {CUDA_C_32F, CUBLAS_COMPUTE_32F};
}
constexpr Letter letter_of(const cuDoubleComplex*) {
  return {CUDA_C_64F, CUBLAS_COMPUTE_64F};
}
constexpr Letter letter_of(const __half*) {
  return {CUDA_R_16F, CUBLAS_COMPUTE_16F};
}

}  // namespace simgpu
