/* The wrapped functions of cuBLAS, cuBLASLt, cuDNN and NCCL: the one list of their names.
 *
 * Macros only, for C++ (call_names.hpp, library_calls.cpp) and for the assembly that exports them
 * (call_exports.S).  The names are those of the libraries' symbols: cublas_v2.h's cublasSgemm is
 * cublasSgemm_v2.  The wrappers are in *_calls.cpp. */
#ifndef INLINE_PROF_LIBRARIES_CALL_LIST_H
#define INLINE_PROF_LIBRARIES_CALL_LIST_H

/* X(name, 32- or 64-bit sizes) */
#define INLINE_PROF_GEMM_CALLS(X) \
  X(cublasSgemm_v2, 32)           \
  X(cublasDgemm_v2, 32)           \
  X(cublasHgemm, 32)              \
  X(cublasCgemm_v2, 32)           \
  X(cublasZgemm_v2, 32)           \
  X(cublasSgemm_v2_64, 64)        \
  X(cublasDgemm_v2_64, 64)        \
  X(cublasHgemm_64, 64)           \
  X(cublasCgemm_v2_64, 64)        \
  X(cublasZgemm_v2_64, 64)
#define INLINE_PROF_GEMM_BATCHED_CALLS(X) \
  X(cublasSgemmBatched, 32)               \
  X(cublasDgemmBatched, 32)               \
  X(cublasHgemmBatched, 32)               \
  X(cublasCgemmBatched, 32)               \
  X(cublasZgemmBatched, 32)               \
  X(cublasSgemmBatched_64, 64)            \
  X(cublasDgemmBatched_64, 64)            \
  X(cublasHgemmBatched_64, 64)            \
  X(cublasCgemmBatched_64, 64)            \
  X(cublasZgemmBatched_64, 64)
#define INLINE_PROF_GEMM_STRIDED_CALLS(X) \
  X(cublasSgemmStridedBatched, 32)        \
  X(cublasDgemmStridedBatched, 32)        \
  X(cublasHgemmStridedBatched, 32)        \
  X(cublasCgemmStridedBatched, 32)        \
  X(cublasZgemmStridedBatched, 32)        \
  X(cublasSgemmStridedBatched_64, 64)     \
  X(cublasDgemmStridedBatched_64, 64)     \
  X(cublasHgemmStridedBatched_64, 64)     \
  X(cublasCgemmStridedBatched_64, 64)     \
  X(cublasZgemmStridedBatched_64, 64)
#define INLINE_PROF_GEMM_EX_CALLS(X) \
  X(cublasGemmEx, 32)                \
  X(cublasGemmEx_64, 64)
#define INLINE_PROF_GEMM_BATCHED_EX_CALLS(X) \
  X(cublasGemmBatchedEx, 32)                 \
  X(cublasGemmBatchedEx_64, 64)
#define INLINE_PROF_GEMM_STRIDED_EX_CALLS(X) \
  X(cublasGemmStridedBatchedEx, 32)          \
  X(cublasGemmStridedBatchedEx_64, 64)

#define INLINE_PROF_CUBLAS_CALLS(X)    \
  INLINE_PROF_GEMM_CALLS(X)            \
  INLINE_PROF_GEMM_BATCHED_CALLS(X)    \
  INLINE_PROF_GEMM_STRIDED_CALLS(X)    \
  INLINE_PROF_GEMM_EX_CALLS(X)         \
  INLINE_PROF_GEMM_BATCHED_EX_CALLS(X) \
  INLINE_PROF_GEMM_STRIDED_EX_CALLS(X)

#define INLINE_PROF_CUBLASLT_CALLS(X) X(cublasLtMatmul, 64)

/* Convolutions, and what tracks the descriptors of execution plans. */
#define INLINE_PROF_CUDNN_CALLS(X)      \
  X(cudnnConvolutionForward, 64)        \
  X(cudnnConvolutionBackwardData, 64)   \
  X(cudnnConvolutionBackwardFilter, 64) \
  X(cudnnBackendExecute, 64)            \
  X(cudnnBackendSetAttribute, 64)       \
  X(cudnnBackendGetAttribute, 64)       \
  X(cudnnBackendDestroyDescriptor, 64)

/* Calls that launch, and those that define communicators and groups. */
#define INLINE_PROF_NCCL_CALLS(X) \
  X(ncclAllReduce, 64)            \
  X(ncclAllGather, 64)            \
  X(ncclReduceScatter, 64)        \
  X(ncclBroadcast, 64)            \
  X(ncclBcast, 64)                \
  X(ncclReduce, 64)               \
  X(ncclAlltoAll, 64)             \
  X(ncclGather, 64)               \
  X(ncclScatter, 64)              \
  X(ncclSend, 64)                 \
  X(ncclRecv, 64)                 \
  X(ncclGroupStart, 64)           \
  X(ncclGroupEnd, 64)             \
  X(ncclCommInitRank, 64)         \
  X(ncclCommInitRankConfig, 64)   \
  X(ncclCommInitRankScalable, 64) \
  X(ncclCommInitAll, 64)          \
  X(ncclCommSplit, 64)            \
  X(ncclCommDestroy, 64)          \
  X(ncclCommAbort, 64)

#define INLINE_PROF_CALLS(X)    \
  INLINE_PROF_CUBLAS_CALLS(X)   \
  INLINE_PROF_CUBLASLT_CALLS(X) \
  INLINE_PROF_CUDNN_CALLS(X)    \
  INLINE_PROF_NCCL_CALLS(X)

#endif
