// Multiplies with the library that has cuBLAS inside (tools/static_blas.cpp).
#include "host.hpp"

extern "C" int multiply(CUfunction kernel, CUstream stream);

int main() {
  host::open_context();
  CUfunction kernel = host::load_kernels({"volta_sgemm_128x64_nn"})[0];
  CUstream stream = host::open_stream();
  return host::train(40, [&] { CHECK(multiply(kernel, stream)); });
}
