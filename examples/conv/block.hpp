// Two convolution layers that learn what two others do.
#pragma once

#include "conv_layer.hpp"
#include "gpu.hpp"

#include <cstdint>

namespace conv {

struct BlockShape {
  int batch;
  int channels;  // of the images, and of both layers
  int extent;    // height and width of the images
};

// A block is trained to give the outputs of a hidden one, the teacher, for the same images.
class Block {
 public:
  Block(const Gpu& gpu, const BlockShape& shape, float learning_rate, std::uint64_t seed);

  void train_step();

  // The mean squared error of an output element since the last call.  Waits for the GPU.
  double take_mean_loss();

 private:
  const Gpu& gpu_;
  float step_;
  Floats images_, targets_, output_gradient_, hidden_gradient_;
  DeviceArray<double> squared_errors_;
  ConvLayer first_, second_;
  int steps_since_mean_ = 0;
};

}  // namespace conv
