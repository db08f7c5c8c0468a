// The descriptors of the functions that are older than the backend API.
#pragma once

#include "cudnn/vendor_cudnn.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

namespace inline_prof::simgpu {

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

}  // namespace inline_prof::simgpu

// Dimensions are in the order n, c, h, w whatever the layout; the strides say which it is.
struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<std::int64_t> dims, strides;

  [[nodiscard]] double bytes() const {
    return inline_prof::simgpu::count_of(dims) * inline_prof::simgpu::dnn_type(type).bytes;
  }
  // Channels last: the second dimension is the dense one.
  [[nodiscard]] bool is_nhwc() const { return dims.size() > 2 && strides[1] == 1 && dims[1] > 1; }
};

struct cudnnFilterStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  std::vector<std::int64_t> dims;  // k, c / groups, r, s

  [[nodiscard]] double bytes() const {
    return inline_prof::simgpu::count_of(dims) * inline_prof::simgpu::dnn_type(type).bytes;
  }
};

struct cudnnConvolutionStruct {
  std::vector<std::int64_t> padding, stride, dilation;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  cudnnReorderType_t reorder = CUDNN_DEFAULT_REORDER;
  int groups = 1;
};

struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_RELU;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  double coefficient = 0;
};
