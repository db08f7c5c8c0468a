// A step of sixty equal layers, on the driver API: 41 launches of a layer, 40 outside, 2,500 in
// all.
//
// Prints "host ok" if every call succeeded.
#include "host.hpp"

#include <inline_prof/profile.h>

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr int kLayers = 60;
constexpr int kLaunchesOfALayer = 41;
constexpr int kLaunchesOutside = 40;
constexpr int kKernels = 12;

struct Gpu {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::vector<CUfunction> kernels;
};

Gpu open_gpu() {
  Gpu gpu;
  gpu.context = host::open_context();
  gpu.stream = host::open_stream();
  gpu.kernels = host::load_numbered_kernels(kKernels);
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
