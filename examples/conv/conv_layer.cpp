#include "conv_layer.hpp"

#include "kernels.hpp"

#include <inline_prof/profile.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace conv {
namespace {

constexpr int kFilterExtent = 3;
constexpr float kOne = 1.0F;
constexpr float kZero = 0.0F;

std::size_t filter_count(const LayerShape& shape) {
  return static_cast<std::size_t>(shape.outputs) * static_cast<std::size_t>(shape.inputs) *
         kFilterExtent * kFilterExtent;
}

std::size_t output_count(const LayerShape& shape) {
  return static_cast<std::size_t>(shape.batch) * static_cast<std::size_t>(shape.outputs) *
         static_cast<std::size_t>(shape.extent) * static_cast<std::size_t>(shape.extent);
}

// The first algorithm of a heuristic's answer; it is sorted, and says itself what does not work.
template <typename Result>
auto first_choice(const Result& best, int count) {
  if (count < 1 || best.status != CUDNN_STATUS_SUCCESS) {
    throw std::runtime_error("cuDNN has no algorithm for this convolution");
  }
  return best.algo;
}

}  // namespace

// Filters are uniform with variance 2 / inputs (K. He et al., "Delving deep into rectifiers", ICCV
// 2015, doi:10.1109/ICCV.2015.123); the biases are 0.
ConvLayer::ConvLayer(const Gpu& gpu, std::string name, const LayerShape& shape, std::uint64_t seed)
    : gpu_(gpu),
      name_(std::move(name)),
      filter_(filter_count(shape)),
      bias_(static_cast<std::size_t>(shape.outputs)),
      filter_gradient_(filter_.count()),
      bias_gradient_(bias_.count()),
      output_(output_count(shape)) {
  EXAMPLE_CHECK(cudnnCreateTensorDescriptor(&input_layout_));
  EXAMPLE_CHECK(cudnnCreateTensorDescriptor(&output_layout_));
  EXAMPLE_CHECK(cudnnCreateTensorDescriptor(&bias_layout_));
  EXAMPLE_CHECK(cudnnCreateFilterDescriptor(&filter_layout_));
  EXAMPLE_CHECK(cudnnCreateConvolutionDescriptor(&convolution_));
  EXAMPLE_CHECK(cudnnCreateActivationDescriptor(&relu_));
  EXAMPLE_CHECK(cudnnSetTensor4dDescriptor(input_layout_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT,
                                           shape.batch, shape.inputs, shape.extent, shape.extent));
  EXAMPLE_CHECK(cudnnSetTensor4dDescriptor(output_layout_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT,
                                           shape.batch, shape.outputs, shape.extent, shape.extent));
  EXAMPLE_CHECK(cudnnSetTensor4dDescriptor(bias_layout_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1,
                                           shape.outputs, 1, 1));
  EXAMPLE_CHECK(cudnnSetFilter4dDescriptor(filter_layout_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW,
                                           shape.outputs, shape.inputs, kFilterExtent,
                                           kFilterExtent));
  EXAMPLE_CHECK(cudnnSetConvolution2dDescriptor(convolution_, 1, 1, 1, 1, 1, 1,
                                                CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  EXAMPLE_CHECK(
      cudnnSetActivationDescriptor(relu_, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0.0));
  choose_algorithms();
  EXAMPLE_CHECK(cudaMalloc(&workspace_, std::max<std::size_t>(workspace_bytes_, 1)));

  const auto inputs = static_cast<float>(shape.inputs * kFilterExtent * kFilterExtent);
  fill_uniform(gpu, filter_, std::sqrt(6.0F / inputs), seed);
  EXAMPLE_CHECK(cudaMemsetAsync(bias_.data(), 0, bias_.bytes(), gpu.stream()));
}

ConvLayer::~ConvLayer() {
  static_cast<void>(cudaFree(workspace_));
  static_cast<void>(cudnnDestroyActivationDescriptor(relu_));
  static_cast<void>(cudnnDestroyConvolutionDescriptor(convolution_));
  static_cast<void>(cudnnDestroyFilterDescriptor(filter_layout_));
  static_cast<void>(cudnnDestroyTensorDescriptor(bias_layout_));
  static_cast<void>(cudnnDestroyTensorDescriptor(output_layout_));
  static_cast<void>(cudnnDestroyTensorDescriptor(input_layout_));
}

void ConvLayer::choose_algorithms() {
  const cudnnHandle_t cudnn = gpu_.cudnn();
  int count = 0;
  cudnnConvolutionFwdAlgoPerf_t forward{};
  EXAMPLE_CHECK(cudnnGetConvolutionForwardAlgorithm_v7(
      cudnn, input_layout_, filter_layout_, convolution_, output_layout_, 1, &count, &forward));
  forward_algorithm_ = first_choice(forward, count);
  cudnnConvolutionBwdDataAlgoPerf_t data{};
  EXAMPLE_CHECK(cudnnGetConvolutionBackwardDataAlgorithm_v7(
      cudnn, filter_layout_, output_layout_, convolution_, input_layout_, 1, &count, &data));
  data_algorithm_ = first_choice(data, count);
  cudnnConvolutionBwdFilterAlgoPerf_t filter{};
  EXAMPLE_CHECK(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
      cudnn, input_layout_, output_layout_, convolution_, filter_layout_, 1, &count, &filter));
  filter_algorithm_ = first_choice(filter, count);

  std::size_t bytes = 0;
  EXAMPLE_CHECK(cudnnGetConvolutionForwardWorkspaceSize(cudnn, input_layout_, filter_layout_,
                                                        convolution_, output_layout_,
                                                        forward_algorithm_, &bytes));
  workspace_bytes_ = bytes;
  EXAMPLE_CHECK(cudnnGetConvolutionBackwardDataWorkspaceSize(
      cudnn, filter_layout_, output_layout_, convolution_, input_layout_, data_algorithm_, &bytes));
  workspace_bytes_ = std::max(workspace_bytes_, bytes);
  EXAMPLE_CHECK(cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnn, input_layout_, output_layout_,
                                                               convolution_, filter_layout_,
                                                               filter_algorithm_, &bytes));
  workspace_bytes_ = std::max(workspace_bytes_, bytes);
}

