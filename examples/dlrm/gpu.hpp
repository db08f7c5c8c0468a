// The device, its stream and its cuBLAS handle; memory on it; and what happens when a call fails.
#pragma once

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <vector>

namespace dlrm {

// Throw std::runtime_error("FILE:LINE: CALL: what the library says").
[[noreturn]] void throw_error(cudaError_t status, const char* call, const char* file, int line);
[[noreturn]] void throw_error(cublasStatus_t status, const char* call, const char* file, int line);

inline bool is_error(cudaError_t status) {
  return status != cudaSuccess;
}
inline bool is_error(cublasStatus_t status) {
  return status != CUBLAS_STATUS_SUCCESS;
}

}  // namespace dlrm

// Every call of the CUDA runtime and of cuBLAS goes through here.
#define DLRM_CHECK(call)                                           \
  do {                                                             \
    const auto dlrm_status = (call);                               \
    if (::dlrm::is_error(dlrm_status)) {                           \
      ::dlrm::throw_error(dlrm_status, #call, __FILE__, __LINE__); \
    }                                                              \
  } while (0)

namespace dlrm {

// `count` uninitialised elements on the current device.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    DLRM_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)));
  }
  ~DeviceArray() { static_cast<void>(cudaFree(data_)); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  DeviceArray(DeviceArray&& other) noexcept : data_(other.data_), count_(other.count_) {
    other.data_ = nullptr;
    other.count_ = 0;
  }
  DeviceArray& operator=(DeviceArray&&) = delete;

  T* data() const { return data_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

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
  // The project's simulated GPU runs no kernels: results are not computed there.
  bool is_simulated() const;

  // Waits for the copy.
  template <typename T>
  void upload(const std::vector<T>& from, T* to) const {
    copy(from.data(), to, from.size() * sizeof(T), cudaMemcpyHostToDevice);
  }
  // Waits for everything on the stream.
  void download(const void* from, void* to, std::size_t bytes) const {
    copy(from, to, bytes, cudaMemcpyDeviceToHost);
  }

 private:
  void copy(const void* from, void* to, std::size_t bytes, cudaMemcpyKind kind) const;

  std::string name_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
};

// C[m,n] = A[m,k] * B[k,n]: row-major f16, sums in f32.  `transpose_a`: A lies in memory as [k,m];
// `transpose_b`: B as [n,k].
void multiply(const Gpu& gpu, bool transpose_a, bool transpose_b, int m, int n, int k,
              const __half* a, const __half* b, __half* c);

}  // namespace dlrm
