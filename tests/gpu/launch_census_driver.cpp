// An application that is linked with -lcuda and uses no runtime: its launches reach the injected
// library by the plain exported names.  See launch_census.cu.
#include <inline_prof/profile.hpp>

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kIterations = 25;
constexpr int kLaunchesPerIteration = 6;
constexpr int kSkipped = 77;

// PTX, which the driver compiles for whatever GPU it finds.
constexpr const char* kModule = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry census_first() { ret; }
.visible .entry census_second() { ret; }
)";

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = "unknown";
  cuGetErrorString(result, &text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(1);
}

}  // namespace

int main() {
  int count = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) {
    std::fprintf(stderr, "skipped: no GPU\n");
    return kSkipped;
  }
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction first = nullptr;
  CUfunction second = nullptr;
  CUstream stream = nullptr;
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuModuleLoadData(&module, kModule), "cuModuleLoadData");
  check(cuModuleGetFunction(&first, module, "census_first"), "cuModuleGetFunction");
  check(cuModuleGetFunction(&second, module, "census_second"), "cuModuleGetFunction");
  check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");

  for (int i = 0; i < kIterations; ++i) {
    PROFILE_ITERATION();
    for (int launch = 0; launch < kLaunchesPerIteration; ++launch) {
      const CUfunction function = launch % 2 == 0 ? first : second;
      check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr),
            "cuLaunchKernel");
    }
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 32;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    check(cuLaunchKernelEx(&config, first, nullptr, nullptr), "cuLaunchKernelEx");
  }
  check(cuStreamSynchronize(stream), "cuStreamSynchronize");
  check(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
  return 0;
}
