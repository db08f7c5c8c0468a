#include "device.hpp"

#include "check.hpp"

#include <dlfcn.h>

namespace example {

std::string select_device(int device_id) {
  EXAMPLE_CHECK(cudaSetDevice(device_id));
  cudaDeviceProp properties{};
  EXAMPLE_CHECK(cudaGetDeviceProperties(&properties, device_id));
  return properties.name;
}

bool is_simulated() {
  // The runtime has loaded the driver library by now; the simulated one has a function of its own.
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  const bool found = dlsym(driver, "simgpu_launch_count") != nullptr;
  dlclose(driver);
  return found;
}

void copy_on(cudaStream_t stream, const void* from, void* to, std::size_t bytes) {
  EXAMPLE_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  EXAMPLE_CHECK(cudaStreamSynchronize(stream));
}

}  // namespace example
