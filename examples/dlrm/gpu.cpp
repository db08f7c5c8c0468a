#include "gpu.hpp"

#include <dlfcn.h>
#include <stdexcept>

namespace dlrm {
namespace {

std::runtime_error error_at(const char* file, int line, const char* call, const char* what) {
  return std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                            what);
}

}  // namespace

void throw_error(cudaError_t status, const char* call, const char* file, int line) {
  throw error_at(file, line, call, cudaGetErrorString(status));
}

void throw_error(cublasStatus_t status, const char* call, const char* file, int line) {
  throw error_at(file, line, call, cublasGetStatusString(status));
}

Gpu::Gpu(int device_id) {
  DLRM_CHECK(cudaSetDevice(device_id));
  cudaDeviceProp properties{};
  DLRM_CHECK(cudaGetDeviceProperties(&properties, device_id));
  name_ = properties.name;
  DLRM_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  DLRM_CHECK(cublasCreate(&cublas_));
  DLRM_CHECK(cublasSetStream(cublas_, stream_));
}

Gpu::~Gpu() {
  static_cast<void>(cublasDestroy(cublas_));
  static_cast<void>(cudaStreamDestroy(stream_));
}

bool Gpu::is_simulated() const {
  // The runtime has loaded the driver library by now; the simulated one has a function of its own.
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  const bool found = dlsym(driver, "simgpu_launch_count") != nullptr;
  dlclose(driver);
  return found;
}

void Gpu::copy(const void* from, void* to, std::size_t bytes, cudaMemcpyKind kind) const {
  DLRM_CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream_));
  DLRM_CHECK(cudaStreamSynchronize(stream_));
}

void multiply(const Gpu& gpu, bool transpose_a, bool transpose_b, int m, int n, int k,
              const __half* a, const __half* b, __half* c) {
  // cuBLAS is column-major: it sees the transposed matrices, and C^T = B^T A^T.
  const float one = 1.0F;
  const float zero = 0.0F;
  DLRM_CHECK(cublasGemmEx(gpu.cublas(), transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                          transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, b, CUDA_R_16F,
                          transpose_b ? k : n, a, CUDA_R_16F, transpose_a ? m : k, &zero, c,
                          CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

}  // namespace dlrm
