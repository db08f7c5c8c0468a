#include "sgd.hpp"

#include <inline_prof/profile.h>

namespace dlrm {
namespace {

constexpr int kThreads = 256;

__global__ void sgd_update_kernel(std::size_t count, float step, const __half* gradients,
                                  float* master, __half* values) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  master[i] -= step * __half2float(gradients[i]);
  values[i] = __float2half(master[i]);
}

}  // namespace

void sgd_update(const Gpu& gpu, const DenseParameters& parameters, float step) {
  const auto& [master, values, gradients] = parameters;
  PROFILE_OP("update.sgd_update", "memory", "read_bytes", master.bytes() + gradients.bytes(),
             "write_bytes", master.bytes() + values.bytes());
  PROFILE_RECORD("update.sgd_update.start", gpu.stream());
  const auto blocks = static_cast<unsigned>((master.count() + kThreads - 1) / kThreads);
  sgd_update_kernel<<<blocks, kThreads, 0, gpu.stream()>>>(master.count(), step, gradients.data(),
                                                           master.data(), values.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("update.sgd_update.stop", gpu.stream());
}

}  // namespace dlrm
