// Kernels of known length, for the GPU programs.
#pragma once

#include "gpu_check.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace inline_prof::gpu_test {

struct KernelTimes {
  std::uint64_t first_ns;
  std::uint64_t last_ns;
};

inline __device__ std::uint64_t global_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

inline __device__ void spin_cycles(std::int64_t cycles) {
  const std::int64_t start = clock64();
  while (clock64() - start < cycles) {
  }
}

// Runs for `cycles` of the SM clock and notes its begin and end on the global timer.
inline __device__ void spin_and_note(std::int64_t cycles, KernelTimes* times) {
  const std::uint64_t first_ns = global_ns();
  spin_cycles(cycles);
  *times = {first_ns, global_ns()};
}

// Counts SM cycles in `duration_ns` of the global timer.
static __global__ void count_cycles(std::uint64_t duration_ns, std::int64_t* cycles) {
  const std::int64_t start = clock64();
  const std::uint64_t first_ns = global_ns();
  while (global_ns() - first_ns < duration_ns) {
  }
  *cycles = clock64() - start;
}

// Returns the SM cycles in a microsecond once the GPU is busy: clocks rise over tens of
// milliseconds of work.
inline double cycles_per_us_when_warm(cudaStream_t stream) {
  constexpr std::uint64_t kWarmUpNs = 20'000'000;
  std::int64_t* cycles = nullptr;
  check(cudaMalloc(&cycles, sizeof *cycles), "cudaMalloc");
  for (int i = 0; i < 10; ++i)
    count_cycles<<<1, 1, 0, stream>>>(kWarmUpNs, cycles);
  check(cudaStreamSynchronize(stream), "warm-up");
  std::int64_t counted = 0;
  check(cudaMemcpy(&counted, cycles, sizeof counted, cudaMemcpyDeviceToHost), "cudaMemcpy");
  check(cudaFree(cycles), "cudaFree");
  return static_cast<double>(counted) / (static_cast<double>(kWarmUpNs) * 1e-3);
}

}  // namespace inline_prof::gpu_test
