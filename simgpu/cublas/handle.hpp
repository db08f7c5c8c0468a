// A cuBLAS handle, and the door of each of its functions.
#pragma once

// First, so that what the header declares is exported (see driver/vendor_cuda.hpp).
#pragma GCC visibility push(default)
#include <cublas_v2.h>
#include <cuda.h>
#pragma GCC visibility pop

#include "common/entry.hpp"
#include "common/exported.hpp"
#include "math/blas_status.hpp"
#include "math/handle.hpp"

namespace simgpu {

class BlasEntry : public Entry {
 public:
  explicit BlasEntry(const char* function) : Entry(function, CUBLAS_STATUS_EXECUTION_FAILED) {}
};

}  // namespace simgpu

struct cublasContext : simgpu::MathHandle {
  using MathHandle::MathHandle;

  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
};

namespace simgpu {

// Log, injected failure, null handle; then `body(cublasContext&)`.
template <typename Body>
cublasStatus_t with_handle(const BlasEntry& entry, cublasHandle_t handle, Body&& body) {
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<cublasStatus_t>(injected);
  }
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return body(*handle);
}

}  // namespace simgpu

// A function with 32-bit sizes, and the same with 64-bit ones.
#define SIMGPU_BOTH_INDICES(define, name, ...) \
  define(name __VA_OPT__(, ) __VA_ARGS__) define(name##_64 __VA_OPT__(, ) __VA_ARGS__)

// SIMGPU_HANDLE_CALL(symbol, names of the parameters behind the handle...) { body }, which has the
// context `h`.
#define SIMGPU_HANDLE_CALL(symbol, ...)                                                  \
  SIMGPU_EXPORTED_WITH(cublasContext, h, cublasStatus_t, BlasEntry, with_handle, symbol, \
                       __VA_ARGS__)
