// Fully connected layers without bias, and one data-parallel training step of them.
#pragma once

#include "gpu.hpp"
#include "options.hpp"

#include <string>
#include <vector>

namespace allreduce {

// Y[batch,width] = relu(X[batch,width] * W[width,width])
struct Layer {
  Layer(std::string layer_name, std::size_t weight_count, std::size_t activation_count);

  std::string name;
  DeviceArray<float> master;  // in which small steps are not lost
  DeviceArray<__half> weights;
  DeviceArray<__half> gradient;  // of the weights; after the all-reduce, the sum over all ranks
  DeviceArray<__half> output;
  DeviceArray<__half> input_gradient;
  Event gradient_is_there;
  Event gradient_is_summed;
};

class Network {
 public:
  // `batch` samples on this rank.  Weights are the same on all ranks, samples are not.
  Network(const Gpu& gpu, const Place& place, const Options& options, int batch);

  void train_step();

  // Largest and smallest sum of all weights over the ranks: equal if every rank has learnt the
  // same.
  struct Sums {
    double largest = 0;
    double smallest = 0;
  };
  [[nodiscard]] Sums weight_sums() const;

 private:
  void forward(Layer& layer, const __half* input);
  void backward(Layer& layer, const __half* input, __half* output_gradient);
  void reduce_gradient(Layer& layer);
  void update(Layer& layer);
  [[nodiscard]] std::size_t activations() const {
    return static_cast<std::size_t>(batch_) * static_cast<std::size_t>(width_);
  }

  const Gpu& gpu_;
  int width_;
  int batch_;
  float step_;
  DeviceArray<__half> input_;
  DeviceArray<__half> target_;
  DeviceArray<__half> loss_gradient_;
  std::vector<Layer> layers_;
};

}  // namespace allreduce
