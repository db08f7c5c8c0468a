// A cuBLASLt handle, and the door of each of its functions.
#pragma once

#include "common/entry.hpp"
#include "common/exported.hpp"
#include "cublaslt/descriptors.hpp"
#include "math/blas_status.hpp"
#include "math/handle.hpp"

namespace simgpu {

class LtEntry : public Entry {
 public:
  explicit LtEntry(const char* function) : Entry(function, CUBLAS_STATUS_EXECUTION_FAILED) {}
};

// Log and injected failure; then `body()`, which throws LtFailure (descriptors.hpp).
template <typename Body>
cublasStatus_t answer(const LtEntry& entry, Body&& body) {
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<cublasStatus_t>(injected);
  }
  try {
    body();
  } catch (const LtFailure& failure) {
    return failure.status;
  }
  return CUBLAS_STATUS_SUCCESS;
}

// SIMGPU_CALL(symbol, names of the parameters...) { body }
#define SIMGPU_CALL(symbol, ...) \
  SIMGPU_EXPORTED(cublasStatus_t, void, LtEntry, answer, symbol, __VA_ARGS__)

}  // namespace simgpu

struct cublasLtContext : simgpu::MathHandle {
  using MathHandle::MathHandle;
};

namespace simgpu {

inline void check_handle(cublasLtHandle_t handle) {
  fail_if(handle == nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
}

}  // namespace simgpu
