#include "network.hpp"

#include "kernels.hpp"

#include <inline_prof/profile.h>

#include <cmath>
#include <cstdint>
#include <utility>

namespace allreduce {

Layer::Layer(std::string layer_name, std::size_t weight_count, std::size_t activation_count)
    : name(std::move(layer_name)),
      master(weight_count),
      weights(weight_count),
      gradient(weight_count),
      output(activation_count),
      input_gradient(activation_count) {}

Network::Network(const Gpu& gpu, const Place& place, const Options& options, int batch)
    : gpu_(gpu),
      width_(options.width),
      batch_(batch),
      // The loss of a sample is summed over its elements and its rank's samples.
      step_(options.learning_rate /
            (static_cast<float>(batch) * static_cast<float>(place.world_size) *
             static_cast<float>(options.width))),
      input_(activations()),
      target_(activations()),
      loss_gradient_(activations()) {
  const cudaStream_t stream = gpu_.compute();
  const auto own = static_cast<std::uint32_t>(place.rank + 1) * 1000003U;
  fill_random(stream, activations(), own, 1.0F, input_.data());
  fill_random(stream, activations(), own + 1, 1.0F, target_.data());
  const auto count = static_cast<std::size_t>(width_) * static_cast<std::size_t>(width_);
  const float scale = std::sqrt(6.0F / static_cast<float>(width_));  // K. He et al., ICCV 2015
  layers_.reserve(static_cast<std::size_t>(options.layers));
  for (int i = 0; i < options.layers; ++i) {
    Layer& layer = layers_.emplace_back("fc" + std::to_string(i), count, activations());
    fill_random(stream, count, static_cast<std::uint32_t>(i), scale, layer.weights.data());
    copy_to_float(stream, count, layer.weights.data(), layer.master.data());
  }
  EXAMPLE_CHECK(cudaStreamSynchronize(stream));
}

void Network::forward(Layer& layer, const __half* input) {
  const cudaStream_t stream = gpu_.compute();
  PROFILE_SCOPE(layer.name, stream);
  PROFILE_OP("fprop.gemm", "gemm", "m", batch_, "n", width_, "k", width_, "a_type", "f16", "b_type",
             "f16", "c_type", "f16", "compute_type", "f32");
  PROFILE_RECORD("fprop.gemm.start", stream);
  example::multiply(gpu_.cublas(), false, false, batch_, width_, width_, input,
                    layer.weights.data(), layer.output.data());
  PROFILE_RECORD("fprop.gemm.stop", stream);
  PROFILE_OP("fprop.relu", "memory", "read_bytes", layer.output.bytes(), "write_bytes",
             layer.output.bytes());
  PROFILE_RECORD("fprop.relu.start", stream);
  relu(stream, layer.output.count(), layer.output.data());
  PROFILE_RECORD("fprop.relu.stop", stream);
}

void Network::backward(Layer& layer, const __half* input, __half* output_gradient) {
  const cudaStream_t stream = gpu_.compute();
  PROFILE_SCOPE(layer.name, stream);
  PROFILE_OP("bprop.relu", "memory", "read_bytes", 2 * layer.output.bytes(), "write_bytes",
             layer.output.bytes());
  PROFILE_RECORD("bprop.relu.start", stream);
  relu_backward(stream, layer.output.count(), layer.output.data(), output_gradient);
  PROFILE_RECORD("bprop.relu.stop", stream);

  PROFILE_OP("bprop.gemm_weights", "gemm", "m", width_, "n", width_, "k", batch_, "a_type", "f16",
             "b_type", "f16", "c_type", "f16", "compute_type", "f32");
  PROFILE_RECORD("bprop.gemm_weights.start", stream);
  example::multiply(gpu_.cublas(), true, false, width_, width_, batch_, input, output_gradient,
                    layer.gradient.data());
  PROFILE_RECORD("bprop.gemm_weights.stop", stream);
  reduce_gradient(layer);  // while the rest of the backward pass goes on

  PROFILE_OP("bprop.gemm_input", "gemm", "m", batch_, "n", width_, "k", width_, "a_type", "f16",
             "b_type", "f16", "c_type", "f16", "compute_type", "f32");
  PROFILE_RECORD("bprop.gemm_input.start", stream);
  example::multiply(gpu_.cublas(), false, true, batch_, width_, width_, output_gradient,
                    layer.weights.data(), layer.input_gradient.data());
  PROFILE_RECORD("bprop.gemm_input.stop", stream);
}

// The profiler knows NCCL's calls: this one needs no label.
void Network::reduce_gradient(Layer& layer) {
  const cudaStream_t stream = gpu_.communication();
  layer.gradient_is_there.order(gpu_.compute(), stream);
  EXAMPLE_CHECK(ncclAllReduce(layer.gradient.data(), layer.gradient.data(), layer.gradient.count(),
                              ncclFloat16, ncclSum, gpu_.communicator(), stream));
}

void Network::update(Layer& layer) {
  const cudaStream_t stream = gpu_.compute();
  layer.gradient_is_summed.order(gpu_.communication(), stream);
  PROFILE_SCOPE(layer.name, stream);
  PROFILE_OP("update.sgd", "memory", "read_bytes", layer.master.bytes() + layer.gradient.bytes(),
             "write_bytes", layer.master.bytes() + layer.weights.bytes());
  PROFILE_RECORD("update.sgd.start", stream);
  sgd_update(stream, layer.weights.count(), step_, layer.gradient.data(), layer.master.data(),
             layer.weights.data());
  PROFILE_RECORD("update.sgd.stop", stream);
}

void Network::train_step() {
  PROFILE_ITERATION();
  const __half* input = input_.data();
  for (Layer& layer : layers_) {
    forward(layer, input);
    input = layer.output.data();
  }
  const cudaStream_t stream = gpu_.compute();
  PROFILE_OP("loss.gradient", "memory", "read_bytes", 2 * target_.bytes(), "write_bytes",
             target_.bytes());
  PROFILE_RECORD("loss.gradient.start", stream);
  loss_gradient(stream, activations(), input, target_.data(), loss_gradient_.data());
  PROFILE_RECORD("loss.gradient.stop", stream);

  __half* gradient = loss_gradient_.data();
  for (std::size_t i = layers_.size(); i-- > 0;) {
    backward(layers_[i], i == 0 ? input_.data() : layers_[i - 1].output.data(), gradient);
    gradient = layers_[i].input_gradient.data();
  }
  // The last layer's gradient is summed first.
  for (std::size_t i = layers_.size(); i-- > 0;)
    update(layers_[i]);
}

Network::Sums Network::weight_sums() const {
  const cudaStream_t stream = gpu_.compute();
  const DeviceArray<double> sums(2);
  EXAMPLE_CHECK(cudaMemsetAsync(sums.data(), 0, sums.bytes(), stream));
  for (const Layer& layer : layers_) {
    add_up(stream, layer.weights.count(), layer.weights.data(), sums.data());
  }
  EXAMPLE_CHECK(cudaMemcpyAsync(sums.data() + 1, sums.data(), sizeof(double),
                                cudaMemcpyDeviceToDevice, stream));
  EXAMPLE_CHECK(ncclAllReduce(sums.data(), sums.data(), 1, ncclFloat64, ncclMax,
                              gpu_.communicator(), stream));
  EXAMPLE_CHECK(ncclAllReduce(sums.data() + 1, sums.data() + 1, 1, ncclFloat64, ncclMin,
                              gpu_.communicator(), stream));
  Sums result;
  EXAMPLE_CHECK(cudaMemcpyAsync(&result.largest, sums.data(), sizeof(double),
                                cudaMemcpyDeviceToHost, stream));
  EXAMPLE_CHECK(cudaMemcpyAsync(&result.smallest, sums.data() + 1, sizeof(double),
                                cudaMemcpyDeviceToHost, stream));
  EXAMPLE_CHECK(cudaStreamSynchronize(stream));
  return result;
}

}  // namespace allreduce
