#include "nccl/driver.hpp"

#include <cstdio>
#include <dlfcn.h>
#include <string>

namespace inline_prof::simgpu {
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
  return request("cuInit", 2000, driver.init) &&
         request("cuCtxGetCurrent", 4000, driver.ctx_get_current) &&
         request("cuCtxSetCurrent", 4000, driver.ctx_set_current) &&
         request("cuCtxGetDevice", 2000, driver.ctx_get_device) &&
         request("cuDeviceGet", 2000, driver.device_get) &&
         request("cuDevicePrimaryCtxRetain", 7000, driver.primary_ctx_retain) &&
         request("cuLibraryLoadData", 12000, driver.library_load_data) &&
         request("cuLibraryUnload", 12000, driver.library_unload) &&
         request("cuLibraryGetKernel", 12000, driver.library_get_kernel) &&
         request("cuKernelGetFunction", 12000, driver.kernel_get_function) &&
         request("cuLaunchKernelEx", 11060, driver.launch_kernel_ex) &&
         request("cuEventCreate", 2000, driver.event_create) &&
         request("cuEventDestroy", 4000, driver.event_destroy) &&
         request("cuEventRecord", 2000, driver.event_record) &&
         request("cuStreamWaitEvent", 3020, driver.stream_wait_event) &&
         request("cuStreamGetCaptureInfo", 11030, driver.stream_get_capture_info) &&
         request("cuCtxSynchronize", 2000, driver.ctx_synchronize) &&
         request("cuUserObjectCreate", 11030, driver.user_object_create) &&
         request("cuGraphRetainUserObject", 11030, driver.graph_retain_user_object) &&
         request("cuMemcpyAsync", 4000, driver.copy) &&
         request("cuMemAlloc", 3020, driver.allocate) &&
         request("cuMemFree", 3020, driver.release) &&
         request("cuThreadExchangeStreamCaptureMode", 10010, driver.exchange_capture_mode) &&
         find("simgpu_host_now_ns", driver.host_now) &&
         find("simgpu_advance_host_ns", driver.advance_host);
}

// SIMGPU_FAIL names of this library: a misspelt one would test nothing.
bool names_are_known() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&ncclGetVersion), &self) == 0) return false;
  void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  bool good = true;
  for (const auto& rule : process_settings().settings.fail_rules) {
    if (!rule.function.starts_with("nccl")) continue;
    if (dlsym(library, rule.function.c_str()) == nullptr) {
      std::fprintf(stderr, "simgpu: SIMGPU_FAIL=%s: expected a function of the simulated NCCL\n",
                   rule.function.c_str());
      good = false;
    }
  }
  dlclose(library);
  return good;
}

std::string& failure_of_this_thread() {
  thread_local std::string text;
  return text;
}

}  // namespace

const NcclDriver* nccl_driver() {
  static NcclDriver driver;
  static const bool usable = load(driver) && names_are_known() && driver.init(0) == CUDA_SUCCESS;
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

}  // namespace inline_prof::simgpu
