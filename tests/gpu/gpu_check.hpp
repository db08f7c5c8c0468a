// What the GPU programs share: errors end the program, and a machine without a GPU skips.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace inline_prof::gpu_test {

inline constexpr int kSkipped = 77;  // ctest's SKIP_RETURN_CODE for these programs

inline void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}

// Memory of the GPU, all zeros, until the program ends.
inline void* take_memory(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  check(cudaMemset(memory, 0, bytes), "cudaMemset");
  return memory;
}

// Ends the program where the runtime finds no device; the reason is on stderr.
inline void skip_without_gpu() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaSuccess && count > 0) return;
  std::fprintf(stderr, "skipped: no GPU (%s)\n",
               result == cudaSuccess ? "device count is 0" : cudaGetErrorString(result));
  std::exit(kSkipped);
}

}  // namespace inline_prof::gpu_test
