// A tool library for CUDA_INJECTION64_PATH: says that it was loaded, and may call the driver.
#include <cuda.h>

#include <cstdio>

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  int count = 0;
  const CUresult result = cuDeviceGetCount(&count);
  std::printf("injected, %d device, code %d\n", count, static_cast<int>(result));
  std::fflush(stdout);
  return 1;
}
