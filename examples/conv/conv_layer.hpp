// One layer: a 3 x 3 convolution that keeps the size, a bias, a ReLU.  All in f32, NCHW.
#pragma once

#include "gpu.hpp"

#include <cstdint>
#include <string>

namespace conv {

struct LayerShape {
  int batch;
  int inputs;   // channels
  int outputs;  // channels
  int extent;   // height and width
};

class ConvLayer {
 public:
  // `name`: what the profiler calls it, "conv1".
  ConvLayer(const Gpu& gpu, std::string name, const LayerShape& shape, std::uint64_t seed);
  ~ConvLayer();
  ConvLayer(const ConvLayer&) = delete;
  ConvLayer& operator=(const ConvLayer&) = delete;

  // Gives the output [batch, outputs, extent, extent]; `input` must stay until backward.
  const Floats& forward(const Floats& input);

  // From the gradient of the output, which it overwrites, to those of the parameters and, where
  // `input_gradient` is not null, of the input.
  void backward(const Floats& output_gradient, const Floats* input_gradient);

  // Subtracts `step` times their gradients from the parameters.
  void update(float step);

 private:
  void choose_algorithms();

  const Gpu& gpu_;
  std::string name_;
  Floats filter_, bias_, filter_gradient_, bias_gradient_, output_;
  const Floats* input_ = nullptr;

  cudnnTensorDescriptor_t input_layout_ = nullptr, output_layout_ = nullptr, bias_layout_ = nullptr;
  cudnnFilterDescriptor_t filter_layout_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  cudnnActivationDescriptor_t relu_ = nullptr;
  cudnnConvolutionFwdAlgo_t forward_algorithm_{};
  cudnnConvolutionBwdDataAlgo_t data_algorithm_{};
  cudnnConvolutionBwdFilterAlgo_t filter_algorithm_{};
  void* workspace_ = nullptr;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace conv
