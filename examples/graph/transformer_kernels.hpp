// The kernels of a transformer block beside its matrix products.  All arrays are row-major f16.
#pragma once

#include "gpu.hpp"

namespace graph_example {

using Halves = dlrm::DeviceArray<__half>;

// Each row of `input` [rows, columns] to mean 0 and variance 1 (J. L. Ba, J. R. Kiros, G. E.
// Hinton, "Layer normalization", 2016, arXiv:1607.06450), without gain and bias.
void layer_norm(const dlrm::Gpu& gpu, int rows, int columns, const __half* input, __half* output);

// exp(scale x) over its row's sum, in place.
void softmax(const dlrm::Gpu& gpu, int rows, int columns, float scale, __half* values);

// In place; the form with tanh of D. Hendrycks, K. Gimpel, "Gaussian error linear units", 2016,
// arXiv:1606.08415.
void gelu(const dlrm::Gpu& gpu, std::size_t count, __half* values);

// sum += addend
void add(const dlrm::Gpu& gpu, std::size_t count, const __half* addend, __half* sum);

// Uniform in [-scale, scale].
void fill(const dlrm::Gpu& gpu, const Halves& values, float scale, unsigned seed);

}  // namespace graph_example
