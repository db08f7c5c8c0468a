#include "runtime/driver_functions.hpp"

#include <cstdio>
#include <dlfcn.h>
#include <string>
#include <string_view>

namespace simgpu {
namespace {

template <typename Function>
void request(PFN_cuGetProcAddress_v12000 get, const char* name, int version, cuuint64_t flags,
             Function& function) {
  void* address = nullptr;
  CUdriverProcAddressQueryResult status{};
  if (get(name, &address, version, flags, &status) != CUDA_SUCCESS) address = nullptr;
  function = reinterpret_cast<Function>(address);
}

const DriverFunctions* load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "simgpu: libcudart: %s\n", dlerror());
    return nullptr;
  }
  const auto get =
      reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
  if (get == nullptr) {
    std::fprintf(stderr, "simgpu: libcudart: libcuda.so.1 has no cuGetProcAddress_v2\n");
    return nullptr;
  }
  void* probe = nullptr;
  static_cast<void>(get("", &probe, 0, 0, nullptr));

  static DriverFunctions functions;
  const auto ask = [get](std::string_view typed, int version, cuuint64_t flags, auto& function) {
    request(get, std::string(proc_base(typed)).c_str(), version, flags, function);
  };
#define SIMGPU_REQUEST(member, typed) ask(#typed, proc_version(#typed), 0, functions.member);
#define SIMGPU_REQUEST_TWINS(member, typed)                      \
  ask(#typed, proc_version(#typed), 0, functions.member.legacy); \
  ask(#typed, per_thread_version(#typed), 2, functions.member.per_thread);
  SIMGPU_DRIVER_REQUESTS(SIMGPU_REQUEST, SIMGPU_REQUEST_TWINS)
#undef SIMGPU_REQUEST_TWINS
#undef SIMGPU_REQUEST
  request(get, "simgpu_register_image", 12000, 0, functions.register_image);
  if (functions.register_image == nullptr) {
    std::fprintf(stderr, "simgpu: libcudart: libcuda.so.1 is not the simulated one\n");
    return nullptr;
  }
  return &functions;
}

}  // namespace

const DriverFunctions* find_driver() {
  static const DriverFunctions* const driver = load();
  return driver;
}

}  // namespace simgpu
