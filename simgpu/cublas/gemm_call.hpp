// What every matrix product of cuBLAS comes down to.
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
[[nodiscard]] cublasStatus_t multiply(const BlasEntry& entry, cublasHandle_t handle,
                                      const GemmCall& call);

// The checks alone.
[[nodiscard]] cublasStatus_t check_gemm(const GemmCall& call);

// The product as kernels see it.
[[nodiscard]] GemmProblem problem_of(const cublasContext& handle, const GemmCall& call);

// Type and arithmetic of the functions that carry a letter for them.
template <typename Element>
struct Letter;
template <>
struct Letter<float> {
  static constexpr cudaDataType type = CUDA_R_32F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};
template <>
struct Letter<double> {
  static constexpr cudaDataType type = CUDA_R_64F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_64F;
};
template <>
struct Letter<cuComplex> {
  static constexpr cudaDataType type = CUDA_C_32F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};
template <>
struct Letter<cuDoubleComplex> {
  static constexpr cudaDataType type = CUDA_C_64F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_64F;
};
template <>
struct Letter<__half> {
  static constexpr cudaDataType type = CUDA_R_16F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_16F;
};

}  // namespace simgpu
