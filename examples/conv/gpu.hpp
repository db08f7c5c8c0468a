// The device, its stream and its cuDNN handle.
#pragma once

#include "device_array.hpp"

#include <cuda_runtime.h>

#include <cudnn.h>
#include <string>

namespace example {

inline const char* error_text(cudnnStatus_t status) {
  return cudnnGetErrorString(status);
}

}  // namespace example

namespace conv {

using example::DeviceArray;
using Floats = DeviceArray<float>;

// One device and the stream on which everything happens.
class Gpu {
 public:
  explicit Gpu(int device_id);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  cudaStream_t stream() const { return stream_; }
  cudnnHandle_t cudnn() const { return cudnn_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  cudaStream_t stream_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
};

}  // namespace conv
