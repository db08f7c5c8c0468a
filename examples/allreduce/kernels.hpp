// The kernels of this example.  `count` elements each; all on `stream`.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace allreduce {

// Uniform in [-scale, scale]; the same for the same seed on every rank.
void fill_random(cudaStream_t stream, std::size_t count, std::uint32_t seed, float scale,
                 __half* values);

void copy_to_float(cudaStream_t stream, std::size_t count, const __half* from, float* to);

void relu(cudaStream_t stream, std::size_t count, __half* values);
// Sets the gradient to 0 where the activation cut a value off.
void relu_backward(cudaStream_t stream, std::size_t count, const __half* outputs, __half* gradient);

// The gradient of mean((output - target)^2) / 2 over `count` elements.
void loss_gradient(cudaStream_t stream, std::size_t count, const __half* outputs,
                   const __half* targets, __half* gradient);

// Subtracts `step` times the gradient from the f32 weights, and renews the f16 ones.
void sgd_update(cudaStream_t stream, std::size_t count, float step, const __half* gradients,
                float* master, __half* values);

// The sum of the values, added to *sum.  Exact in whatever order, if they are few enough that it is
// below 2^28: each is a multiple of 2^-24.
void add_up(cudaStream_t stream, std::size_t count, const __half* values, double* sum);

}  // namespace allreduce
