#include "math/driver_functions.hpp"

#include <dlfcn.h>
#include <string>
#include <string_view>

namespace simgpu {
namespace {

// `find(name, version, function)` for each member.
template <typename Find>
bool find_each(DriverFunctions& driver, Find&& find) {
  bool found = true;
#define SIMGPU_FIND(member, typed) \
  found =                          \
      found && find(std::string(proc_base(#typed)).c_str(), proc_version(#typed), driver.member);
  SIMGPU_MATH_REQUESTS(SIMGPU_FIND)
#undef SIMGPU_FIND
  return found;
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
  PFN_cuGetProcAddress_v12000 get_proc_address = nullptr;
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

}  // namespace simgpu
