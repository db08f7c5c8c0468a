// What every exported runtime function does around its own work.
#pragma once

#include "common/entry.hpp"
#include "runtime/driver_functions.hpp"
#include "runtime/vendor_runtime.hpp"

namespace inline_prof::simgpu {

class RuntimeEntry : public Entry {
 public:
  explicit RuntimeEntry(const char* function) : Entry(function, cudaErrorLaunchFailure) {}
};

// The codes that both APIs have are equal by the vendor's definition (driver_types.h, cuda.h).
static_assert(int{cudaErrorInvalidValue} == int{CUDA_ERROR_INVALID_VALUE});
static_assert(int{cudaErrorInvalidResourceHandle} == int{CUDA_ERROR_INVALID_HANDLE});
static_assert(int{cudaErrorNotReady} == int{CUDA_ERROR_NOT_READY});
static_assert(int{cudaErrorNotSupported} == int{CUDA_ERROR_NOT_SUPPORTED});
static_assert(int{cudaErrorCapturedEvent} == int{CUDA_ERROR_CAPTURED_EVENT});

// The error that cudaGetLastError will return to this thread.
[[nodiscard]] cudaError_t& last_error();

// Finds the driver and calls cuInit, once.  Null if that failed; the code is in `error`.
[[nodiscard]] const DriverFunctions* initialised_driver(cudaError_t& error);

// Makes a context current if the thread has none: the primary context of device 0, or of the device
// that cudaSetDevice chose (CUDA Runtime API 13.0, "Interactions with the CUDA Driver API").
[[nodiscard]] CUresult use_device(const DriverFunctions& driver);
// The same for a device of the caller's choice, whatever is current.
[[nodiscard]] CUresult use_device(const DriverFunctions& driver, int ordinal);

enum class Needs { kDriver, kDevice };

// `body(driver)` returns a CUresult or a cudaError_t.
template <typename Body>
cudaError_t call(const RuntimeEntry& entry, Needs needs, Body&& body) {
  cudaError_t result = cudaSuccess;
  if (const int injected = entry.begin(); injected != 0) {
    result = static_cast<cudaError_t>(injected);
  } else if (const auto* driver = initialised_driver(result); driver != nullptr) {
    if (needs == Needs::kDevice) result = static_cast<cudaError_t>(use_device(*driver));
    if (result == cudaSuccess) result = static_cast<cudaError_t>(body(*driver));
  }
  if (result != cudaSuccess) last_error() = result;
  return result;
}

}  // namespace inline_prof::simgpu
