// The same through nvcc, beside a kernel.
#include "every_macro.cpp"

__global__ void fill(int n, int* values) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) values[i] = i;
}

void launch(int n, int* values, cudaStream_t stream) {
  PROFILE_RECORD("fill.start", stream);
  fill<<<(n + 127) / 128, 128, 0, stream>>>(n, values);
  PROFILE_RECORD("fill.stop", stream);
  PROFILE_RECORD("fill.start", cudaStreamPerThread);
  PROFILE_RECORD("fill.stop", cudaStreamLegacy);
}
