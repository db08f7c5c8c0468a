// An application that launches through Thrust only; see census.py.
#include "gpu_check.hpp"

#include <inline_prof/profile.hpp>

#include <cuda_runtime.h>

#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

namespace {

using inline_prof::gpu_test::check;

constexpr int kIterations = 10;
constexpr int kCount = 1 << 20;

}  // namespace

int main() {
  inline_prof::gpu_test::skip_without_gpu();
  int* memory = nullptr;
  check(cudaMalloc(&memory, kCount * sizeof(int)), "cudaMalloc");
  const thrust::device_ptr<int> values(memory);
  for (int i = 0; i < kIterations; ++i) {
    PROFILE_ITERATION();
    thrust::sequence(values, values + kCount, kCount, -1);
    thrust::sort(values, values + kCount);
    static_cast<void>(thrust::reduce(values, values + kCount, 0LL));
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return 0;
}
