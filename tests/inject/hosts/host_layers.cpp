// A step of sixty equal layers, on the driver API: 41 launches of a layer, 40 outside, 2,500 in
// all.
//
// Prints "host ok" if every call succeeded.
#include <inline_prof/profile.h>

#include <cuda.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr int kLayers = 60;
constexpr int kLaunchesOfALayer = 41;
constexpr int kLaunchesOutside = 40;
constexpr int kKernels = 12;

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("host: %s (%d)\n", what, result);
  std::exit(1);
}
#define CHECK(call) check((call), #call)

struct Gpu {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::array<CUfunction, kKernels> kernels{};
};

Gpu open_gpu() {
  Gpu gpu;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&gpu.context, 0));
  CHECK(cuCtxSetCurrent(gpu.context));
  CHECK(cuStreamCreate(&gpu.stream, CU_STREAM_NON_BLOCKING));
  std::string text = ".version 6.0\n.target sm_50\n.address_size 64\n";
  for (int i = 0; i < kKernels; ++i)
    text += ".visible .entry kernel_" + std::to_string(i) + "_()\n{\nret;\n}\n";
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, text.c_str()));
  for (int i = 0; i < kKernels; ++i) {
    const std::string name = "kernel_" + std::to_string(i) + "_";
    CHECK(cuModuleGetFunction(&gpu.kernels[static_cast<std::size_t>(i)], module, name.c_str()));
  }
  return gpu;
}

// The grid tells the launches of one kernel apart.
void launch(const Gpu& gpu, int number) {
  const auto kernel = static_cast<std::size_t>(number % kKernels);
  const auto blocks = static_cast<unsigned>(100 + number);
  CHECK(cuLaunchKernel(gpu.kernels[kernel], blocks, 1, 1, 128, 1, 1, 0, gpu.stream, nullptr,
                       nullptr));
}

void step(const Gpu& gpu) {
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string name = "layers." + std::to_string(layer);
    PROFILE_SCOPE(name.c_str(), gpu.stream);
    for (int number = 0; number < kLaunchesOfALayer; ++number)
      launch(gpu, number);
  }
  PROFILE_SCOPE("head", gpu.stream);
  for (int number = 0; number < kLaunchesOutside; ++number)
    launch(gpu, kLaunchesOfALayer + number);
}

}  // namespace

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 130;
  const Gpu gpu = open_gpu();
  for (int i = 0; i < iterations; ++i) {
    PROFILE_ITERATION();
    step(gpu);
    CHECK(cuStreamSynchronize(gpu.stream));
  }
  std::printf("host ok\n");
  return 0;
}
