// Errors: the last one of each thread, names and texts.
#include "common/code_texts.hpp"
#include "runtime/call.hpp"

#include <utility>

using namespace simgpu;

namespace {

constexpr CodeText<cudaError_t> kErrors[] = {
    SIMGPU_CODE(cudaSuccess, "no error"),
    SIMGPU_CODE(cudaErrorInvalidValue, "invalid argument"),
    SIMGPU_CODE(cudaErrorMemoryAllocation, "out of memory"),
    SIMGPU_CODE(cudaErrorInitializationError, "initialization error"),
    SIMGPU_CODE(cudaErrorCudartUnloading, "driver shutting down"),
    SIMGPU_CODE(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    SIMGPU_CODE(cudaErrorInvalidSymbol, "invalid device symbol"),
    SIMGPU_CODE(cudaErrorInsufficientDriver,
                "CUDA driver version is insufficient for CUDA runtime version"),
    SIMGPU_CODE(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    SIMGPU_CODE(cudaErrorInvalidDeviceFunction, "invalid device function"),
    SIMGPU_CODE(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    SIMGPU_CODE(cudaErrorInvalidDevice, "invalid device ordinal"),
    SIMGPU_CODE(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    SIMGPU_CODE(cudaErrorDeviceUninitialized, "invalid device context"),
    SIMGPU_CODE(cudaErrorNoKernelImageForDevice,
                "no kernel image is available for execution on the device"),
    SIMGPU_CODE(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    SIMGPU_CODE(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    SIMGPU_CODE(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    SIMGPU_CODE(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    SIMGPU_CODE(cudaErrorSymbolNotFound, "named symbol not found"),
    SIMGPU_CODE(cudaErrorNotReady, "device not ready"),
    SIMGPU_CODE(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    SIMGPU_CODE(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    SIMGPU_CODE(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    SIMGPU_CODE(cudaErrorContextIsDestroyed, "context is destroyed"),
    SIMGPU_CODE(cudaErrorHostMemoryAlreadyRegistered,
                "part or all of the requested memory range is already mapped"),
    SIMGPU_CODE(cudaErrorHostMemoryNotRegistered,
                "pointer does not correspond to a registered memory region"),
    SIMGPU_CODE(cudaErrorLaunchFailure, "unspecified launch failure"),
    SIMGPU_CODE(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    SIMGPU_CODE(cudaErrorNotPermitted, "operation not permitted"),
    SIMGPU_CODE(cudaErrorNotSupported, "operation not supported"),
    SIMGPU_CODE(cudaErrorStreamCaptureUnsupported,
                "operation not permitted when stream is capturing"),
    SIMGPU_CODE(cudaErrorStreamCaptureInvalidated,
                "operation failed due to a previous error during capture"),
    SIMGPU_CODE(cudaErrorStreamCaptureMerge,
                "operation would result in a merge of separate capture sequences"),
    SIMGPU_CODE(cudaErrorStreamCaptureUnmatched,
                "capture was not ended in the same stream as it began"),
    SIMGPU_CODE(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    SIMGPU_CODE(cudaErrorStreamCaptureIsolation,
                "dependency created on uncaptured work in another stream"),
    SIMGPU_CODE(cudaErrorStreamCaptureImplicit,
                "operation would make the legacy stream depend on a capturing blocking stream"),
    SIMGPU_CODE(cudaErrorCapturedEvent,
                "operation not permitted on an event last recorded in a capturing stream"),
    SIMGPU_CODE(cudaErrorStreamCaptureWrongThread,
                "attempt to terminate a thread-local capture sequence from another thread"),
    SIMGPU_CODE(cudaErrorGraphExecUpdateFailure,
                "the graph update was not performed because it included changes which violated "
                "constraints"),
    SIMGPU_CODE(cudaErrorUnknown, "unknown error"),
};

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
  const auto* error = find_code(kErrors, code);
  return error != nullptr ? error->name : kUnknown;
}

const char* cudaGetErrorString(cudaError_t code) {
  const auto* error = find_code(kErrors, code);
  return error != nullptr ? error->text : kUnknown;
}
