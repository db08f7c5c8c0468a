/* The wrapped functions of cuBLAS, cuBLASLt, cuDNN and NCCL: the one list of their names.
 *
 * Macros only, for C++ (call_names.hpp, library_calls.cpp, and *_calls.cpp, which have the wrappers
 * and the types named here) and for the assembly that exports them (call_exports.S).  The names are
 * those of the libraries' symbols: cublas_v2.h's cublasSgemm is cublasSgemm_v2. */
#ifndef INLINE_PROF_LIBRARIES_CALL_LIST_H
#define INLINE_PROF_LIBRARIES_CALL_LIST_H

/* X(name, what the wrapper does, the signature) */
#define INLINE_PROF_CUBLAS_CALLS(X)                                           \
  X(cublasSgemm_v2, Gemms<kPlain>, Gemm<int>)                                 \
  X(cublasDgemm_v2, Gemms<kPlain>, Gemm<int>)                                 \
  X(cublasHgemm, Gemms<kPlain>, Gemm<int>)                                    \
  X(cublasCgemm_v2, Gemms<kPlain>, Gemm<int>)                                 \
  X(cublasZgemm_v2, Gemms<kPlain>, Gemm<int>)                                 \
  X(cublasSgemm_v2_64, Gemms<kPlain>, Gemm<std::int64_t>)                     \
  X(cublasDgemm_v2_64, Gemms<kPlain>, Gemm<std::int64_t>)                     \
  X(cublasHgemm_64, Gemms<kPlain>, Gemm<std::int64_t>)                        \
  X(cublasCgemm_v2_64, Gemms<kPlain>, Gemm<std::int64_t>)                     \
  X(cublasZgemm_v2_64, Gemms<kPlain>, Gemm<std::int64_t>)                     \
  X(cublasSgemmBatched, Gemms<kBatched>, GemmBatched<int>)                    \
  X(cublasDgemmBatched, Gemms<kBatched>, GemmBatched<int>)                    \
  X(cublasHgemmBatched, Gemms<kBatched>, GemmBatched<int>)                    \
  X(cublasCgemmBatched, Gemms<kBatched>, GemmBatched<int>)                    \
  X(cublasZgemmBatched, Gemms<kBatched>, GemmBatched<int>)                    \
  X(cublasSgemmBatched_64, Gemms<kBatched>, GemmBatched<std::int64_t>)        \
  X(cublasDgemmBatched_64, Gemms<kBatched>, GemmBatched<std::int64_t>)        \
  X(cublasHgemmBatched_64, Gemms<kBatched>, GemmBatched<std::int64_t>)        \
  X(cublasCgemmBatched_64, Gemms<kBatched>, GemmBatched<std::int64_t>)        \
  X(cublasZgemmBatched_64, Gemms<kBatched>, GemmBatched<std::int64_t>)        \
  X(cublasSgemmStridedBatched, Gemms<kStrided>, GemmStrided<int>)             \
  X(cublasDgemmStridedBatched, Gemms<kStrided>, GemmStrided<int>)             \
  X(cublasHgemmStridedBatched, Gemms<kStrided>, GemmStrided<int>)             \
  X(cublasCgemmStridedBatched, Gemms<kStrided>, GemmStrided<int>)             \
  X(cublasZgemmStridedBatched, Gemms<kStrided>, GemmStrided<int>)             \
  X(cublasSgemmStridedBatched_64, Gemms<kStrided>, GemmStrided<std::int64_t>) \
  X(cublasDgemmStridedBatched_64, Gemms<kStrided>, GemmStrided<std::int64_t>) \
  X(cublasHgemmStridedBatched_64, Gemms<kStrided>, GemmStrided<std::int64_t>) \
  X(cublasCgemmStridedBatched_64, Gemms<kStrided>, GemmStrided<std::int64_t>) \
  X(cublasZgemmStridedBatched_64, Gemms<kStrided>, GemmStrided<std::int64_t>) \
  X(cublasGemmEx, Gemms<kEx>, GemmEx<int>)                                    \
  X(cublasGemmEx_64, Gemms<kEx>, GemmEx<std::int64_t>)                        \
  X(cublasGemmBatchedEx, Gemms<kBatchedEx>, GemmBatchedEx<int>)               \
  X(cublasGemmBatchedEx_64, Gemms<kBatchedEx>, GemmBatchedEx<std::int64_t>)   \
  X(cublasGemmStridedBatchedEx, Gemms<kStridedEx>, GemmStridedEx<int>)        \
  X(cublasGemmStridedBatchedEx_64, Gemms<kStridedEx>, GemmStridedEx<std::int64_t>)

