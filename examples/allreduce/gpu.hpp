// The device, its two streams with the events that order them, cuBLAS and NCCL.
#pragma once

#include "device_array.hpp"
#include "matrix_product.hpp"
#include "ranks.hpp"

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <string>

namespace example {

inline const char* error_text(ncclResult_t status) {
  return ncclGetErrorString(status);
}

}  // namespace example

namespace allreduce {

using example::DeviceArray;

// An event that orders streams and measures nothing.
class Event {
 public:
  Event() { EXAMPLE_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }
  Event(Event&& other) noexcept : event_(other.event_) { other.event_ = nullptr; }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event& operator=(Event&&) = delete;

  // Lets work given to `later` from now on begin after the work that `earlier` holds now.
  void order(cudaStream_t earlier, cudaStream_t later) const {
    EXAMPLE_CHECK(cudaEventRecord(event_, earlier));
    EXAMPLE_CHECK(cudaStreamWaitEvent(later, event_, 0));
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
  cublasHandle_t cublas() const { return cublas_; }

 private:
  int device_ = 0;
  std::string name_;
  cudaStream_t compute_ = nullptr;
  cudaStream_t communication_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace allreduce
