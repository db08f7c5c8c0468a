// Names and texts of error codes, and the private tables that are not there.
#include "driver/call.hpp"

using namespace simgpu;

namespace {

struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};

#define SIMGPU_ERROR(code, text) \
  ErrorText {                    \
    code, #code, text            \
  }

constexpr ErrorText kErrors[] = {
    SIMGPU_ERROR(CUDA_SUCCESS, "no error"),
    SIMGPU_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    SIMGPU_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    SIMGPU_ERROR(CUDA_ERROR_NOT_INITIALIZED, "driver not initialized"),
    SIMGPU_ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    SIMGPU_ERROR(CUDA_ERROR_NO_DEVICE, "no device"),
    SIMGPU_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    SIMGPU_ERROR(CUDA_ERROR_INVALID_IMAGE, "kernel image is invalid"),
    SIMGPU_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid context"),
    SIMGPU_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image for this device"),
    SIMGPU_ERROR(CUDA_ERROR_INVALID_PTX, "invalid PTX"),
    SIMGPU_ERROR(CUDA_ERROR_OPERATING_SYSTEM, "operating system call failed"),
    SIMGPU_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    SIMGPU_ERROR(CUDA_ERROR_ILLEGAL_STATE, "not permitted in the current state"),
    SIMGPU_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    SIMGPU_ERROR(CUDA_ERROR_NOT_READY, "not ready"),
    SIMGPU_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "illegal memory access"),
    SIMGPU_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    SIMGPU_ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out"),
    SIMGPU_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    SIMGPU_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "memory is already registered"),
    SIMGPU_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "memory is not registered"),
    SIMGPU_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    SIMGPU_ERROR(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                 "too many blocks for a cooperative launch"),
    SIMGPU_ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    SIMGPU_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    SIMGPU_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "not permitted when a stream is capturing"),
    SIMGPU_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "a previous error invalidated the capture"),
    SIMGPU_ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE, "would merge two captures"),
    SIMGPU_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture did not begin in this stream"),
    SIMGPU_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a forked stream was not joined"),
    SIMGPU_ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "a dependency would cross the capture"),
    SIMGPU_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "implicit dependency on a capturing stream"),
    SIMGPU_ERROR(CUDA_ERROR_CAPTURED_EVENT, "the event was last recorded in a capturing stream"),
    SIMGPU_ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture began in another thread"),
    SIMGPU_ERROR(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph update changed too much"),
    SIMGPU_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};

#undef SIMGPU_ERROR

const ErrorText* find(CUresult code) {
  for (const auto& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

}  // namespace

CUresult cuGetErrorName(CUresult code, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* error = find(code);
  *name = error != nullptr ? error->name : nullptr;
  return error != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
SIMGPU_PROC(cuGetErrorName, cuGetErrorName_v6000)

CUresult cuGetErrorString(CUresult code, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* error = find(code);
  *text = error != nullptr ? error->text : nullptr;
  return error != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
SIMGPU_PROC(cuGetErrorString, cuGetErrorString_v6000)

// The vendor's runtime and tools ask for undocumented tables; there are none here, which is why
// they cannot run on this driver.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_NOT_SUPPORTED;
}
SIMGPU_PROC(cuGetExportTable, cuGetExportTable_v3000)
