// The device, its two streams, cuBLAS and NCCL on it; memory; and what happens when a call fails.
#pragma once

#include "ranks.hpp"

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <string>

namespace allreduce {

// Throw std::runtime_error("FILE:LINE: CALL: what the library says").
[[noreturn]] void throw_error(cudaError_t status, const char* call, const char* file, int line);
[[noreturn]] void throw_error(cublasStatus_t status, const char* call, const char* file, int line);
[[noreturn]] void throw_error(ncclResult_t status, const char* call, const char* file, int line);

}  // namespace allreduce

// Every call of the CUDA runtime, of cuBLAS and of NCCL goes through here; 0 is success in all of
// them.
#define ALLREDUCE_CHECK(call)                                                \
  do {                                                                       \
    const auto allreduce_status = (call);                                    \
    if (static_cast<int>(allreduce_status) != 0) {                           \
      ::allreduce::throw_error(allreduce_status, #call, __FILE__, __LINE__); \
    }                                                                        \
  } while (0)

namespace allreduce {

// `count` uninitialised elements on the current device.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    ALLREDUCE_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)));
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

// An event that orders streams and measures nothing.
class Event {
 public:
  Event() { ALLREDUCE_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }
  Event(Event&& other) noexcept : event_(other.event_) { other.event_ = nullptr; }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event& operator=(Event&&) = delete;

  // What `later` gets from now on begins after what `earlier` holds now.
  void order(cudaStream_t earlier, cudaStream_t later) const {
    ALLREDUCE_CHECK(cudaEventRecord(event_, earlier));
    ALLREDUCE_CHECK(cudaStreamWaitEvent(later, event_, 0));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// A rank's device.  Work is computed on one stream; gradients travel on the other.
class Gpu {
 public:
  Gpu(const Place& place, const ncclUniqueId& id);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  cudaStream_t compute() const { return compute_; }
  cudaStream_t communication() const { return communication_; }
  ncclComm_t communicator() const { return communicator_; }
  int device() const { return device_; }
  const std::string& name() const { return name_; }
  // The project's simulated GPU runs no kernels: results are not computed there.
  bool is_simulated() const;

  // C[m,n] = A[m,k] * B[k,n]: row-major f16, sums in f32, on the stream of computation.
  // `transpose_a`: A lies in memory as [k,m]; `transpose_b`: B as [n,k].
  void multiply(bool transpose_a, bool transpose_b, int m, int n, int k, const __half* a,
                const __half* b, __half* c) const;

 private:
  int device_ = 0;
  std::string name_;
  cudaStream_t compute_ = nullptr;
  cudaStream_t communication_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace allreduce