#define INLINE_PROF_CUBLASLT_CALLS(X) X(cublasLtMatmul, DescribedCall<SaidByMatmul>, Matmul)

/* Convolutions, and what tracks the descriptors of execution plans. */
#define INLINE_PROF_CUDNN_CALLS(X)                                                        \
  X(cudnnConvolutionForward, DescribedCall<SaidByConvolution<kForward>>, cudnn::Convolve) \
  X(cudnnConvolutionBackwardData, DescribedCall<SaidByConvolution<kBackwardData>>,        \
    cudnn::Convolve)                                                                      \
  X(cudnnConvolutionBackwardFilter, DescribedCall<SaidByConvolution<kBackwardFilter>>,    \
    cudnn::Convolve)                                                                      \
  X(cudnnBackendExecute, DescribedCall<SaidByExecute>, cudnn::BackendExecute)             \
  X(cudnnBackendSetAttribute, SetAttribute, cudnn::BackendSet)                            \
  X(cudnnBackendGetAttribute, BackendGetAttribute, cudnn::BackendGet)                     \
  X(cudnnBackendDestroyDescriptor, DestroyDescriptor, cudnn::BackendDestroy)

/* Calls that launch, and those that define communicators and groups. */
#define INLINE_PROF_NCCL_CALLS(X)                                                    \
  X(ncclAllReduce, Collective<SaidBy<kAllReduce>>, nccl::AllReduce)                  \
  X(ncclAllGather, Collective<SaidBy<kAllGather>>, nccl::AllGather)                  \
  X(ncclReduceScatter, Collective<SaidBy<kReduceScatter>>, nccl::ReduceScatter)      \
  X(ncclBroadcast, Collective<SaidBy<kBroadcast>>, nccl::Broadcast)                  \
  X(ncclBcast, Collective<SaidBy<kBroadcast>>, nccl::Bcast)                          \
  X(ncclReduce, Collective<SaidBy<kReduce>>, nccl::Reduce)                           \
  X(ncclAlltoAll, Collective<SaidBy<kAlltoAll>>, nccl::AlltoAll)                     \
  X(ncclGather, Collective<SaidBy<kGather>>, nccl::Gather)                           \
  X(ncclScatter, Collective<SaidBy<kScatter>>, nccl::Scatter)                        \
  X(ncclSend, Collective<SaidBy<kSend>>, nccl::Send)                                 \
  X(ncclRecv, Collective<SaidBy<kRecv>>, nccl::Recv)                                 \
  X(ncclGroupStart, GroupStart, nccl::GroupStart)                                    \
  X(ncclGroupEnd, GroupEnd, nccl::GroupEnd)                                          \
  X(ncclCommInitRank, Noticed<InitRank>, nccl::CommInitRank)                         \
  X(ncclCommInitRankConfig, Noticed<InitRank>, nccl::CommInitRankConfig)             \
  X(ncclCommInitRankScalable, Noticed<InitRankScalable>, nccl::CommInitRankScalable) \
  X(ncclCommInitAll, Noticed<InitAll>, nccl::CommInitAll)                            \
  X(ncclCommSplit, Noticed<Split>, nccl::CommSplit)                                  \
  X(ncclCommDestroy, Noticed<Ended>, nccl::CommDestroy)                              \
  X(ncclCommAbort, Noticed<Ended>, nccl::CommAbort)

#define INLINE_PROF_CALLS(X)    \
  INLINE_PROF_CUBLAS_CALLS(X)   \
  INLINE_PROF_CUBLASLT_CALLS(X) \
  INLINE_PROF_CUDNN_CALLS(X)    \
  INLINE_PROF_NCCL_CALLS(X)

#endif
