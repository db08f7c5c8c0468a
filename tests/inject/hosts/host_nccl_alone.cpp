// A rank alone: NCCL copies for its collective, as it does by the copy engines where it has no
// kernel to launch; then a copy of the program's own.
#include "host.hpp"

#include <inline_prof/profile.h>

#include <cuda.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>

int main() {
  host::open_context(0);
  CUstream stream = host::open_stream();
  constexpr std::size_t count = 1024;
  void* from = host::device_memory(count * sizeof(float));
  void* to = host::device_memory(count * sizeof(float));
  ncclComm_t comm = nullptr;
  CHECK(ncclCommInitAll(&comm, 1, nullptr));
  for (int i = 0; i < 30; ++i) {
    PROFILE_ITERATION();
    CHECK(ncclAllReduce(from, to, count, ncclFloat32, ncclSum, comm,
                        reinterpret_cast<cudaStream_t>(stream)));
    CHECK(cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(from), reinterpret_cast<CUdeviceptr>(to),
                            count, stream));
  }
  CHECK(cuStreamSynchronize(stream));
  CHECK(ncclCommDestroy(comm));
  std::printf("host ok\n");
  return 0;
}
