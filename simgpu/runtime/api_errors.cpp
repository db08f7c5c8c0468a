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
    SIMGPU_CODE(cudaErrorNoKernelImageForDevice, "no kernel image for this device"),
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
    SIMGPU_CODE(cudaErrorHostMemoryAlreadyRegistered, "memory is already registered"),
    SIMGPU_CODE(cudaErrorHostMemoryNotRegistered, "memory is not registered"),
    SIMGPU_CODE(cudaErrorLaunchFailure, "unspecified launch failure"),
    SIMGPU_CODE(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    SIMGPU_CODE(cudaErrorNotPermitted, "operation not permitted"),
    SIMGPU_CODE(cudaErrorNotSupported, "operation not supported"),
    SIMGPU_CODE(cudaErrorStreamCaptureUnsupported, "not permitted when a stream is capturing"),
    SIMGPU_CODE(cudaErrorStreamCaptureInvalidated, "a previous error invalidated the capture"),
    SIMGPU_CODE(cudaErrorStreamCaptureMerge, "would merge two captures"),
    SIMGPU_CODE(cudaErrorStreamCaptureUnmatched, "the capture did not begin in this stream"),
    SIMGPU_CODE(cudaErrorStreamCaptureUnjoined, "a forked stream was not joined"),
    SIMGPU_CODE(cudaErrorStreamCaptureIsolation, "a dependency would cross the capture"),
    SIMGPU_CODE(cudaErrorStreamCaptureImplicit, "implicit dependency on a capturing stream"),
    SIMGPU_CODE(cudaErrorCapturedEvent, "the event was last recorded in a capturing stream"),
    SIMGPU_CODE(cudaErrorStreamCaptureWrongThread, "the capture began in another thread"),
    SIMGPU_CODE(cudaErrorGraphExecUpdateFailure, "the graph update changed too much"),
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
