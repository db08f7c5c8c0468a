// Every exported runtime function logs, fails and keeps the last error in the same way.
#pragma once

#include "common/entry.hpp"
#include "common/exported.hpp"
#include "runtime/driver_functions.hpp"
#include "runtime/vendor_runtime.hpp"

namespace simgpu {

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
// 1000 * major + 10 * minor.
[[nodiscard]] int runtime_version();

// Finds the driver and calls cuInit, once.  Null if that failed; the code is in `error`.
[[nodiscard]] const DriverFunctions* initialised_driver(cudaError_t& error);

// Makes a context current if the thread has none: the primary context of device 0, or of the device
// that cudaSetDevice chose (CUDA Runtime API 13.0, "Interactions with the CUDA Driver API").
[[nodiscard]] CUresult use_device(const DriverFunctions& driver);
// The same for a device of the caller's choice, whatever is current.
[[nodiscard]] CUresult use_device(const DriverFunctions& driver, int ordinal);

// A body's result: a code of either API.
struct Code {
  Code(CUresult code) : value(code) {}
  Code(cudaError_t code) : value(code) {}
  int value;
};

enum class Needs { kDriver, kDevice };

template <typename Body>
cudaError_t call(const RuntimeEntry& entry, Needs needs, Body&& body) {
  cudaError_t result = cudaSuccess;
  if (const int injected = entry.begin(); injected != 0) {
    result = static_cast<cudaError_t>(injected);
  } else if (const auto* driver = initialised_driver(result); driver != nullptr) {
    if (needs == Needs::kDevice) result = static_cast<cudaError_t>(use_device(*driver));
    if (result == cudaSuccess) result = static_cast<cudaError_t>(Code(body(*driver)).value);
  }
  if (result != cudaSuccess) last_error() = result;
  return result;
}

// `use(context)` with the primary context of `device`.
template <typename Use>
CUresult with_primary(const DriverFunctions& driver, int device, const Use& use) {
  CUcontext context = nullptr;
  const CUresult retained = driver.device_primary_ctx_retain(&context, device);
  if (retained != CUDA_SUCCESS) return retained;
  const CUresult result = use(context);
  driver.device_primary_ctx_release(device);
  return result;
}

}  // namespace simgpu

// SIMGPU_CALL(symbol, needs, names of the parameters...) { body }: defines the exported function;
// the body has the `driver` and returns its code.
#define SIMGPU_CALL(symbol, needs, ...)                                                   \
  static Code body_##symbol([[maybe_unused]] const DriverFunctions& driver __VA_OPT__(, ) \
                                SIMGPU_PARAMETERS(symbol, __VA_ARGS__));                  \
  cudaError_t symbol(SIMGPU_PARAMETERS(symbol, __VA_ARGS__)) {                            \
    static const RuntimeEntry entry{__func__};                                            \
    return call(entry, Needs::needs, [&](const DriverFunctions& driver) {                 \
      return body_##symbol(driver __VA_OPT__(, ) __VA_ARGS__);                            \
    });                                                                                   \
  }                                                                                       \
  static Code body_##symbol([[maybe_unused]] const DriverFunctions& driver __VA_OPT__(, ) \
                                SIMGPU_PARAMETERS(symbol, __VA_ARGS__))

// The same for `symbol` and `symbol_ptsz`: `which` says what a null stream means.
#define SIMGPU_STREAM_CALL(symbol, needs, ...) \
  SIMGPU_CALL_TWINS(symbol, symbol##_ptsz, needs, __VA_ARGS__)
// For functions that take no stream, and use the default stream: `symbol` and `symbol_ptds`.
#define SIMGPU_DEFAULT_STREAM_CALL(symbol, needs, ...) \
  SIMGPU_CALL_TWINS(symbol, symbol##_ptds, needs, __VA_ARGS__)
#define SIMGPU_CALL_TWINS(symbol, twin, needs, ...)                             \
  static Code body_##symbol(const DriverFunctions& driver, DefaultStream which, \
                            SIMGPU_PARAMETERS(symbol, __VA_ARGS__));            \
  cudaError_t symbol(SIMGPU_PARAMETERS(symbol, __VA_ARGS__)) {                  \
    static const RuntimeEntry entry{__func__};                                  \
    return call(entry, Needs::needs, [&](const DriverFunctions& driver) {       \
      return body_##symbol(driver, kLegacy, __VA_ARGS__);                       \
    });                                                                         \
  }                                                                             \
  cudaError_t twin(SIMGPU_PARAMETERS(symbol, __VA_ARGS__)) {                    \
    static const RuntimeEntry entry{__func__};                                  \
    return call(entry, Needs::needs, [&](const DriverFunctions& driver) {       \
      return body_##symbol(driver, kPerThread, __VA_ARGS__);                    \
    });                                                                         \
  }                                                                             \
  static Code body_##symbol(const DriverFunctions& driver, DefaultStream which, \
                            SIMGPU_PARAMETERS(symbol, __VA_ARGS__))

// SIMGPU_FORWARD(symbol, needs, member, names...): what the driver has under another name, with the
// same parameters.
#define SIMGPU_FORWARD(symbol, needs, member, ...)                                          \
  cudaError_t symbol(SIMGPU_PARAMETERS(symbol, __VA_ARGS__)) {                              \
    static const RuntimeEntry entry{__func__};                                              \
    return call(entry, Needs::needs,                                                        \
                [&](const DriverFunctions& driver) { return driver.member(__VA_ARGS__); }); \
  }
// The same for `symbol` and `symbol_ptsz`.
#define SIMGPU_STREAM_FORWARD(symbol, needs, member, ...)   \
  SIMGPU_FORWARD(symbol, needs, member.legacy, __VA_ARGS__) \
  SIMGPU_FORWARD(symbol##_ptsz, needs, member.per_thread, __VA_ARGS__)
