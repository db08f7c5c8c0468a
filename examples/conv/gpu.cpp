#include "gpu.hpp"

#include "device.hpp"

namespace conv {

Gpu::Gpu(int device_id) : name_(example::select_device(device_id)) {
  EXAMPLE_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  EXAMPLE_CHECK(cudnnCreate(&cudnn_));
  EXAMPLE_CHECK(cudnnSetStream(cudnn_, stream_));
}

Gpu::~Gpu() {
  static_cast<void>(cudnnDestroy(cudnn_));
  static_cast<void>(cudaStreamDestroy(stream_));
}

}  // namespace conv
