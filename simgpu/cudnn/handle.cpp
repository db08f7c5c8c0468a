// The library itself: how it finds the driver, handles, versions, messages.
#include "cudnn/handle.hpp"

#include <memory>

using namespace simgpu;

namespace {

// Null if there is no driver, it lacks a function, or SIMGPU_FAIL names one that is not here.
const DriverFunctions* dnn_driver() {
  static DriverFunctions driver;
  static const bool found =
      find_by_proc_address(driver) &&
      fail_rules_are_known(
          {.prefix = "cudnn", .symbol = reinterpret_cast<const void*>(&cudnnCreate)});
  return found ? &driver : nullptr;
}

}  // namespace

void cudnnContext::run(const std::vector<KernelCall>& calls) {
  fail_if(launch(stream, calls) != CUDA_SUCCESS, CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER);
}

SIMGPU_CALL(cudnnCreate, handle) {
  require(handle);
  const DriverFunctions* driver = dnn_driver();
  fail_if(driver == nullptr, CUDNN_STATUS_NOT_INITIALIZED);
  auto made = std::make_unique<cudnnContext>(*driver, LaunchBy::kLaunchKernel);
  fail_if(made->open() != CUDA_SUCCESS, CUDNN_STATUS_NOT_INITIALIZED);
  *handle = made.release();
}

// The real library (9.19) takes a null handle here.
SIMGPU_CALL(cudnnDestroy, handle) {
  delete handle;
}

SIMGPU_CALL(cudnnSetStream, handle, stream) {
  require(handle);
  handle->stream = stream;
}

SIMGPU_CALL(cudnnGetStream, handle, stream) {
  require(handle, stream);
  *stream = handle->stream;
}

size_t cudnnGetVersion(void) {
  return CUDNN_VERSION;
}

size_t cudnnGetMaxDeviceVersion(void) {
  return CUDNN_MAX_DEVICE_VERSION;
}

size_t cudnnGetCudartVersion(void) {
  return CUDART_VERSION;
}

SIMGPU_CALL(cudnnGetProperty, type, value) {
  fail_if(!version_part(type, {CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL}, value));
}

#define SIMGPU_VERSION_CHECK(Part)                \
  cudnnStatus_t cudnn##Part##VersionCheck(void) { \
    return CUDNN_STATUS_SUCCESS;                  \
  }
SIMGPU_VERSION_CHECK(Graph)
SIMGPU_VERSION_CHECK(Ops)
SIMGPU_VERSION_CHECK(Adv)
SIMGPU_VERSION_CHECK(Cnn)

const char* cudnnGetErrorString(cudnnStatus_t status) {
#define SIMGPU_NAME(code) \
  case code:              \
    return #code;
  switch (status) {
    SIMGPU_NAME(CUDNN_STATUS_SUCCESS)
    SIMGPU_NAME(CUDNN_STATUS_NOT_INITIALIZED)
    SIMGPU_NAME(CUDNN_STATUS_BAD_PARAM)
    SIMGPU_NAME(CUDNN_STATUS_BAD_PARAM_NULL_POINTER)
    SIMGPU_NAME(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED)
    SIMGPU_NAME(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH)
    SIMGPU_NAME(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE)
    SIMGPU_NAME(CUDNN_STATUS_NOT_SUPPORTED)
    SIMGPU_NAME(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN)
    SIMGPU_NAME(CUDNN_STATUS_INTERNAL_ERROR)
    SIMGPU_NAME(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
    SIMGPU_NAME(CUDNN_STATUS_EXECUTION_FAILED)
    SIMGPU_NAME(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER)
    default:
      return "another cuDNN status";
  }
#undef SIMGPU_NAME
}

// The simulated library keeps no messages.
void cudnnGetLastErrorString(char* message, size_t max_size) {
  if (message != nullptr && max_size > 0) message[0] = '\0';
}
