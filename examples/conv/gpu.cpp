#include "gpu.hpp"

#include <dlfcn.h>
#include <stdexcept>

namespace conv {
namespace {

std::runtime_error error_at(const char* file, int line, const char* call, const char* what) {
  return std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                            what);
}

}  // namespace

void throw_error(cudaError_t status, const char* call, const char* file, int line) {
  throw error_at(file, line, call, cudaGetErrorString(status));
}

void throw_error(cudnnStatus_t status, const char* call, const char* file, int line) {
  throw error_at(file, line, call, cudnnGetErrorString(status));
}

Gpu::Gpu(int device_id) {
  CONV_CHECK(cudaSetDevice(device_id));
  cudaDeviceProp properties{};
  CONV_CHECK(cudaGetDeviceProperties(&properties, device_id));
  name_ = properties.name;
  CONV_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  CONV_CHECK(cudnnCreate(&cudnn_));
  CONV_CHECK(cudnnSetStream(cudnn_, stream_));
}

Gpu::~Gpu() {
  static_cast<void>(cudnnDestroy(cudnn_));
  static_cast<void>(cudaStreamDestroy(stream_));
}

bool Gpu::is_simulated() const {
  // The runtime has loaded the driver library by now; the simulated one has a function of its own.
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  const bool found = dlsym(driver, "simgpu_launch_count") != nullptr;
  dlclose(driver);
  return found;
}

void Gpu::download(const void* from, void* to, std::size_t bytes) const {
  CONV_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_));
  CONV_CHECK(cudaStreamSynchronize(stream_));
}

}  // namespace conv
