#include "block.hpp"

#include "device.hpp"
#include "kernels.hpp"

#include <inline_prof/profile.h>

namespace conv {
namespace {

std::size_t element_count(const BlockShape& shape) {
  return static_cast<std::size_t>(shape.batch) * static_cast<std::size_t>(shape.channels) *
         static_cast<std::size_t>(shape.extent) * static_cast<std::size_t>(shape.extent);
}

LayerShape layer_of(const BlockShape& shape) {
  return {.batch = shape.batch,
          .inputs = shape.channels,
          .outputs = shape.channels,
          .extent = shape.extent};
}

}  // namespace

Block::Block(const Gpu& gpu, const BlockShape& shape, float learning_rate, std::uint64_t seed)
    : gpu_(gpu),
      step_(learning_rate),
      images_(element_count(shape)),
      targets_(images_.count()),
      output_gradient_(images_.count()),
      hidden_gradient_(images_.count()),
      squared_errors_(1),
      first_(gpu, "conv1", layer_of(shape), seed),
      second_(gpu, "conv2", layer_of(shape), seed + 1) {
  fill_uniform(gpu, images_, 1.0F, seed + 2);
  ConvLayer teacher_first(gpu, "teacher1", layer_of(shape), seed + 3);
  ConvLayer teacher_second(gpu, "teacher2", layer_of(shape), seed + 4);
  const Floats& targets = teacher_second.forward(teacher_first.forward(images_));
  EXAMPLE_CHECK(cudaMemcpyAsync(targets_.data(), targets.data(), targets.bytes(),
                                cudaMemcpyDeviceToDevice, gpu.stream()));
  EXAMPLE_CHECK(cudaMemsetAsync(squared_errors_.data(), 0, squared_errors_.bytes(), gpu.stream()));
  EXAMPLE_CHECK(cudaStreamSynchronize(gpu.stream()));  // the teacher goes
}

void Block::train_step() {
  PROFILE_ITERATION();
  const Floats& output = second_.forward(first_.forward(images_));
  {
    PROFILE_SCOPE("loss", gpu_.stream());
    squared_error(gpu_, output, targets_, 2.0F / static_cast<float>(output.count()),
                  output_gradient_, squared_errors_);
  }
  second_.backward(output_gradient_, &hidden_gradient_);
  first_.backward(hidden_gradient_, nullptr);
  second_.update(step_);
  first_.update(step_);
  ++steps_since_mean_;
}

double Block::take_mean_loss() {
  double sum = 0;
  example::copy_on(gpu_.stream(), squared_errors_.data(), &sum, sizeof sum);
  EXAMPLE_CHECK(cudaMemsetAsync(squared_errors_.data(), 0, squared_errors_.bytes(), gpu_.stream()));
  const double elements = static_cast<double>(images_.count()) * steps_since_mean_;
  steps_since_mean_ = 0;
  return sum / elements;
}

}  // namespace conv
