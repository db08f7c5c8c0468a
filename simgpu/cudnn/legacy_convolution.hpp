// From the older descriptors to a convolution.
#pragma once

#include "cudnn/convolution.hpp"
#include "cudnn/handle.hpp"

namespace simgpu {

struct ConvolutionDescriptors {
  ConvDirection direction;
  cudnnTensorDescriptor_t image;
  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t convolution;
  cudnnTensorDescriptor_t output;
};

// BAD_PARAM if one is null, types differ or extents do not fit together.
[[nodiscard]] cudnnStatus_t describe(const ConvolutionDescriptors& descriptors,
                                     Convolution& convolution);

// Dimensions of the output; BAD_PARAM if the filter does not fit.
[[nodiscard]] cudnnStatus_t output_dims(cudnnTensorDescriptor_t image,
                                        cudnnFilterDescriptor_t filter,
                                        cudnnConvolutionDescriptor_t convolution,
                                        std::vector<std::int64_t>& dims);

// Whether the value at `scale` is not zero: double for tensors of double, else float.
[[nodiscard]] bool is_not_zero(const void* scale, cudnnDataType_t tensor_type);

}  // namespace simgpu
