#include "math/driver_functions.hpp"

#include "common/settings.hpp"

#include <cstdio>
#include <dlfcn.h>
#include <string>
#include <string_view>
#include <type_traits>

namespace inline_prof::simgpu {
namespace {

// `find(name, version, function)` for each member.  The versions are those in which the present
// signatures appeared: what the vendor's runtime asks for.
template <typename Find>
bool find_each(DriverFunctions& driver, Find&& find) {
  return find("cuInit", 2000, driver.init) &&
         find("cuCtxGetCurrent", 4000, driver.ctx_get_current) &&
         find("cuCtxSetCurrent", 4000, driver.ctx_set_current) &&
         find("cuCtxGetDevice", 2000, driver.ctx_get_device) &&
         find("cuDeviceGetAttribute", 2000, driver.device_get_attribute) &&
         find("cuDevicePrimaryCtxRetain", 7000, driver.primary_ctx_retain) &&
         find("cuModuleLoadData", 2000, driver.module_load_data) &&
         find("cuModuleUnload", 2000, driver.module_unload) &&
         find("cuModuleGetFunction", 2000, driver.module_get_function) &&
         find("cuThreadExchangeStreamCaptureMode", 10010, driver.exchange_capture_mode) &&
         find("cuLaunchKernel", 4000, driver.launch_kernel) &&
         find("cuLaunchKernelEx", 11060, driver.launch_kernel_ex) &&
         find("cuEventCreate", 2000, driver.event_create) &&
         find("cuEventRecord", 2000, driver.event_record) &&
         find("cuEventSynchronize", 2000, driver.event_synchronize) &&
         find("cuEventElapsedTime", 2000, driver.event_elapsed_time) &&
         find("cuEventDestroy", 4000, driver.event_destroy);
}

template <typename Function>
void assign(Function& function, void* address) {
  function = reinterpret_cast<Function>(address);
}

}  // namespace

bool find_by_dlsym(DriverFunctions& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY);
  if (library == nullptr) return false;
  return find_each(driver, [&](const char* name, int, auto& function) {
    // An exported name carries its version where the function has had an older one.
    const std::string newer = std::string(name) + "_v2";
    void* address = std::string_view(name) == "cuEventDestroy" ? dlsym(library, newer.c_str())
                                                               : dlsym(library, name);
    assign(function, address);
    return function != nullptr;
  });
}

bool find_by_proc_address(DriverFunctions& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return false;
  // Declared here: cuda.h gives the plain name to one of several versions.
  using GetProcAddress =
      CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  GetProcAddress get_proc_address = nullptr;
  assign(get_proc_address, dlsym(library, "cuGetProcAddress_v2"));
  if (get_proc_address == nullptr) return false;
  return find_each(driver, [&](const char* name, int version, auto& function) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult found{};
    const CUresult result = get_proc_address(name, &address, version, 0, &found);
    assign(function, address);
    return result == CUDA_SUCCESS && function != nullptr;
  });
}

bool fail_rules_are_known(const LibraryNames& names) {
  Dl_info self{};
  if (dladdr(names.symbol, &self) == 0) return false;
  void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  bool good = true;
  for (const auto& rule : process_settings().settings.fail_rules) {
    if (!rule.function.starts_with(names.prefix) ||
        (names.but_not != nullptr && rule.function.starts_with(names.but_not))) {
      continue;
    }
    const std::string versioned = rule.function + "_v2";
    if (dlsym(library, rule.function.c_str()) == nullptr &&
        dlsym(library, versioned.c_str()) == nullptr) {
      const std::string file = self.dli_fname;
      std::fprintf(stderr, "simgpu: SIMGPU_FAIL=%s: expected a function of the simulated %s\n",
                   rule.function.c_str(), file.substr(file.rfind('/') + 1).c_str());
      good = false;
    }
  }
  dlclose(library);
  return good;
}

}  // namespace inline_prof::simgpu
