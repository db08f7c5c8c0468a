// The library itself: how it finds the driver, handles, versions.
#include "cublaslt/handle.hpp"

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

SIMGPU_CALL(cublasLtGetProperty, type, value) {
  fail_if(!version_part(type, {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH}, value));
}
