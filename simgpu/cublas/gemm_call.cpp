#include "cublas/gemm_call.hpp"

#include <algorithm>

namespace simgpu {
namespace {

bool is_operation(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

// cuBLAS 13.0, cublasGemmEx, table of supported types, column "Scale Type (alpha and beta)".
cudaDataType scale_type(const GemmCall& g) {
  const bool is_complex = g.c_type == CUDA_C_32F || g.c_type == CUDA_C_64F;
  switch (g.compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUDA_R_16F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUDA_R_32I;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return is_complex ? CUDA_C_64F : CUDA_R_64F;
    default:
      return is_complex ? CUDA_C_32F : CUDA_R_32F;
  }
}

}  // namespace

// cuBLAS 13.0, cublas<t>gemm, "CUBLAS_STATUS_INVALID_VALUE: if m, n, k < 0, or if transa, transb is
// not one of CUBLAS_OP_N, CUBLAS_OP_C, CUBLAS_OP_T, or if lda < max(1, m) if transa == CUBLAS_OP_N
// and lda < max(1, k) otherwise, or if ldb < max(1, k) if transb == CUBLAS_OP_N and ldb < max(1, n)
// otherwise, or if ldc < max(1, m), or if alpha, beta == NULL".
cublasStatus_t check_gemm(const GemmCall& g) {
  const std::int64_t one = 1;
  const bool valid = g.m >= 0 && g.n >= 0 && g.k >= 0 && g.batch >= 0 && is_operation(g.trans_a) &&
                     is_operation(g.trans_b) &&
                     g.lda >= std::max(one, g.trans_a == CUBLAS_OP_N ? g.m : g.k) &&
                     g.ldb >= std::max(one, g.trans_b == CUBLAS_OP_N ? g.k : g.n) &&
                     g.ldc >= std::max(one, g.m) && g.alpha != nullptr && g.beta != nullptr;
  return valid ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

GemmProblem problem_of(const cublasContext& handle, const GemmCall& g) {
  return {.trans_a = g.trans_a != CUBLAS_OP_N,
          .trans_b = g.trans_b != CUBLAS_OP_N,
          .m = g.m,
          .n = g.n,
          .k = g.k,
          .batch = g.batch,
          .a_type = g.a_type,
          .b_type = g.b_type,
          .c_type = g.c_type,
          .d_type = g.c_type,
          .compute = g.compute,
          .allows_tf32 = handle.math == CUBLAS_TF32_TENSOR_OP_MATH,
          // C is read unless beta is known to be zero.
          .reads_c =
              handle.pointer_mode == CUBLAS_POINTER_MODE_DEVICE || !is_zero(g.beta, scale_type(g))};
}

cublasStatus_t multiply(cublasContext& h, const GemmCall& call) {
  if (const auto status = check_gemm(call); status != CUBLAS_STATUS_SUCCESS) return status;
  const GemmProblem problem = problem_of(h, call);
  if (arithmetic_of(problem) == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (call.m == 0 || call.n == 0 || call.batch == 0) return CUBLAS_STATUS_SUCCESS;
  return status_of(
      h.launch(h.stream, gemm_kernels(problem, gemm_tile(problem), gemm_splits(problem))));
}

}  // namespace simgpu
