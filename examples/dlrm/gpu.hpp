// The device, its stream and its cuBLAS handle.
#pragma once

#include "device_array.hpp"
#include "matrix_product.hpp"

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <string>

namespace dlrm {

using example::DeviceArray;

// One device and the stream on which everything happens.
class Gpu {
 public:
  explicit Gpu(int device_id);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  cudaStream_t stream() const { return stream_; }
  cublasHandle_t cublas() const { return cublas_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
};

}  // namespace dlrm
