// Multiplies with the library that has cuBLAS inside (tools/static_blas.cpp).
#include "host.hpp"

#include <inline_prof/profile.h>

#include <cuda.h>

#include <cstdio>

extern "C" int multiply(CUfunction kernel, CUstream stream);

int main() {
  host::open_context();
  CUfunction kernel = host::load_kernels({"volta_sgemm_128x64_nn"})[0];
  CUstream stream = host::open_stream();
  for (int i = 0; i < 40; ++i) {
    PROFILE_ITERATION();
    CHECK(multiply(kernel, stream));
  }
  CHECK(cuCtxSynchronize());
  std::printf("host ok\n");
  return 0;
}
