// Waits for a value that nobody stores; prints what the synchronising call returns.
#include <cuda.h>

#include <cstdio>

int main() {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  void* host = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS || cuStreamCreate(&stream, 0) != CUDA_SUCCESS ||
      cuMemHostAlloc(&host, 4, 0) != CUDA_SUCCESS ||
      cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(host), 1,
                          CU_STREAM_WAIT_VALUE_EQ) != CUDA_SUCCESS) {
    return 2;
  }
  std::printf("%d\n", static_cast<int>(cuStreamSynchronize(stream)));
  return 0;
}
