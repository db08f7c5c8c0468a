// Matrix products of the simulated cuBLAS.
#include "scenes.hpp"

#include <cublas_v2.h>

namespace {

void show(const char* what, cublasStatus_t status) {
  std::printf("%s %s\n", what, cublasGetStatusName(status));
}

}  // namespace

int main() {
  cublasHandle_t handle = nullptr;
  show("create", cublasCreate(&handle));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  show("stream", cublasSetStream(handle, stream));
  void* data = nullptr;
  CHECK(cudaMalloc(&data, std::size_t{1} << 30));
  const float one = 1;
  const float zero = 0;

  const auto product = [&](int m, int n, int k, int lda) {
    return cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &one, data, CUDA_R_16BF, lda,
                        data, CUDA_R_16BF, k, &zero, data, CUDA_R_16BF, m, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT);
  };
  show("large", product(4096, 4096, 4096, 4096));
  show("thin", product(8192, 8, 8192, 8192));
  show("short lda", product(4096, 4096, 4096, 4095));
  show("negative", product(-1, 1, 1, 1));
  show("nothing to do", product(4096, 0, 4096, 4096));
  auto* f32 = static_cast<float*>(data);
  show("sgemm", cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 256, 256, 256, &one, f32, 256, f32,
                            256, &zero, f32, 256));
  show("mixed", cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, data, CUDA_R_16F,
                             16, data, CUDA_R_16BF, 16, &zero, data, CUDA_R_16F, 16,
                             CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  // A first use inside a capture.
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  show("captured",
       cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, 64, 64, 64, &one, f32, 64, 4096,
                                 f32, 64, 4096, &zero, f32, 64, 4096, 8));
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  std::printf("%zu node\n", nodes);
  CHECK(cudaDeviceSynchronize());
  show("destroy", cublasDestroy(handle));
  return 0;
}