const Floats& ConvLayer::forward(const Floats& input) {
  PROFILE_SCOPE(name_, gpu_.stream());
  input_ = &input;
  EXAMPLE_CHECK(cudnnConvolutionForward(gpu_.cudnn(), &kOne, input_layout_, input.data(),
                                        filter_layout_, filter_.data(), convolution_,
                                        forward_algorithm_, workspace_, workspace_bytes_, &kZero,
                                        output_layout_, output_.data()));
  PROFILE_OP("fprop.bias", "memory", "read_bytes", output_.bytes() + bias_.bytes(), "write_bytes",
             output_.bytes());
  PROFILE_RECORD("fprop.bias.start", gpu_.stream());
  EXAMPLE_CHECK(cudnnAddTensor(gpu_.cudnn(), &kOne, bias_layout_, bias_.data(), &kOne,
                               output_layout_, output_.data()));
  PROFILE_RECORD("fprop.bias.stop", gpu_.stream());
  PROFILE_OP("fprop.relu", "memory", "read_bytes", output_.bytes(), "write_bytes", output_.bytes());
  PROFILE_RECORD("fprop.relu.start", gpu_.stream());
  EXAMPLE_CHECK(cudnnActivationForward(gpu_.cudnn(), relu_, &kOne, output_layout_, output_.data(),
                                       &kZero, output_layout_, output_.data()));
  PROFILE_RECORD("fprop.relu.stop", gpu_.stream());
  return output_;
}

void ConvLayer::backward(const Floats& output_gradient, const Floats* input_gradient) {
  PROFILE_SCOPE(name_, gpu_.stream());
  // A ReLU's gradient depends on the sign of its output alone, so that serves as its input, too.
  PROFILE_OP("bprop.relu", "memory", "read_bytes", 3 * output_.bytes(), "write_bytes",
             output_.bytes());
  PROFILE_RECORD("bprop.relu.start", gpu_.stream());
  EXAMPLE_CHECK(cudnnActivationBackward(gpu_.cudnn(), relu_, &kOne, output_layout_, output_.data(),
                                        output_layout_, output_gradient.data(), output_layout_,
                                        output_.data(), &kZero, output_layout_,
                                        output_gradient.data()));
  PROFILE_RECORD("bprop.relu.stop", gpu_.stream());
  PROFILE_OP("bprop.bias", "memory", "read_bytes", output_.bytes(), "write_bytes", bias_.bytes());
  PROFILE_RECORD("bprop.bias.start", gpu_.stream());
  EXAMPLE_CHECK(cudnnConvolutionBackwardBias(gpu_.cudnn(), &kOne, output_layout_,
                                             output_gradient.data(), &kZero, bias_layout_,
                                             bias_gradient_.data()));
  PROFILE_RECORD("bprop.bias.stop", gpu_.stream());
  EXAMPLE_CHECK(cudnnConvolutionBackwardFilter(gpu_.cudnn(), &kOne, input_layout_, input_->data(),
                                               output_layout_, output_gradient.data(), convolution_,
                                               filter_algorithm_, workspace_, workspace_bytes_,
                                               &kZero, filter_layout_, filter_gradient_.data()));
  if (input_gradient == nullptr) return;
  EXAMPLE_CHECK(cudnnConvolutionBackwardData(gpu_.cudnn(), &kOne, filter_layout_, filter_.data(),
                                             output_layout_, output_gradient.data(), convolution_,
                                             data_algorithm_, workspace_, workspace_bytes_, &kZero,
                                             input_layout_, input_gradient->data()));
}

void ConvLayer::update(float step) {
  PROFILE_SCOPE(name_, gpu_.stream());
  sgd_update(gpu_, filter_, filter_gradient_, step);
  sgd_update(gpu_, bias_, bias_gradient_, step);
}

}  // namespace conv
