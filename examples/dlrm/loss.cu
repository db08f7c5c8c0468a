#include "device.hpp"
#include "loss.hpp"
#include "shape.hpp"

#include <inline_prof/profile.h>

namespace dlrm {
namespace {

constexpr int kThreads = 256;

__global__ void binary_cross_entropy(int batch, float gradient_scale, const __half* logits,
                                     const float* labels, __half* gradient, double* sum) {
  __shared__ float losses[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  float loss = 0.0F;
  if (i < batch) {
    const float x = __half2float(logits[i]);
    const float y = labels[i];
    // -y log(p) - (1 - y) log(1 - p) with p = 1 / (1 + exp(-x)), in a form that cannot overflow.
    loss = fmaxf(x, 0.0F) - x * y + log1pf(expf(-fabsf(x)));
    gradient[i] = __float2half((1.0F / (1.0F + expf(-x)) - y) * gradient_scale);
  }
  losses[threadIdx.x] = loss;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) losses[threadIdx.x] += losses[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(sum, static_cast<double>(losses[0]));
}

}  // namespace

Loss::Loss(const Gpu& gpu, int batch) : gpu_(gpu), batch_(batch), gradient_(batch), sum_(1) {
  EXAMPLE_CHECK(cudaMemsetAsync(sum_.data(), 0, sum_.bytes(), gpu.stream()));
}

__half* Loss::forward_backward(const __half* logits, const float* labels) {
  PROFILE_SCOPE("loss1", gpu_.stream());
  PROFILE_OP("binary_cross_entropy", "memory", "read_bytes",
             gradient_.bytes() + batch_ * sizeof(float), "write_bytes", gradient_.bytes());
  PROFILE_RECORD("binary_cross_entropy.start", gpu_.stream());
  const auto blocks = static_cast<unsigned>((batch_ + kThreads - 1) / kThreads);
  binary_cross_entropy<<<blocks, kThreads, 0, gpu_.stream()>>>(
      batch_, kLossScale / static_cast<float>(batch_), logits, labels, gradient_.data(),
      sum_.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("binary_cross_entropy.stop", gpu_.stream());
  ++batches_since_mean_;
  return gradient_.data();
}

double Loss::take_mean() {
  double sum = 0.0;
  example::copy_on(gpu_.stream(), sum_.data(), &sum, sizeof sum);
  EXAMPLE_CHECK(cudaMemsetAsync(sum_.data(), 0, sum_.bytes(), gpu_.stream()));
  const double samples = static_cast<double>(batches_since_mean_) * batch_;
  batches_since_mean_ = 0;
  return sum / samples;
}

}  // namespace dlrm
