// The library itself: how it finds the driver, handles, versions, messages.
#include "cudnn/handle.hpp"

#include <memory>

using namespace inline_prof::simgpu;

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

cudnnStatus_t cudnnContext::run(const std::vector<KernelCall>& calls) {
  return launch(stream, calls) == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS
                                               : CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER;
}

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  static const DnnEntry entry{__func__};
  return answer(entry, [&] {
    if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM;
    const DriverFunctions* driver = dnn_driver();
    if (driver == nullptr) return CUDNN_STATUS_NOT_INITIALIZED;
    auto made = std::make_unique<cudnnContext>(*driver, LaunchBy::kLaunchKernel);
    if (made->open() != CUDA_SUCCESS) return CUDNN_STATUS_NOT_INITIALIZED;
    *handle = made.release();
    return CUDNN_STATUS_SUCCESS;
  });
}

// The real library (9.19) takes a null handle here.
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  static const DnnEntry entry{__func__};
  return answer(entry, [&] {
    delete handle;
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  static const DnnEntry entry{__func__};
  return answer(entry, [&] {
    if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM;
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  static const DnnEntry entry{__func__};
  return answer(entry, [&] {
    if (handle == nullptr || stream == nullptr) return CUDNN_STATUS_BAD_PARAM;
    *stream = handle->stream;
    return CUDNN_STATUS_SUCCESS;
  });
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

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  static const DnnEntry entry{__func__};
  return answer(entry, [&] {
    if (value == nullptr) return CUDNN_STATUS_BAD_PARAM;
    switch (type) {
      case MAJOR_VERSION:
        *value = CUDNN_MAJOR;
        return CUDNN_STATUS_SUCCESS;
      case MINOR_VERSION:
        *value = CUDNN_MINOR;
        return CUDNN_STATUS_SUCCESS;
      case PATCH_LEVEL:
        *value = CUDNN_PATCHLEVEL;
        return CUDNN_STATUS_SUCCESS;
      default:
        return CUDNN_STATUS_BAD_PARAM;
    }
  });
}

cudnnStatus_t cudnnGraphVersionCheck(void) {
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnOpsVersionCheck(void) {
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCnnVersionCheck(void) {
  return CUDNN_STATUS_SUCCESS;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_BAD_PARAM_NULL_POINTER:
      return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    case CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED:
      return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    case CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH:
      return "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH";
    case CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE:
      return "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN:
      return "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN";
    case CUDNN_STATUS_INTERNAL_ERROR:
      return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
      return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER:
      return "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER";
    default:
      return "another cuDNN status";
  }
}

// The simulated library keeps no messages.
void cudnnGetLastErrorString(char* message, size_t max_size) {
  if (message != nullptr && max_size > 0) message[0] = '\0';
}

}  // extern "C"
