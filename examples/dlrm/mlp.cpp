#include "mlp.hpp"

#include "device.hpp"

#include <inline_prof/profile.h>

#include <cmath>
#include <random>

namespace dlrm {
namespace {

// Parameters start at multiples of 16 bytes, as cuBLAS asks for where it is to use tensor cores.
std::size_t aligned(std::size_t count) {
  return (count + 7) / 8 * 8;
}

std::size_t weight_count(const MlpShape& shape, std::size_t layer) {
  return static_cast<std::size_t>(shape.widths[layer]) *
         static_cast<std::size_t>(shape.widths[layer + 1]);
}

std::size_t bias_count(const MlpShape& shape, std::size_t layer) {
  return static_cast<std::size_t>(shape.widths[layer + 1]);
}

std::size_t parameter_count(const MlpShape& shape) {
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < shape.widths.size(); ++i) {
    count += aligned(weight_count(shape, i)) + aligned(bias_count(shape, i));
  }
  return count;
}

}  // namespace

Mlp::Mlp(const Gpu& gpu, const MlpShape& shape, unsigned seed)
    : gpu_(gpu), name_(shape.name), parameters_(parameter_count(shape)) {
  const std::size_t layer_count = shape.widths.size() - 1;
  layers_.reserve(layer_count);
  std::size_t weights = 0;
  for (std::size_t i = 0; i < layer_count; ++i) {
    const std::size_t bias = weights + aligned(weight_count(shape, i));
    layers_.emplace_back(
        gpu, "fc" + std::to_string(shape.first_layer + static_cast<int>(i)),
        FullyConnectedShape{.batch = shape.batch,
                            .inputs = shape.widths[i],
                            .outputs = shape.widths[i + 1],
                            .has_relu = i + 1 < layer_count || shape.has_final_relu,
                            .has_input_gradient = i > 0 || shape.has_input_gradient},
        FullyConnectedParameters{.weights = parameters_.values.data() + weights,
                                 .bias = parameters_.values.data() + bias,
                                 .weight_gradient = parameters_.gradients.data() + weights,
                                 .bias_gradient = parameters_.gradients.data() + bias});
    weights = bias + aligned(bias_count(shape, i));
  }
  initialize(shape, seed);
}

// Weights are normal with variance 2 / inputs (K. He et al., "Delving deep into rectifiers", ICCV
// 2015, doi:10.1109/ICCV.2015.123); the biases are 0.
void Mlp::initialize(const MlpShape& shape, unsigned seed) {
  std::vector<float> initial(parameters_.master.count(), 0.0F);
  std::mt19937 random(seed);
  std::size_t offset = 0;
  for (std::size_t i = 0; i + 1 < shape.widths.size(); ++i) {
    std::normal_distribution<float> normal(0.0F,
                                           std::sqrt(2.0F / static_cast<float>(shape.widths[i])));
    for (std::size_t w = 0; w < weight_count(shape, i); ++w)
      initial[offset + w] = normal(random);
    offset += aligned(weight_count(shape, i)) + aligned(bias_count(shape, i));
  }
  example::upload(gpu_.stream(), initial, parameters_.master.data());
  // A step along gradients of 0 makes the f16 values.
  EXAMPLE_CHECK(cudaMemsetAsync(parameters_.gradients.data(), 0, parameters_.gradients.bytes(),
                                gpu_.stream()));
  sgd_update(gpu_, parameters_, 0.0F);
}

const __half* Mlp::forward(const __half* input) {
  PROFILE_SCOPE(name_, gpu_.stream());
  const __half* values = input;
  for (FullyConnected& layer : layers_)
    values = layer.forward(values);
  return values;
}

__half* Mlp::backward(__half* output_gradient) {
  PROFILE_SCOPE(name_, gpu_.stream());
  __half* gradient = output_gradient;
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    gradient = layer->backward(gradient);
  }
  return gradient;
}

void Mlp::update(float step) {
  PROFILE_SCOPE(name_, gpu_.stream());
  sgd_update(gpu_, parameters_, step);
}

}  // namespace dlrm
