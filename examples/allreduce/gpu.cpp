#include "gpu.hpp"

#include "device.hpp"

namespace allreduce {

Gpu::Gpu(const Place& place, const ncclUniqueId& id) {
  int devices = 0;
  EXAMPLE_CHECK(cudaGetDeviceCount(&devices));
  device_ = place.local_rank % devices;  // NCCL itself refuses two ranks on one real device
  name_ = example::select_device(device_);
  EXAMPLE_CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
  EXAMPLE_CHECK(cudaStreamCreateWithFlags(&communication_, cudaStreamNonBlocking));
  EXAMPLE_CHECK(cublasCreate(&cublas_));
  EXAMPLE_CHECK(cublasSetStream(cublas_, compute_));
  EXAMPLE_CHECK(ncclCommInitRank(&communicator_, place.world_size, id, place.rank));
}

Gpu::~Gpu() {
  static_cast<void>(cudaDeviceSynchronize());
  static_cast<void>(ncclCommDestroy(communicator_));
  static_cast<void>(cublasDestroy(cublas_));
  static_cast<void>(cudaStreamDestroy(communication_));
  static_cast<void>(cudaStreamDestroy(compute_));
}

}  // namespace allreduce
