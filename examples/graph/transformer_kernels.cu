#include "random.cuh"
#include "transformer_kernels.hpp"

#include <inline_prof/profile.h>

namespace graph_example {
namespace {

constexpr int kThreads = 256;

// The sum of `value` over the block, on every thread.
__device__ float sum_of_block(float value) {
  __shared__ float parts[kThreads];
  parts[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  const float sum = parts[0];
  __syncthreads();
  return sum;
}

__global__ void layer_norm_kernel(int columns, const __half* input, __half* output) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  float sum = 0.0F;
  float squares = 0.0F;
  for (int i = threadIdx.x; i < columns; i += kThreads) {
    const float value = __half2float(input[row + i]);
    sum += value;
    squares += value * value;
  }
  const float mean = sum_of_block(sum) / columns;
  const float variance = sum_of_block(squares) / columns - mean * mean;
  const float scale = rsqrtf(variance + 1e-5F);
  for (int i = threadIdx.x; i < columns; i += kThreads)
    output[row + i] = __float2half((__half2float(input[row + i]) - mean) * scale);
}

// Without the row's maximum: inputs that were normalised do not overflow a float.
__global__ void softmax_kernel(int columns, float scale, __half* values) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  float sum = 0.0F;
  for (int i = threadIdx.x; i < columns; i += kThreads)
    sum += expf(scale * __half2float(values[row + i]));
  const float all = sum_of_block(sum);
  for (int i = threadIdx.x; i < columns; i += kThreads)
    values[row + i] = __float2half(expf(scale * __half2float(values[row + i])) / all);
}

__device__ std::size_t element_index() {
  return static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
}

__global__ void gelu_kernel(std::size_t count, __half* values) {
  const std::size_t i = element_index();
  if (i >= count) return;
  const float x = __half2float(values[i]);
  const float inner = 0.7978845608F * (x + 0.044715F * x * x * x);
  values[i] = __float2half(0.5F * x * (1.0F + tanhf(inner)));
}

__global__ void add_kernel(std::size_t count, const __half* addend, __half* sum) {
  const std::size_t i = element_index();
  if (i < count) sum[i] = __hadd(sum[i], addend[i]);
}

__global__ void fill_kernel(std::size_t count, float scale, unsigned seed, __half* values) {
  const std::size_t i = element_index();
  if (i < count) values[i] = __float2half(scale * dlrm::random_uniform(seed, i));
}

unsigned blocks_for(std::size_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

std::size_t bytes_of(std::size_t elements) {
  return elements * sizeof(__half);
}

}  // namespace

void layer_norm(const dlrm::Gpu& gpu, int rows, int columns, const __half* input, __half* output) {
  PROFILE_OP("layer_norm", "norm", "rows", rows, "cols", columns, "type", "f16", "pass", "forward");
  PROFILE_RECORD("layer_norm.start", gpu.stream());
  layer_norm_kernel<<<static_cast<unsigned>(rows), kThreads, 0, gpu.stream()>>>(columns, input,
                                                                                output);
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("layer_norm.stop", gpu.stream());
}

void softmax(const dlrm::Gpu& gpu, int rows, int columns, float scale, __half* values) {
  PROFILE_OP("softmax", "softmax", "rows", rows, "cols", columns, "type", "f16", "pass", "forward");
  PROFILE_RECORD("softmax.start", gpu.stream());
  softmax_kernel<<<static_cast<unsigned>(rows), kThreads, 0, gpu.stream()>>>(columns, scale,
                                                                             values);
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("softmax.stop", gpu.stream());
}

void gelu(const dlrm::Gpu& gpu, std::size_t count, __half* values) {
  PROFILE_OP("gelu", "memory", "read_bytes", bytes_of(count), "write_bytes", bytes_of(count));
  PROFILE_RECORD("gelu.start", gpu.stream());
  gelu_kernel<<<blocks_for(count), kThreads, 0, gpu.stream()>>>(count, values);
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("gelu.stop", gpu.stream());
}

void add(const dlrm::Gpu& gpu, std::size_t count, const __half* addend, __half* sum) {
  PROFILE_OP("residual", "memory", "read_bytes", 2 * bytes_of(count), "write_bytes",
             bytes_of(count));
  PROFILE_RECORD("residual.start", gpu.stream());
  add_kernel<<<blocks_for(count), kThreads, 0, gpu.stream()>>>(count, addend, sum);
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("residual.stop", gpu.stream());
}

void fill(const dlrm::Gpu& gpu, const Halves& values, float scale, unsigned seed) {
  fill_kernel<<<blocks_for(values.count()), kThreads, 0, gpu.stream()>>>(values.count(), scale,
                                                                         seed, values.data());
  EXAMPLE_CHECK(cudaGetLastError());
}

}  // namespace graph_example
