#include "cudnn/legacy_convolution.hpp"

namespace simgpu {

cudnnStatus_t output_dims(cudnnTensorDescriptor_t image, cudnnFilterDescriptor_t filter,
                          cudnnConvolutionDescriptor_t convolution,
                          std::vector<std::int64_t>& dims) {
  if (!all_given(image, filter, convolution)) return CUDNN_STATUS_BAD_PARAM;
  const std::size_t rank = image->dims.size();
  if (rank < 3 || filter->dims.size() != rank || convolution->padding.size() + 2 != rank ||
      image->dims[1] != filter->dims[1] * convolution->groups ||
      filter->dims[0] % convolution->groups != 0) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  dims = {image->dims[0], filter->dims[0]};
  for (std::size_t i = 2; i < rank; ++i) {
    const auto extent = output_extent(image->dims[i], filter->dims[i], convolution->padding[i - 2],
                                      convolution->padding[i - 2], convolution->stride[i - 2],
                                      convolution->dilation[i - 2]);
    if (extent < 1) return CUDNN_STATUS_BAD_PARAM;
    dims.push_back(extent);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t describe(const ConvolutionDescriptors& d, Convolution& convolution) {
  if (d.output == nullptr) return CUDNN_STATUS_BAD_PARAM;
  std::vector<std::int64_t> expected;
  if (const auto status = output_dims(d.image, d.filter, d.convolution, expected);
      status != CUDNN_STATUS_SUCCESS) {
    return status;
  }
  if (d.output->dims != expected || d.image->type != d.filter->type ||
      d.image->type != d.output->type) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  convolution = {.direction = d.direction,
                 .image = d.image->dims,
                 .filter = d.filter->dims,
                 .output = d.output->dims,
                 .stride = d.convolution->stride,
                 .dilation = d.convolution->dilation,
                 .type = d.image->type,
                 .is_nhwc = d.filter->format == CUDNN_TENSOR_NHWC};
  return CUDNN_STATUS_SUCCESS;
}

bool is_not_zero(const void* scale, cudnnDataType_t tensor_type) {
  return tensor_type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(scale) != 0.0
                                          : *static_cast<const float*>(scale) != 0.0F;
}

}  // namespace simgpu
