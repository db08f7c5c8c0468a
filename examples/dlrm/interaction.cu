#include "interaction.hpp"

#include <inline_prof/profile.h>

namespace dlrm {
namespace {

constexpr int kThreads = 128;

// Elements from one vector to the next in shared memory.  Two more than needed: with a stride of a
// multiple of 32 words, threads that read different vectors would all hit one bank.
__host__ __device__ constexpr int vector_stride(int dim) {
  return dim + 2;
}

// Returns the position in the output of the dot product of vectors i and j, i > j.
__device__ int pair_position(const Shape& shape, int i, int j) {
  return shape.dim + i * (i - 1) / 2 + j;
}

// A block works on one sample.  Loads its vectors; the caller synchronises.
__device__ void load_vectors(const Shape& shape, const __half* dense, const __half* embedded,
                             __half* vectors) {
  const std::size_t sample = blockIdx.x;
  for (int e = threadIdx.x; e < shape.vectors * shape.dim; e += kThreads) {
    const int i = e / shape.dim;
    const int d = e % shape.dim;
    vectors[i * vector_stride(shape.dim) + d] =
        i == 0 ? dense[sample * shape.dim + d]
               : embedded[(sample * shape.tables + i - 1) * shape.dim + d];
  }
}

__device__ float dot(const __half* a, const __half* b, int dim) {
  float sum = 0.0F;
  for (int d = 0; d < dim; d += 2) {
    const float2 x = __half22float2(*reinterpret_cast<const __half2*>(a + d));
    const float2 y = __half22float2(*reinterpret_cast<const __half2*>(b + d));
    sum += x.x * y.x + x.y * y.y;
  }
  return sum;
}

__global__ void dot_interaction(Shape shape, const __half* dense, const __half* embedded,
                                __half* output) {
  extern __shared__ __half vectors[];
  load_vectors(shape, dense, embedded, vectors);
  __syncthreads();

  __half* const row = output + static_cast<std::size_t>(blockIdx.x) * shape.interaction_width;
  for (int d = threadIdx.x; d < shape.dim; d += kThreads)
    row[d] = vectors[d];
  const int stride = vector_stride(shape.dim);
  for (int e = threadIdx.x; e < shape.vectors * shape.vectors; e += kThreads) {
    const int i = e / shape.vectors;
    const int j = e % shape.vectors;
    if (i <= j) continue;
    row[pair_position(shape, i, j)] =
        __float2half(dot(vectors + i * stride, vectors + j * stride, shape.dim));
  }
  for (int e = shape.dim + shape.pairs + threadIdx.x; e < shape.interaction_width; e += kThreads) {
    row[e] = __float2half(0.0F);
  }
}

// The gradient of vector i is the sum over all j of gradient(i, j) * vector j; the dense vector
// also has its own copy in the output.
__global__ void dot_interaction_backward(Shape shape, const __half* dense, const __half* embedded,
                                         const __half* gradient, __half* dense_gradient,
                                         __half* embedded_gradient) {
  extern __shared__ __half vectors[];
  load_vectors(shape, dense, embedded, vectors);
  __half* const row_gradient = vectors + shape.vectors * vector_stride(shape.dim);
  const std::size_t sample = blockIdx.x;
  for (int e = threadIdx.x; e < shape.interaction_width; e += kThreads) {
    row_gradient[e] = gradient[sample * shape.interaction_width + e];
  }
  __syncthreads();

  for (int e = threadIdx.x; e < shape.vectors * shape.dim; e += kThreads) {
    const int i = e / shape.dim;
    const int d = e % shape.dim;
    float sum = i == 0 ? __half2float(row_gradient[d]) : 0.0F;
    for (int j = 0; j < shape.vectors; ++j) {
      if (i == j) continue;
      const int pair = i > j ? pair_position(shape, i, j) : pair_position(shape, j, i);
      sum += __half2float(row_gradient[pair]) *
             __half2float(vectors[j * vector_stride(shape.dim) + d]);
    }
    if (i == 0) {
      dense_gradient[sample * shape.dim + d] = __float2half(sum);
    } else {
      embedded_gradient[(sample * shape.tables + i - 1) * shape.dim + d] = __float2half(sum);
    }
  }
}

std::size_t dense_elements(const Shape& shape) {
  return static_cast<std::size_t>(shape.batch) * shape.dim;
}

}  // namespace

std::size_t Interaction::shared_bytes(const Shape& shape) {
  const int elements = shape.vectors * vector_stride(shape.dim) + shape.interaction_width;
  return static_cast<std::size_t>(elements) * sizeof(__half);
}

Interaction::Interaction(const Gpu& gpu, const Shape& shape)
    : gpu_(gpu),
      shape_(shape),
      output_(static_cast<std::size_t>(shape.batch) * shape.interaction_width),
      dense_gradient_(dense_elements(shape)),
      embedded_gradient_(dense_elements(shape) * shape.tables) {}

const __half* Interaction::forward(const __half* dense, const __half* embedded) {
  PROFILE_SCOPE("interaction1", gpu_.stream());
  PROFILE_OP("interaction.fprop", "memory", "read_bytes",
             dense_gradient_.bytes() + embedded_gradient_.bytes(), "write_bytes", output_.bytes());
  PROFILE_RECORD("interaction.fprop.start", gpu_.stream());
  dot_interaction<<<shape_.batch, kThreads, shared_bytes(shape_), gpu_.stream()>>>(
      shape_, dense, embedded, output_.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("interaction.fprop.stop", gpu_.stream());
  return output_.data();
}

void Interaction::backward(const __half* dense, const __half* embedded, const __half* gradient) {
  PROFILE_SCOPE("interaction1", gpu_.stream());
  const std::size_t vector_bytes = dense_gradient_.bytes() + embedded_gradient_.bytes();
  PROFILE_OP("interaction.bprop", "memory", "read_bytes", vector_bytes + output_.bytes(),
             "write_bytes", vector_bytes);
  PROFILE_RECORD("interaction.bprop.start", gpu_.stream());
  dot_interaction_backward<<<shape_.batch, kThreads, shared_bytes(shape_), gpu_.stream()>>>(
      shape_, dense, embedded, gradient, dense_gradient_.data(), embedded_gradient_.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("interaction.bprop.stop", gpu_.stream());
}

}  // namespace dlrm
