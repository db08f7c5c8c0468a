// An application that launches through cuBLAS only; see launch_census.cu.
//
//   launch_census_cublas gemm|lt
#include "gpu_check.hpp"

#include <inline_prof/profile.hpp>

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

namespace {

using inline_prof::gpu_test::check;

constexpr int kIterations = 25;
// From a matrix-vector shape to one that fills the GPU: cuBLAS picks other kernels, and split-K
// adds a second launch.
constexpr int kSizes[] = {1, 64, 512, 2048};
constexpr int kLargest = 2048;

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", what, cublasGetStatusString(status));
  std::exit(1);
}

struct Matrices {
  __half* a = nullptr;
  __half* b = nullptr;
  __half* c = nullptr;
};

Matrices make_matrices() {
  Matrices matrices;
  const std::size_t bytes = sizeof(__half) * kLargest * kLargest;
  for (__half** matrix : {&matrices.a, &matrices.b, &matrices.c}) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "cudaMalloc");
    check(cudaMemset(memory, 0, bytes), "cudaMemset");
    *matrix = static_cast<__half*>(memory);
  }
  return matrices;
}

void run_gemm(cudaStream_t stream) {
  const Matrices matrices = make_matrices();
  cublasHandle_t handle = nullptr;
  check_blas(cublasCreate(&handle), "cublasCreate");
  check_blas(cublasSetStream(handle, stream), "cublasSetStream");
  const float one = 1.0F;
  const float zero = 0.0F;
  for (int i = 0; i < kIterations; ++i) {
    PROFILE_ITERATION();
    for (const int n : kSizes) {
      check_blas(
          cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, kLargest, n, kLargest, &one, matrices.a,
                       CUDA_R_16F, kLargest, matrices.b, CUDA_R_16F, kLargest, &zero, matrices.c,
                       CUDA_R_16F, kLargest, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
    }
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  check_blas(cublasDestroy(handle), "cublasDestroy");
}

cublasLtMatrixLayout_t make_layout(int rows, int columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_blas(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16F, static_cast<std::uint64_t>(rows),
                                        static_cast<std::uint64_t>(columns), kLargest),
             "cublasLtMatrixLayoutCreate");
  return layout;
}

void run_lt(cudaStream_t stream) {
  const Matrices matrices = make_matrices();
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  check_blas(cublasLtCreate(&handle), "cublasLtCreate");
  check_blas(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
             "cublasLtMatmulDescCreate");
  const float one = 1.0F;
  const float zero = 0.0F;
  const cublasLtMatrixLayout_t a = make_layout(kLargest, kLargest);
  for (int i = 0; i < kIterations; ++i) {
    PROFILE_ITERATION();
    for (const int n : kSizes) {
      const cublasLtMatrixLayout_t b = make_layout(kLargest, n);
      const cublasLtMatrixLayout_t c = make_layout(kLargest, n);
      // No algorithm given: cublasLt asks its own heuristic, without a workspace.
      check_blas(cublasLtMatmul(handle, operation, &one, matrices.a, a, matrices.b, b, &zero,
                                matrices.c, c, matrices.c, c, nullptr, nullptr, 0, stream),
                 "cublasLtMatmul");
      check_blas(cublasLtMatrixLayoutDestroy(b), "cublasLtMatrixLayoutDestroy");
      check_blas(cublasLtMatrixLayoutDestroy(c), "cublasLtMatrixLayoutDestroy");
    }
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  check_blas(cublasLtMatrixLayoutDestroy(a), "cublasLtMatrixLayoutDestroy");
  check_blas(cublasLtMatmulDescDestroy(operation), "cublasLtMatmulDescDestroy");
  check_blas(cublasLtDestroy(handle), "cublasLtDestroy");
}

}  // namespace

int main(int argc, char** argv) {
  inline_prof::gpu_test::skip_without_gpu();
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  if (argc == 2 && std::strcmp(argv[1], "gemm") == 0) {
    run_gemm(stream);
  } else if (argc == 2 && std::strcmp(argv[1], "lt") == 0) {
    run_lt(stream);
  } else {
    std::fprintf(stderr, "usage: launch_census_cublas gemm|lt\n");
    return 2;
  }
  return 0;
}
