// The library itself: how it finds the driver, handles, versions, log.
#include "cublaslt/handle.hpp"

#include <atomic>
#include <library_types.h>
#include <memory>

using namespace simgpu;

namespace {

struct Driver {
  DriverFunctions functions;
  bool is_complete = false;
};

// The vendor's library asks for the driver while it is loaded, before any program code runs, by
// dlopen and raw dlsym; cuLaunchKernel and cuLaunchKernelEx are among what it asks for.
const Driver& driver() {
  static const Driver found = [] {
    Driver made;
    made.is_complete = find_by_dlsym(made.functions);
    return made;
  }();
  return found;
}

[[gnu::constructor]] void find_driver_at_load() {
  static_cast<void>(driver());
}

bool settings_are_good() {
  static const bool good = fail_rules_are_known(
      {.prefix = "cublasLt", .symbol = reinterpret_cast<const void*>(&cublasLtCreate)});
  return good;
}

std::atomic<std::size_t> heuristics_cache_capacity{8192};
std::atomic<unsigned> disabled_cpu_instructions{0};

}  // namespace

SIMGPU_CALL(cublasLtCreate, handle) {
  fail_if(handle == nullptr);
  fail_if(!driver().is_complete || !settings_are_good(), CUBLAS_STATUS_NOT_INITIALIZED);
  auto made = std::make_unique<cublasLtContext>(driver().functions, LaunchBy::kLaunchKernelEx);
  fail_if(made->open() != CUDA_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED);
  *handle = made.release();
}

SIMGPU_CALL(cublasLtDestroy, handle) {
  check_handle(handle);
  delete handle;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  return status_name(status);
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status_text(status);
}

size_t cublasLtGetVersion(void) {
  return CUBLAS_VERSION;
}

size_t cublasLtGetCudartVersion(void) {
  return CUDART_VERSION;
}

SIMGPU_CALL(cublasLtGetProperty, type, value) {
  fail_if(!version_part(type, {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH}, value));
}

// cuBLAS 13.0, "Heuristics Cache": a capacity in entries, kept and given back; nothing is cached
// here.
cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = heuristics_cache_capacity;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  heuristics_cache_capacity = capacity;
  return CUBLAS_STATUS_SUCCESS;
}

// cublasLt.h: "The function returns the previous value of the mask."
unsigned cublasLtDisableCpuInstructionsSetMask(unsigned mask) {
  return disabled_cpu_instructions.exchange(mask);
}

// The log is never written: SIMGPU_LOG is the simulation's.
cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetFile(FILE*) {
  return CUBLAS_STATUS_SUCCESS;
}

// cublasLt.h: "CUBLAS_STATUS_INVALID_VALUE if log level is not one of the above levels", 0 to 5.
cublasStatus_t cublasLtLoggerSetLevel(int level) {
  return level >= 0 && level <= 5 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtLoggerSetMask(int) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerForceDisable() {
  return CUBLAS_STATUS_SUCCESS;
}
