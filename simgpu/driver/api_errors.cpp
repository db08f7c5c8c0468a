// Names and texts of error codes, and the private tables that are not there.
#include "common/code_texts.hpp"
#include "driver/call.hpp"

using namespace simgpu;

namespace {

constexpr CodeText<CUresult> kErrors[] = {
    SIMGPU_CODE(CUDA_SUCCESS, "no error"),
    SIMGPU_CODE(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    SIMGPU_CODE(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    SIMGPU_CODE(CUDA_ERROR_NOT_INITIALIZED, "driver not initialized"),
    SIMGPU_CODE(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    SIMGPU_CODE(CUDA_ERROR_NO_DEVICE, "no device"),
    SIMGPU_CODE(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    SIMGPU_CODE(CUDA_ERROR_INVALID_IMAGE, "kernel image is invalid"),
    SIMGPU_CODE(CUDA_ERROR_INVALID_CONTEXT, "invalid context"),
    SIMGPU_CODE(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image for this device"),
    SIMGPU_CODE(CUDA_ERROR_INVALID_PTX, "invalid PTX"),
    SIMGPU_CODE(CUDA_ERROR_OPERATING_SYSTEM, "operating system call failed"),
    SIMGPU_CODE(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    SIMGPU_CODE(CUDA_ERROR_ILLEGAL_STATE, "not permitted in the current state"),
    SIMGPU_CODE(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    SIMGPU_CODE(CUDA_ERROR_NOT_READY, "not ready"),
    SIMGPU_CODE(CUDA_ERROR_ILLEGAL_ADDRESS, "illegal memory access"),
    SIMGPU_CODE(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    SIMGPU_CODE(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out"),
    SIMGPU_CODE(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    SIMGPU_CODE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "memory is already registered"),
    SIMGPU_CODE(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "memory is not registered"),
    SIMGPU_CODE(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    SIMGPU_CODE(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                "too many blocks for a cooperative launch"),
    SIMGPU_CODE(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    SIMGPU_CODE(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    SIMGPU_CODE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "not permitted when a stream is capturing"),
    SIMGPU_CODE(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "a previous error invalidated the capture"),
    SIMGPU_CODE(CUDA_ERROR_STREAM_CAPTURE_MERGE, "would merge two captures"),
    SIMGPU_CODE(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture did not begin in this stream"),
    SIMGPU_CODE(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a forked stream was not joined"),
    SIMGPU_CODE(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "a dependency would cross the capture"),
    SIMGPU_CODE(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "implicit dependency on a capturing stream"),
    SIMGPU_CODE(CUDA_ERROR_CAPTURED_EVENT, "the event was last recorded in a capturing stream"),
    SIMGPU_CODE(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture began in another thread"),
    SIMGPU_CODE(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph update changed too much"),
    SIMGPU_CODE(CUDA_ERROR_UNKNOWN, "unknown error"),
};

CUresult tell(CUresult code, const char* CodeText<CUresult>::*member, const char** value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* error = find_code(kErrors, code);
  *value = error != nullptr ? error->*member : nullptr;
  return error != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuGetErrorName(CUresult code, const char** name) {
  return tell(code, &CodeText<CUresult>::name, name);
}
SIMGPU_PROC(cuGetErrorName, cuGetErrorName_v6000)

CUresult cuGetErrorString(CUresult code, const char** text) {
  return tell(code, &CodeText<CUresult>::text, text);
}
SIMGPU_PROC(cuGetErrorString, cuGetErrorString_v6000)

// The vendor's runtime asks for undocumented tables, one to check that the driver is the vendor's:
// none are here, which is why it cannot run on this driver.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_NOT_SUPPORTED;
}
SIMGPU_PROC(cuGetExportTable, cuGetExportTable_v3000)
