// Errors: the last one of each thread, names and texts.
#include "runtime/call.hpp"

#include <utility>

using namespace simgpu;

namespace {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};

#define SIMGPU_ERROR(code, text) \
  ErrorText {                    \
    code, #code, text            \
  }

constexpr ErrorText kErrors[] = {
    SIMGPU_ERROR(cudaSuccess, "no error"),
    SIMGPU_ERROR(cudaErrorInvalidValue, "invalid argument"),
    SIMGPU_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    SIMGPU_ERROR(cudaErrorInitializationError, "initialization error"),
    SIMGPU_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    SIMGPU_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    SIMGPU_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    SIMGPU_ERROR(cudaErrorInsufficientDriver,
                 "CUDA driver version is insufficient for CUDA runtime version"),
    SIMGPU_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    SIMGPU_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    SIMGPU_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    SIMGPU_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    SIMGPU_ERROR(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    SIMGPU_ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
    SIMGPU_ERROR(cudaErrorNoKernelImageForDevice,
                 "no kernel image is available for execution on the device"),
    SIMGPU_ERROR(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    SIMGPU_ERROR(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    SIMGPU_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    SIMGPU_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    SIMGPU_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    SIMGPU_ERROR(cudaErrorNotReady, "device not ready"),
    SIMGPU_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    SIMGPU_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    SIMGPU_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    SIMGPU_ERROR(cudaErrorContextIsDestroyed, "context is destroyed"),
    SIMGPU_ERROR(cudaErrorHostMemoryAlreadyRegistered,
                 "part or all of the requested memory range is already mapped"),
    SIMGPU_ERROR(cudaErrorHostMemoryNotRegistered,
                 "pointer does not correspond to a registered memory region"),
    SIMGPU_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    SIMGPU_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    SIMGPU_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    SIMGPU_ERROR(cudaErrorNotSupported, "operation not supported"),
    SIMGPU_ERROR(cudaErrorStreamCaptureUnsupported,
                 "operation not permitted when stream is capturing"),
    SIMGPU_ERROR(cudaErrorStreamCaptureInvalidated,
                 "operation failed due to a previous error during capture"),
    SIMGPU_ERROR(cudaErrorStreamCaptureMerge,
                 "operation would result in a merge of separate capture sequences"),
    SIMGPU_ERROR(cudaErrorStreamCaptureUnmatched,
                 "capture was not ended in the same stream as it began"),
    SIMGPU_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    SIMGPU_ERROR(cudaErrorStreamCaptureIsolation,
                 "dependency created on uncaptured work in another stream"),
    SIMGPU_ERROR(cudaErrorStreamCaptureImplicit,
                 "operation would make the legacy stream depend on a capturing blocking stream"),
    SIMGPU_ERROR(cudaErrorCapturedEvent,
                 "operation not permitted on an event last recorded in a capturing stream"),
    SIMGPU_ERROR(cudaErrorStreamCaptureWrongThread,
                 "attempt to terminate a thread-local capture sequence from another thread"),
    SIMGPU_ERROR(cudaErrorGraphExecUpdateFailure,
                 "the graph update was not performed because it included changes which violated "
                 "constraints"),
    SIMGPU_ERROR(cudaErrorUnknown, "unknown error"),
};

#undef SIMGPU_ERROR

const ErrorText* find(cudaError_t code) {
  for (const auto& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

// cuda_runtime_api.h, cudaGetErrorName: "If the error code is not recognized, "unrecognized error
// code" is returned."
constexpr const char* kUnknown = "unrecognized error code";

}  // namespace

cudaError_t cudaGetLastError() {
  return std::exchange(last_error(), cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  return last_error();
}

const char* cudaGetErrorName(cudaError_t code) {
  const ErrorText* error = find(code);
  return error != nullptr ? error->name : kUnknown;
}

const char* cudaGetErrorString(cudaError_t code) {
  const ErrorText* error = find(code);
  return error != nullptr ? error->text : kUnknown;
}
