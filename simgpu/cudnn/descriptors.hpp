// The descriptors of the functions that are older than the backend API.
#pragma once

#include "cudnn/vendor_cudnn.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

namespace simgpu {

// As kernel names spell a type; null: not simulated.
struct DnnType {
  const char* name;
  double bytes;
};
[[nodiscard]] DnnType dnn_type(cudnnDataType_t type);

[[nodiscard]] inline double count_of(const std::vector<std::int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), 1.0, [](double product, std::int64_t d) {
    return product * static_cast<double>(d);
  });
}

}  // namespace simgpu

// Dimensions are in the order n, c, h, w whatever the layout; the strides say which it is.
struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<std::int64_t> dims, strides;

  [[nodiscard]] double bytes() const {
    return simgpu::count_of(dims) * simgpu::dnn_type(type).bytes;
  }
  // Channels last: the second dimension is the dense one.
  [[nodiscard]] bool is_nhwc() const { return dims.size() > 2 && strides[1] == 1 && dims[1] > 1; }
};

struct cudnnFilterStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  std::vector<std::int64_t> dims;  // k, c / groups, r, s

  [[nodiscard]] double bytes() const {
    return simgpu::count_of(dims) * simgpu::dnn_type(type).bytes;
  }
};

struct cudnnConvolutionStruct {
  std::vector<std::int64_t> padding, stride, dilation;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int groups = 1;
};

struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_RELU;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  double coefficient = 0;
};

struct cudnnDropoutStruct {
  float probability = 0;
  void* states = nullptr;
  unsigned long long seed = 0;
};

struct cudnnSpatialTransformerStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<std::int64_t> dims;  // of the output: n, c, h, w
};

struct cudnnCTCLossStruct {
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnLossNormalizationMode_t normalization = CUDNN_LOSS_NORMALIZATION_NONE;
  int max_label_length = 0;  // of labels in the GPU's memory
};

struct cudnnRNNStruct {
  cudnnRNNAlgo_t algo = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNMode_t cell = CUDNN_RNN_TANH;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_DOUBLE_BIAS;
  cudnnDirectionMode_t direction = CUDNN_UNIDIRECTIONAL;
  cudnnRNNInputMode_t input_mode = CUDNN_LINEAR_INPUT;
  cudnnDataType_t type = CUDNN_DATA_FLOAT, compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  std::int32_t input_size = 0, hidden_size = 0, projected_size = 0, layers = 0;
  cudnnDropoutDescriptor_t dropout = nullptr;
  std::uint32_t flags = 0;
};

struct cudnnRNNDataStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
  int max_length = 0, vector_size = 0;
  std::vector<int> lengths;  // one per sequence of the batch
};
