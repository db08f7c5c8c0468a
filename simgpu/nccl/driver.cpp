#include "nccl/driver.hpp"

#include "common/entry.hpp"

#include <dlfcn.h>
#include <string>

namespace simgpu {
namespace {

bool load(NcclDriver& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return false;
  const auto get =
      reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
  if (get == nullptr) return false;
  const auto request = [&](const char* name, int version, auto& function) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status{};
    const CUresult result = get(name, &address, version, 0, &status);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    return result == CUDA_SUCCESS && address != nullptr;
  };
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  bool found = true;
#define SIMGPU_REQUEST(member, typed) \
  found = found &&                    \
          request(std::string(proc_base(#typed)).c_str(), proc_version(#typed), driver.member);
  SIMGPU_NCCL_REQUESTS(SIMGPU_REQUEST)
#undef SIMGPU_REQUEST
  return found && find("simgpu_host_now_ns", driver.host_now) &&
         find("simgpu_advance_host_ns", driver.advance_host);
}

std::string& failure_of_this_thread() {
  thread_local std::string text;
  return text;
}

}  // namespace

const NcclDriver* nccl_driver() {
  static NcclDriver driver;
  static const bool usable =
      load(driver) &&
      fail_rules_are_known({.prefix = "nccl",
                            .symbol = reinterpret_cast<const void*>(&ncclGetVersion),
                            .called = "NCCL"}) &&
      driver.init(0) == CUDA_SUCCESS;
  return usable ? &driver : nullptr;
}

CurrentContext::CurrentContext(const NcclDriver& driver, CUcontext context) : driver_(driver) {
  driver_.ctx_get_current(&before_);
  driver_.ctx_set_current(context);
}

CurrentContext::~CurrentContext() {
  driver_.ctx_set_current(before_);
}

ncclResult_t fail(ncclResult_t result, const char* why) {
  failure_of_this_thread() = why;
  return result;
}

const char* last_failure() {
  return failure_of_this_thread().c_str();
}

ncclResult_t result_of(CUresult result, const char* function) {
  if (result == CUDA_SUCCESS) return ncclSuccess;
  failure_of_this_thread() =
      std::string(function) + " failed (CUresult " + std::to_string(result) + ")";
  return ncclUnhandledCudaError;
}

}  // namespace simgpu
