// Matrix products whose types are arguments, each with 32-bit and with 64-bit sizes.
#include "cublas/gemm_call.hpp"

using namespace simgpu;

// The batch only, strides and addresses change nothing here.
#define SIMGPU_GEMM_EX(name, Index)                                                                \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, \
                      Index m, Index n, Index k, const void* alpha, const void*,                   \
                      cudaDataType a_type, Index lda, const void*, cudaDataType b_type, Index ldb, \
                      const void* beta, void*, cudaDataType c_type, Index ldc,                     \
                      cublasComputeType_t compute, cublasGemmAlgo_t) {                             \
    static const BlasEntry entry{__func__};                                                        \
    return multiply(entry, handle,                                                                 \
                    {trans_a, trans_b, m, n, k, alpha, a_type, lda, b_type, ldb, beta, c_type,     \
                     ldc, 1, compute});                                                            \
  }

#define SIMGPU_GEMM_STRIDED_EX(name, Index)                                                        \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, \
                      Index m, Index n, Index k, const void* alpha, const void*,                   \
                      cudaDataType a_type, Index lda, long long int, const void*,                  \
                      cudaDataType b_type, Index ldb, long long int, const void* beta, void*,      \
                      cudaDataType c_type, Index ldc, long long int, Index batch,                  \
                      cublasComputeType_t compute, cublasGemmAlgo_t) {                             \
    static const BlasEntry entry{__func__};                                                        \
    return multiply(entry, handle,                                                                 \
                    {trans_a, trans_b, m, n, k, alpha, a_type, lda, b_type, ldb, beta, c_type,     \
                     ldc, batch, compute});                                                        \
  }

#define SIMGPU_GEMM_BATCHED_EX(name, Index)                                                        \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, \
                      Index m, Index n, Index k, const void* alpha, const void* const[],           \
                      cudaDataType a_type, Index lda, const void* const[], cudaDataType b_type,    \
                      Index ldb, const void* beta, void* const[], cudaDataType c_type, Index ldc,  \
                      Index batch, cublasComputeType_t compute, cublasGemmAlgo_t) {                \
    static const BlasEntry entry{__func__};                                                        \
    return multiply(entry, handle,                                                                 \
                    {trans_a, trans_b, m, n, k, alpha, a_type, lda, b_type, ldb, beta, c_type,     \
                     ldc, batch, compute});                                                        \
  }

// cublasSgemmEx and cublasCgemmEx: arithmetic in f32, other types of the matrices.
#define SIMGPU_LETTER_GEMM_EX(name, Element, Index)                                                \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, \
                      Index m, Index n, Index k, const Element* alpha, const void*,                \
                      cudaDataType a_type, Index lda, const void*, cudaDataType b_type, Index ldb, \
                      const Element* beta, void*, cudaDataType c_type, Index ldc) {                \
    static const BlasEntry entry{__func__};                                                        \
    return multiply(entry, handle,                                                                 \
                    {trans_a, trans_b, m, n, k, alpha, a_type, lda, b_type, ldb, beta, c_type,     \
                     ldc, 1, CUBLAS_COMPUTE_32F});                                                 \
  }

extern "C" {

SIMGPU_GEMM_EX(cublasGemmEx, int)
SIMGPU_GEMM_EX(cublasGemmEx_64, std::int64_t)
SIMGPU_GEMM_STRIDED_EX(cublasGemmStridedBatchedEx, int)
SIMGPU_GEMM_STRIDED_EX(cublasGemmStridedBatchedEx_64, std::int64_t)
SIMGPU_GEMM_BATCHED_EX(cublasGemmBatchedEx, int)
SIMGPU_GEMM_BATCHED_EX(cublasGemmBatchedEx_64, std::int64_t)
SIMGPU_LETTER_GEMM_EX(cublasSgemmEx, float, int)
SIMGPU_LETTER_GEMM_EX(cublasSgemmEx_64, float, std::int64_t)
SIMGPU_LETTER_GEMM_EX(cublasCgemmEx, cuComplex, int)
SIMGPU_LETTER_GEMM_EX(cublasCgemmEx_64, cuComplex, std::int64_t)

}  // extern "C"
