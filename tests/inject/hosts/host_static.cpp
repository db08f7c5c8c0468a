// Multiplies with the library that has cuBLAS inside (tools/static_blas.cpp).
#include <inline_prof/profile.h>

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

extern "C" int multiply(CUfunction kernel, CUstream stream);

namespace {

void check(int result, const char* what) {
  if (result == 0) return;
  std::printf("host: %s (%d)\n", what, result);
  std::exit(1);
}
#define CHECK(call) check((call), #call)

constexpr char kModule[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry volta_sgemm_128x64_nn()\n{\nret;\n}\n";

}  // namespace

int main() {
  CHECK(cuInit(0));
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUstream stream = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kModule));
  CHECK(cuModuleGetFunction(&kernel, module, "volta_sgemm_128x64_nn"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 40; ++i) {
    PROFILE_ITERATION();
    CHECK(multiply(kernel, stream));
  }
  CHECK(cuCtxSynchronize());
  std::printf("host ok\n");
  return 0;
}
