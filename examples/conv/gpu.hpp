// The device, its stream and its cuDNN handle; memory on it; and what happens when a call fails.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cudnn.h>
#include <string>

namespace conv {

// Throw std::runtime_error("FILE:LINE: CALL: what the library says").
[[noreturn]] void throw_error(cudaError_t status, const char* call, const char* file, int line);
[[noreturn]] void throw_error(cudnnStatus_t status, const char* call, const char* file, int line);

inline bool is_error(cudaError_t status) {
  return status != cudaSuccess;
}
inline bool is_error(cudnnStatus_t status) {
  return status != CUDNN_STATUS_SUCCESS;
}

}  // namespace conv

// Every call of the CUDA runtime and of cuDNN goes through here.
#define CONV_CHECK(call)                                           \
  do {                                                             \
    const auto conv_status = (call);                               \
    if (::conv::is_error(conv_status)) {                           \
      ::conv::throw_error(conv_status, #call, __FILE__, __LINE__); \
    }                                                              \
  } while (0)

namespace conv {

// `count` uninitialised elements on the current device.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    CONV_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)));
  }
  ~DeviceArray() { static_cast<void>(cudaFree(data_)); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};
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
  // The project's simulated GPU runs no kernels: results are not computed there.
  bool is_simulated() const;

  // Waits for everything on the stream.
  void download(const void* from, void* to, std::size_t bytes) const;

 private:
  std::string name_;
  cudaStream_t stream_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
};

}  // namespace conv
