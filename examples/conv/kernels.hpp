// The kernels of this example: what cuDNN is not asked for.
#pragma once

#include "gpu.hpp"

#include <cstdint>

namespace conv {

// Uniform in [-scale, scale), a pure function of seed and index.
void fill_uniform(const Gpu& gpu, const Floats& values, float scale, std::uint64_t seed);

// gradient = (output - target) * factor, and adds the sum of the squared differences to `sum`.
void squared_error(const Gpu& gpu, const Floats& output, const Floats& target, float factor,
                   const Floats& gradient, const DeviceArray<double>& sum);

// parameters -= step * gradients
void sgd_update(const Gpu& gpu, const Floats& parameters, const Floats& gradients, float step);

}  // namespace conv
