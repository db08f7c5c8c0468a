#include "gpu.hpp"
#include "kernels.hpp"

namespace allreduce {
namespace {

constexpr int kThreads = 256;

__device__ std::size_t element() {
  return static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
}

__global__ void fill_random_kernel(std::size_t count, std::uint32_t seed, float scale,
                                   __half* values) {
  const std::size_t i = element();
  if (i >= count) return;
  // The finaliser of MurmurHash3 (A. Appleby, public domain): neighbours get unlike numbers.
  std::uint32_t bits = static_cast<std::uint32_t>(i) * 0x9E3779B9U + seed;
  bits = (bits ^ (bits >> 16U)) * 0x85EBCA6BU;
  bits = (bits ^ (bits >> 13U)) * 0xC2B2AE35U;
  bits ^= bits >> 16U;
  values[i] = __float2half(scale * (static_cast<float>(bits) * 0x1p-31F - 1.0F));
}

__global__ void copy_to_float_kernel(std::size_t count, const __half* from, float* to) {
  const std::size_t i = element();
  if (i < count) to[i] = __half2float(from[i]);
}

__global__ void relu_kernel(std::size_t count, __half* values) {
  const std::size_t i = element();
  if (i < count) values[i] = __float2half(fmaxf(__half2float(values[i]), 0.0F));
}

__global__ void relu_backward_kernel(std::size_t count, const __half* outputs, __half* gradient) {
  const std::size_t i = element();
  if (i < count && !(__half2float(outputs[i]) > 0.0F)) gradient[i] = __float2half(0.0F);
}

__global__ void loss_gradient_kernel(std::size_t count, float scale, const __half* outputs,
                                     const __half* targets, __half* gradient) {
  const std::size_t i = element();
  if (i >= count) return;
  gradient[i] = __float2half(scale * (__half2float(outputs[i]) - __half2float(targets[i])));
}

__global__ void sgd_update_kernel(std::size_t count, float step, const __half* gradients,
                                  float* master, __half* values) {
  const std::size_t i = element();
  if (i >= count) return;
  master[i] -= step * __half2float(gradients[i]);
  values[i] = __float2half(master[i]);
}

__global__ void add_up_kernel(std::size_t count, const __half* values, double* sum) {
  const std::size_t i = element();
  if (i < count) atomicAdd(sum, static_cast<double>(__half2float(values[i])));
}

unsigned blocks_for(std::size_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

}  // namespace

void fill_random(cudaStream_t stream, std::size_t count, std::uint32_t seed, float scale,
                 __half* values) {
  fill_random_kernel<<<blocks_for(count), kThreads, 0, stream>>>(count, seed, scale, values);
  EXAMPLE_CHECK(cudaGetLastError());
}

void copy_to_float(cudaStream_t stream, std::size_t count, const __half* from, float* to) {
  copy_to_float_kernel<<<blocks_for(count), kThreads, 0, stream>>>(count, from, to);
  EXAMPLE_CHECK(cudaGetLastError());
}

void relu(cudaStream_t stream, std::size_t count, __half* values) {
  relu_kernel<<<blocks_for(count), kThreads, 0, stream>>>(count, values);
  EXAMPLE_CHECK(cudaGetLastError());
}

void relu_backward(cudaStream_t stream, std::size_t count, const __half* outputs,
                   __half* gradient) {
  relu_backward_kernel<<<blocks_for(count), kThreads, 0, stream>>>(count, outputs, gradient);
  EXAMPLE_CHECK(cudaGetLastError());
}

void loss_gradient(cudaStream_t stream, std::size_t count, const __half* outputs,
                   const __half* targets, __half* gradient) {
  // Without the division by `count`, which f16 could not hold; the step is so much smaller.
  loss_gradient_kernel<<<blocks_for(count), kThreads, 0, stream>>>(count, 1.0F, outputs, targets,
                                                                   gradient);
  EXAMPLE_CHECK(cudaGetLastError());
}

void sgd_update(cudaStream_t stream, std::size_t count, float step, const __half* gradients,
                float* master, __half* values) {
  sgd_update_kernel<<<blocks_for(count), kThreads, 0, stream>>>(count, step, gradients, master,
                                                                values);
  EXAMPLE_CHECK(cudaGetLastError());
}

void add_up(cudaStream_t stream, std::size_t count, const __half* values, double* sum) {
  add_up_kernel<<<blocks_for(count), kThreads, 0, stream>>>(count, values, sum);
  EXAMPLE_CHECK(cudaGetLastError());
}

}  // namespace allreduce
