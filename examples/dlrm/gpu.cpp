#include "gpu.hpp"

#include "device.hpp"

namespace dlrm {

Gpu::Gpu(int device_id) : name_(example::select_device(device_id)) {
  EXAMPLE_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  EXAMPLE_CHECK(cublasCreate(&cublas_));
  EXAMPLE_CHECK(cublasSetStream(cublas_, stream_));
}

Gpu::~Gpu() {
  static_cast<void>(cublasDestroy(cublas_));
  static_cast<void>(cudaStreamDestroy(stream_));
}

}  // namespace dlrm
