// Asks the driver how many devices there are.
#include <cuda.h>

#include <cstdio>

int main() {
  int count = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS) return 1;
  std::printf("%d devices\n", count);
  return 0;
}
