// The optimiser of the dense parameters: plain stochastic gradient descent.
#pragma once

#include "gpu.hpp"

namespace dlrm {

// The parameters of a network and their gradients.  Gradients are f16, and so is what the layers
// read; the optimiser keeps f32, in which small steps are not lost.
struct DenseParameters {
  explicit DenseParameters(std::size_t count) : master(count), values(count), gradients(count) {}

  DeviceArray<float> master;
  DeviceArray<__half> values;
  DeviceArray<__half> gradients;
};

// Subtracts `step` times its gradient from each parameter, and renews the f16 values.
void sgd_update(const Gpu& gpu, const DenseParameters& parameters, float step);

}  // namespace dlrm
