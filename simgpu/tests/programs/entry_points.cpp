// Asks the driver for functions as a tool does: prints name and cuGetProcAddress status of each.
#include <cuda.h>

#include <cstdio>
#include <dlfcn.h>

int main(int argc, char** argv) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return 2;
  const auto init = reinterpret_cast<decltype(&cuInit)>(dlsym(library, "cuInit"));
  const auto find =
      reinterpret_cast<decltype(&cuGetProcAddress)>(dlsym(library, "cuGetProcAddress_v2"));
  const auto version =
      reinterpret_cast<decltype(&cuDriverGetVersion)>(dlsym(library, "cuDriverGetVersion"));
  if (init == nullptr || find == nullptr || version == nullptr) return 2;
  int supported = 0;
  if (init(0) != CUDA_SUCCESS || version(&supported) != CUDA_SUCCESS) return 3;
  for (int i = 1; i < argc; ++i) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status{};
    if (find(argv[i], &address, supported, 0, &status) != CUDA_SUCCESS) return 4;
    if ((address == nullptr) != (status != CU_GET_PROC_ADDRESS_SUCCESS)) return 5;
    std::printf("%s %d\n", argv[i], static_cast<int>(status));
  }
  return 0;
}
