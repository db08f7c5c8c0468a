// A library with "cuBLAS" inside: its product is nobody else's, and launches a kernel of its own.
#include <cuda.h>

extern "C" [[gnu::noinline, gnu::visibility("hidden")]] int cublasSgemm_v2(CUfunction kernel,
                                                                           CUstream stream) {
  return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr) == CUDA_SUCCESS
             ? 0
             : 13;
}

extern "C" [[gnu::visibility("default")]] int multiply(CUfunction kernel, CUstream stream) {
  const int status = cublasSgemm_v2(kernel, stream);
  return status;
}
