#include "gpu.hpp"

#include <dlfcn.h>
#include <stdexcept>

namespace allreduce {
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

void throw_error(ncclResult_t status, const char* call, const char* file, int line) {
  throw error_at(file, line, call, ncclGetErrorString(status));
}

Gpu::Gpu(const Place& place, const ncclUniqueId& id) {
  int devices = 0;
  ALLREDUCE_CHECK(cudaGetDeviceCount(&devices));
  device_ = place.local_rank % devices;  // NCCL itself refuses two ranks on one real device
  ALLREDUCE_CHECK(cudaSetDevice(device_));
  cudaDeviceProp properties{};
  ALLREDUCE_CHECK(cudaGetDeviceProperties(&properties, device_));
  name_ = properties.name;
  ALLREDUCE_CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
  ALLREDUCE_CHECK(cudaStreamCreateWithFlags(&communication_, cudaStreamNonBlocking));
  ALLREDUCE_CHECK(cublasCreate(&cublas_));
  ALLREDUCE_CHECK(cublasSetStream(cublas_, compute_));
  ALLREDUCE_CHECK(ncclCommInitRank(&communicator_, place.world_size, id, place.rank));
}

Gpu::~Gpu() {
  static_cast<void>(cudaDeviceSynchronize());
  static_cast<void>(ncclCommDestroy(communicator_));
  static_cast<void>(cublasDestroy(cublas_));
  static_cast<void>(cudaStreamDestroy(communication_));
  static_cast<void>(cudaStreamDestroy(compute_));
}

bool Gpu::is_simulated() const {
  // The runtime has loaded the driver library by now; the simulated one has a function of its own.
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  const bool found = dlsym(driver, "simgpu_launch_count") != nullptr;
  dlclose(driver);
  return found;
}

void Gpu::multiply(bool transpose_a, bool transpose_b, int m, int n, int k, const __half* a,
                   const __half* b, __half* c) const {
  // cuBLAS is column-major: it sees the transposed matrices, and C^T = B^T A^T.
  const float one = 1.0F;
  const float zero = 0.0F;
  ALLREDUCE_CHECK(cublasGemmEx(cublas_, transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                               transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, b,
                               CUDA_R_16F, transpose_b ? k : n, a, CUDA_R_16F, transpose_a ? m : k,
                               &zero, c, CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

}  // namespace allreduce
