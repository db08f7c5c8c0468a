// Descriptors are made; those of tensors, filters, convolutions and activations are set and read.
#include "cudnn/descriptors.hpp"
#include "cudnn/handle.hpp"

#include <algorithm>
#include <type_traits>

using namespace simgpu;

namespace {

using Dims = std::vector<std::int64_t>;

Dims nchw_strides(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t next = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = next;
    next *= dims[i];
  }
  return strides;
}

// Channels are the dense dimension, then the spatial ones from the last, then the images.
Dims nhwc_strides(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t next = dims[1];
  strides.at(1) = 1;
  for (std::size_t i = dims.size(); i-- > 2;) {
    strides[i] = next;
    next *= dims[i];
  }
  strides[0] = next;
  return strides;
}

bool all_positive(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](std::int64_t d) { return d > 0; });
}

bool is_plain_format(cudnnTensorFormat_t format) {
  return format == CUDNN_TENSOR_NCHW || format == CUDNN_TENSOR_NHWC;
}

Dims dims_from(const int* values, int count) {
  return {values, values + count};
}

void copy_out(const Dims& from, int requested, int* to) {
  if (to == nullptr) return;
  for (std::size_t i = 0; i < from.size() && i < static_cast<std::size_t>(requested); ++i)
    to[i] = static_cast<int>(from[i]);
}

void set_tensor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, const Dims& dims,
                const Dims& strides) {
  fail_if(tensor == nullptr || dnn_type(type).name == nullptr || !all_positive(dims) ||
          !all_positive(strides));
  tensor->type = type;
  tensor->dims = dims;
  tensor->strides = strides;
}

void set_packed(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format, cudnnDataType_t type,
                const Dims& dims) {
  fail_if(!is_plain_format(format), CUDNN_STATUS_NOT_SUPPORTED);
  set_tensor(tensor, type, dims,
             format == CUDNN_TENSOR_NHWC ? nhwc_strides(dims) : nchw_strides(dims));
}

void set_filter(cudnnFilterDescriptor_t filter, cudnnDataType_t type, cudnnTensorFormat_t format,
                const Dims& dims) {
  fail_if(filter == nullptr || dnn_type(type).name == nullptr || !all_positive(dims));
  fail_if(!is_plain_format(format), CUDNN_STATUS_NOT_SUPPORTED);
  filter->type = type;
  filter->format = format;
  filter->dims = dims;
}

void set_convolution(cudnnConvolutionDescriptor_t convolution, const Dims& padding,
                     const Dims& stride, const Dims& dilation, cudnnConvolutionMode_t mode,
                     cudnnDataType_t compute) {
  fail_if(convolution == nullptr || !all_positive(stride) || !all_positive(dilation) ||
          std::any_of(padding.begin(), padding.end(), [](std::int64_t p) { return p < 0; }));
  convolution->padding = padding;
  convolution->stride = stride;
  convolution->dilation = dilation;
  convolution->mode = mode;
  convolution->compute = compute;
}

}  // namespace

// Made, and destroyed.
#define SIMGPU_DESCRIPTOR(Kind)                                         \
  SIMGPU_CALL(cudnnCreate##Kind##Descriptor, descriptor) {              \
    require(descriptor);                                                \
    *descriptor = new std::remove_pointer_t<cudnn##Kind##Descriptor_t>; \
  }                                                                     \
  SIMGPU_CALL(cudnnDestroy##Kind##Descriptor, descriptor) {             \
    delete descriptor;                                                  \
  }
SIMGPU_DESCRIPTOR(Tensor)
SIMGPU_DESCRIPTOR(Filter)
SIMGPU_DESCRIPTOR(Convolution)
SIMGPU_DESCRIPTOR(Activation)
SIMGPU_DESCRIPTOR(CTCLoss)
SIMGPU_DESCRIPTOR(Dropout)
SIMGPU_DESCRIPTOR(RNN)
SIMGPU_DESCRIPTOR(RNNData)
SIMGPU_DESCRIPTOR(SpatialTransformer)

SIMGPU_CALL(cudnnSetTensor4dDescriptor, tensor, format, type, n, c, h, w) {
  set_packed(tensor, format, type, {n, c, h, w});
}

