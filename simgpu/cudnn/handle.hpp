// A cuDNN handle, and the door of each of its functions.
#pragma once

#include "common/entry.hpp"
#include "common/exported.hpp"
#include "cudnn/vendor_cudnn.hpp"
#include "math/handle.hpp"

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace simgpu {

class DnnEntry : public Entry {
 public:
  explicit DnnEntry(const char* function) : Entry(function, CUDNN_STATUS_EXECUTION_FAILED) {}
};

// Thrown by the bodies of functions, which return nothing.
struct DnnFailure {
  cudnnStatus_t status;
};
inline void fail_if(bool is_bad, cudnnStatus_t status = CUDNN_STATUS_BAD_PARAM) {
  if (is_bad) throw DnnFailure{status};
}
inline void check(cudnnStatus_t status) {
  fail_if(status != CUDNN_STATUS_SUCCESS, status);
}
// Fails if one of the pointers is null.
template <typename... Pointers>
void require(const Pointers*... pointers) {
  fail_if((... || (pointers == nullptr)));
}

// Writes dimensions to places of the program, which must be as many.
inline void give(const std::vector<std::int64_t>& dims, std::initializer_list<int*> places) {
  fail_if(dims.size() != places.size());
  for (auto from = dims.begin(); int* const place : places) {
    require(place);
    *place = static_cast<int>(*from++);
  }
}

// Log and injected failure; then `body()`.
template <typename Body>
cudnnStatus_t answer(const DnnEntry& entry, Body&& body) {
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<cudnnStatus_t>(injected);
  }
  try {
    body();
  } catch (const DnnFailure& failure) {
    return failure.status;
  }
  return CUDNN_STATUS_SUCCESS;
}

// SIMGPU_CALL(symbol, names of the parameters...) { body }
#define SIMGPU_CALL(symbol, ...) \
  SIMGPU_EXPORTED(cudnnStatus_t, void, DnnEntry, answer, symbol, __VA_ARGS__)

// Returns whether none of the pointers is null.
template <typename... Pointers>
bool all_given(const Pointers*... pointers) {
  return (... && (pointers != nullptr));
}

}  // namespace simgpu

struct cudnnContext : simgpu::MathHandle {
  using MathHandle::MathHandle;

  cudaStream_t stream = nullptr;

  void run(const std::vector<simgpu::KernelCall>& calls);
};
