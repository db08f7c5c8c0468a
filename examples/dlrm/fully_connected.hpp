// One fully connected layer: Y = activation(X W + b), all row-major f16.
#pragma once

#include "gpu.hpp"

#include <string>

namespace dlrm {

struct FullyConnectedShape {
  int batch;
  int inputs;
  int outputs;
  bool has_relu;            // else the identity
  bool has_input_gradient;  // false: X are data, their gradient is not needed
};

// Pointers to a layer's parameters and their gradients; its network owns them.
struct FullyConnectedParameters {
  const __half* weights;  // [inputs, outputs]
  const __half* bias;     // [outputs]
  __half* weight_gradient;
  __half* bias_gradient;
};

class FullyConnected {
 public:
  // `layer`: what the profiler calls it, "fc1".
  FullyConnected(const Gpu& gpu, std::string layer, const FullyConnectedShape& shape,
                 const FullyConnectedParameters& parameters);

  // Gives Y [batch, outputs].  X [batch, inputs] must stay until backward.
  const __half* forward(const __half* input);

  // Takes the gradient of Y, which it overwrites with that of X W + b.  Fills the parameters'
  // gradients, and gives that of X, or null if there is none.
  __half* backward(__half* output_gradient);

 private:
  const Gpu& gpu_;
  std::string layer_;
  FullyConnectedShape shape_;
  FullyConnectedParameters parameters_;
  const __half* input_ = nullptr;
  DeviceArray<__half> output_;
  DeviceArray<__half> input_gradient_;  // one element if there is none
  DeviceArray<float> bias_gradient_sum_;
};

}  // namespace dlrm
