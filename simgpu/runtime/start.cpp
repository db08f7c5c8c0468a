// First use: the driver, and a device for each thread.
#include "common/entry.hpp"
#include "runtime/call.hpp"

#include <mutex>

namespace simgpu {
namespace {

bool names_are_known() {
  const auto* const symbol = reinterpret_cast<const void*>(&cudaMalloc);
  const bool known =
      fail_rules_are_known({.prefix = "cuda", .symbol = symbol, .called = "runtime"});
  return fail_rules_are_known({.prefix = "__cuda", .symbol = symbol, .called = "runtime"}) && known;
}

struct Start {
  const DriverFunctions* driver = nullptr;
  cudaError_t error = cudaSuccess;
};

Start start() {
  const DriverFunctions* driver = find_driver();
  if (driver == nullptr) return {.error = cudaErrorInsufficientDriver};
  // cudaErrorInsufficientDriver: "the installed NVIDIA CUDA driver is older than the CUDA runtime
  // library"; "CUDA Compatibility" of the vendor's: within a major version either may be newer.
  int version = 0;
  if (driver->driver_get_version != nullptr) driver->driver_get_version(&version);
  if (version / 1000 < runtime_version() / 1000) return {.error = cudaErrorInsufficientDriver};
  const CUresult result = driver->init(0);
  if (result != CUDA_SUCCESS) return {.error = static_cast<cudaError_t>(result)};
  if (!names_are_known()) return {.error = cudaErrorInitializationError};
  return {.driver = driver};
}

}  // namespace

int runtime_version() {
  return process_settings().settings.runtime_version.value_or(CUDART_VERSION);
}

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

const DriverFunctions* initialised_driver(cudaError_t& error) {
  static const Start start_result = start();
  error = start_result.error;
  return start_result.driver;
}

CUresult use_device(const DriverFunctions& driver) {
  CUcontext context = nullptr;
  if (const CUresult result = driver.ctx_get_current(&context);
      result != CUDA_SUCCESS || context != nullptr) {
    return result;
  }
  return use_device(driver, 0);
}

CUresult use_device(const DriverFunctions& driver, int ordinal) {
  CUdevice device = 0;
  if (const CUresult result = driver.device_get(&device, ordinal); result != CUDA_SUCCESS) {
    return result;
  }
  CUcontext context = nullptr;
  {
    // One reference for the whole process, as the vendor's runtime holds it.
    static std::mutex mutex;
    static CUcontext primary[64] = {};  // SIMGPU_DEVICES is at most 64
    const std::lock_guard lock(mutex);
    if (primary[device] == nullptr) {
      const CUresult result = driver.device_primary_ctx_retain(&primary[device], device);
      if (result != CUDA_SUCCESS) return result;
    }
    context = primary[device];
  }
  return driver.ctx_set_current(context);
}

}  // namespace simgpu
