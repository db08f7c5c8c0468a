// A cuDNN handle, and the door of each of its functions.
#pragma once

#include "common/entry.hpp"
#include "common/exported.hpp"
#include "cudnn/vendor_cudnn.hpp"
#include "math/handle.hpp"

namespace simgpu {

class DnnEntry : public Entry {
 public:
  explicit DnnEntry(const char* function) : Entry(function, CUDNN_STATUS_EXECUTION_FAILED) {}
};

// Log and injected failure; then `body()`.
template <typename Body>
cudnnStatus_t answer(const DnnEntry& entry, Body&& body) {
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<cudnnStatus_t>(injected);
  }
  return body();
}

// SIMGPU_CALL(symbol, names of the parameters...) { body }
#define SIMGPU_CALL(symbol, ...) \
  SIMGPU_EXPORTED(cudnnStatus_t, DnnEntry, answer, symbol, __VA_ARGS__)

// Whether none of the pointers is null.
template <typename... Pointers>
bool all_given(const Pointers*... pointers) {
  return (... && (pointers != nullptr));
}

}  // namespace simgpu

struct cudnnContext : simgpu::MathHandle {
  using MathHandle::MathHandle;

  cudaStream_t stream = nullptr;

  [[nodiscard]] cudnnStatus_t run(const std::vector<simgpu::KernelCall>& calls);
};
