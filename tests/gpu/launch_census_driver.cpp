// An application that is linked with -lcuda and uses no runtime: its launches reach the injected
// library by the plain exported names.  See census.py.
#include "host.hpp"

int main() {
  int count = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) {
    std::fprintf(stderr, "skipped: no GPU\n");
    return 77;  // ctest's SKIP_RETURN_CODE
  }
  host::open_context();
  CUstream stream = host::open_stream();
  const auto kernels = host::load_kernels({"census_first", "census_second"});
  return host::train(25, [&] {
    for (std::size_t launch = 0; launch < 6; ++launch)
      host::launch(kernels[launch % 2], stream);
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 32;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    CHECK(cuLaunchKernelEx(&config, kernels[0], nullptr, nullptr));
  });
}
