#include "kernels.hpp"

#include <inline_prof/profile.h>

namespace conv {
namespace {

constexpr int kThreads = 256;

// The SplitMix64 generator, entered at position `index` of the sequence of `seed`.
// Source: G. L. Steele Jr., D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014, doi:10.1145/2660193.2660195.
__device__ std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

__device__ std::size_t element_index() {
  return static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
}

__global__ void fill_uniform_kernel(std::size_t count, float scale, std::uint64_t seed,
                                    float* values) {
  const std::size_t i = element_index();
  if (i >= count) return;
  // The upper 24 bits: what a float holds exactly.
  const float uniform = static_cast<float>(random_bits(seed, i) >> 40) * 0x1p-23F - 1.0F;
  values[i] = scale * uniform;
}

__global__ void squared_error_kernel(std::size_t count, float factor, const float* output,
                                     const float* target, float* gradient, double* sum) {
  __shared__ float parts[kThreads];
  const std::size_t i = element_index();
  float error = 0.0F;
  if (i < count) {
    error = output[i] - target[i];
    gradient[i] = factor * error;
  }
  parts[threadIdx.x] = error * error;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(sum, static_cast<double>(parts[0]));
}

__global__ void sgd_update_kernel(std::size_t count, float step, const float* gradients,
                                  float* parameters) {
  const std::size_t i = element_index();
  if (i < count) parameters[i] -= step * gradients[i];
}

unsigned blocks_for(std::size_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

}  // namespace

void fill_uniform(const Gpu& gpu, const Floats& values, float scale, std::uint64_t seed) {
  fill_uniform_kernel<<<blocks_for(values.count()), kThreads, 0, gpu.stream()>>>(
      values.count(), scale, seed, values.data());
  EXAMPLE_CHECK(cudaGetLastError());
}

void squared_error(const Gpu& gpu, const Floats& output, const Floats& target, float factor,
                   const Floats& gradient, const DeviceArray<double>& sum) {
  PROFILE_OP("squared_error", "memory", "read_bytes", 2 * output.bytes(), "write_bytes",
             gradient.bytes());
  PROFILE_RECORD("squared_error.start", gpu.stream());
  squared_error_kernel<<<blocks_for(output.count()), kThreads, 0, gpu.stream()>>>(
      output.count(), factor, output.data(), target.data(), gradient.data(), sum.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("squared_error.stop", gpu.stream());
}

void sgd_update(const Gpu& gpu, const Floats& parameters, const Floats& gradients, float step) {
  PROFILE_OP("sgd_update", "memory", "read_bytes", 2 * parameters.bytes(), "write_bytes",
             parameters.bytes());
  PROFILE_RECORD("sgd_update.start", gpu.stream());
  sgd_update_kernel<<<blocks_for(parameters.count()), kThreads, 0, gpu.stream()>>>(
      parameters.count(), step, gradients.data(), parameters.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("sgd_update.stop", gpu.stream());
}

}  // namespace conv