SIMGPU_CALL(cudnnSetTensor4dDescriptorEx, tensor, type, n, c, h, w, n_stride, c_stride, h_stride,
            w_stride) {
  set_tensor(tensor, type, {n, c, h, w}, {n_stride, c_stride, h_stride, w_stride});
}

SIMGPU_CALL(cudnnSetTensorNdDescriptor, tensor, type, count, dims, strides) {
  fail_if(!all_given(dims, strides) || count < 3 || count > CUDNN_DIM_MAX);
  set_tensor(tensor, type, dims_from(dims, count), dims_from(strides, count));
}

SIMGPU_CALL(cudnnSetTensorNdDescriptorEx, tensor, format, type, count, dims) {
  fail_if(dims == nullptr || count < 3 || count > CUDNN_DIM_MAX);
  set_packed(tensor, format, type, dims_from(dims, count));
}

// The real library (9.19) gives the full count and writes as many elements as were asked for.
SIMGPU_CALL(cudnnGetTensorNdDescriptor, tensor, requested, type, count, dims, strides) {
  require(tensor);
  if (type != nullptr) *type = tensor->type;
  if (count != nullptr) *count = static_cast<int>(tensor->dims.size());
  copy_out(tensor->dims, requested, dims);
  copy_out(tensor->strides, requested, strides);
}

SIMGPU_CALL(cudnnGetTensorSizeInBytes, tensor, size) {
  require(tensor, size);
  // From the first element to the last: gaps between them count.
  std::int64_t last = 0;
  for (std::size_t i = 0; i < tensor->dims.size(); ++i)
    last += (tensor->dims[i] - 1) * tensor->strides[i];
  *size = static_cast<std::size_t>(static_cast<double>(last + 1) * dnn_type(tensor->type).bytes);
}

SIMGPU_CALL(cudnnSetFilter4dDescriptor, filter, type, format, k, c, h, w) {
  set_filter(filter, type, format, {k, c, h, w});
}

SIMGPU_CALL(cudnnSetFilterNdDescriptor, filter, type, format, count, dims) {
  fail_if(dims == nullptr || count < 3 || count > CUDNN_DIM_MAX);
  set_filter(filter, type, format, dims_from(dims, count));
}

SIMGPU_CALL(cudnnGetFilterNdDescriptor, filter, requested, type, format, count, dims) {
  require(filter);
  if (type != nullptr) *type = filter->type;
  if (format != nullptr) *format = filter->format;
  if (count != nullptr) *count = static_cast<int>(filter->dims.size());
  copy_out(filter->dims, requested, dims);
}

SIMGPU_CALL(cudnnSetConvolution2dDescriptor, convolution, pad_h, pad_w, stride_h, stride_w,
            dilation_h, dilation_w, mode, compute) {
  set_convolution(convolution, {pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}, mode,
                  compute);
}

SIMGPU_CALL(cudnnSetConvolutionNdDescriptor, convolution, length, padding, stride, dilation, mode,
            compute) {
  fail_if(!all_given(padding, stride, dilation) || length < 1 || length > CUDNN_DIM_MAX - 2);
  set_convolution(convolution, dims_from(padding, length), dims_from(stride, length),
                  dims_from(dilation, length), mode, compute);
}

SIMGPU_CALL(cudnnGetConvolutionNdDescriptor, convolution, requested, length, padding, stride,
            dilation, mode, compute) {
  require(convolution);
  if (length != nullptr) *length = static_cast<int>(convolution->padding.size());
  copy_out(convolution->padding, requested, padding);
  copy_out(convolution->stride, requested, stride);
  copy_out(convolution->dilation, requested, dilation);
  if (mode != nullptr) *mode = convolution->mode;
  if (compute != nullptr) *compute = convolution->compute;
}

SIMGPU_CALL(cudnnSetConvolutionMathType, convolution, math) {
  require(convolution);
  convolution->math = math;
}

SIMGPU_CALL(cudnnSetConvolutionGroupCount, convolution, count) {
  fail_if(convolution == nullptr || count < 1);
  convolution->groups = count;
}

SIMGPU_CALL(cudnnGetConvolutionGroupCount, convolution, count) {
  require(convolution, count);
  *count = convolution->groups;
}

SIMGPU_CALL(cudnnSetActivationDescriptor, activation, mode, nan, coefficient) {
  require(activation);
  *activation = {.mode = mode, .nan = nan, .coefficient = coefficient};
}
