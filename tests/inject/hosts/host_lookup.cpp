// Looks driver functions up in every way that libraries do, and prints what it found.  Each way
// gets a pointer that launches; the simulated GPU's own count must agree.  Not linked with the
// driver.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <initializer_list>
#include <sys/mman.h>

namespace {

using Init = CUresult (*)(unsigned);
using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t,
                                    CUdriverProcAddressQueryResult*);
using Launch = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, CUstream, void**, void**);

void* driver = nullptr;

[[noreturn]] void fail(const char* what) {
  std::printf("host: no %s\n", what);
  std::exit(1);
}

template <typename Function>
Function find(const char* name) {
  auto* function = reinterpret_cast<Function>(dlsym(driver, name));
  if (function == nullptr) fail(name);
  return function;
}

// Looks whether there is a driver, as MPI libraries do.  Whatever is mapped next takes its place,
// so that it is somewhere else when it is loaded again.
void probe_and_close() {
  driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) fail("driver");
  find<Launch>("cuLaunchKernel");
  dlclose(driver);
  for (int i = 0; i < 64; ++i)
    static_cast<void>(mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

const char* presence(const void* address) {
  return address == nullptr ? "absent" : "present";
}

}  // namespace

int main() {
  probe_and_close();
  // Nothing is loaded yet: a probe must see nothing, whatever a preloaded library exports.
  std::printf("before: default %s\n", presence(dlsym(RTLD_DEFAULT, "cuLaunchKernel")));
  std::printf("error %s\n", presence(dlerror()));
  std::printf("next %s\n", presence(dlsym(RTLD_NEXT, "cuLaunchKernel")));

  driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) fail(dlerror());
  // RTLD_LOCAL: the global scope still has none of it.
  std::printf("local: default %s\n", presence(dlsym(RTLD_DEFAULT, "cuLaunchKernel")));
  std::printf("unknown %s\n", presence(dlsym(driver, "cuNoSuchCall")));

  find<Init>("cuInit")(0);
  CUcontext context = nullptr;
  find<CUresult (*)(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain")(&context, 0);
  find<CUresult (*)(CUcontext)>("cuCtxSetCurrent")(context);
  CUmodule module = nullptr;
  find<CUresult (*)(CUmodule*, const void*)>("cuModuleLoadData")(
      &module, ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n");
  CUfunction function = nullptr;
  find<CUresult (*)(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(&function, module,
                                                                                "k");

  const auto get = find<GetProcAddress>("cuGetProcAddress_v2");
  void* legacy = nullptr;
  void* per_thread = nullptr;
  void* get_again = nullptr;
  CUdriverProcAddressQueryResult status{};
  get("cuLaunchKernel", &legacy, 4000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
  get("cuLaunchKernel", &per_thread, 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status);
  get("cuGetProcAddress", &get_again, 12000, 0, &status);
  void* through_second = nullptr;
  reinterpret_cast<GetProcAddress>(get_again)("cuLaunchKernel", &through_second, 4000, 0, &status);
  void* const by_dlsym = dlsym(driver, "cuLaunchKernel");
  void* const by_dlsym_per_thread = dlsym(driver, "cuLaunchKernel_ptsz");

  // 13.0 gave this function a parameter: each version has a function of its own.
  void* synchronize = nullptr;
  void* synchronize_context = nullptr;
  get("cuCtxSynchronize", &synchronize, 2000, 0, &status);
  get("cuCtxSynchronize", &synchronize_context, 13000, 0, &status);

  int failures = 0;
  if (reinterpret_cast<CUresult (*)()>(synchronize)() != CUDA_SUCCESS) ++failures;
  if (reinterpret_cast<CUresult (*)(CUcontext)>(synchronize_context)(context) != CUDA_SUCCESS)
    ++failures;
  for (void* address : {legacy, per_thread, through_second, by_dlsym, by_dlsym_per_thread}) {
    if (address == nullptr ||
        reinterpret_cast<Launch>(address)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                                          nullptr) != CUDA_SUCCESS)
      ++failures;
  }
  std::printf("same %s\n", legacy == by_dlsym && legacy == through_second ? "yes" : "no");
  std::printf("streams apart %s\n", legacy != per_thread ? "yes" : "no");
  std::printf("host ok, %d failures\n", failures);
  return failures;
}
