#include "measure/cudnn_graphs.hpp"

namespace inline_prof::measure {
namespace {

using Sizes = std::vector<std::int64_t>;

template <std::size_t kCount>
Sizes listed(const std::array<std::int64_t, kCount>& values) {
  return {values.begin(), values.end()};
}

// What the attributes of a convolution's operation are called in each pass.
struct ConvNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t convolution, input, filter, output, alpha, beta;
};

ConvNames names_of(ConvPass pass) {
  switch (pass) {
    case ConvPass::kForward:
      break;
    case ConvPass::kBackwardData:
      return {.operation = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              .convolution = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              .input = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              .filter = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              .output = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvPass::kBackwardFilter:
      return {.operation = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              .convolution = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              .input = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              .filter = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              .output = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
  return {.operation = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          .convolution = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          .input = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          .filter = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          .output = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

const BackendDescriptor& conv_tensor(BackendGraph& graph, const ConvShape& shape, std::int64_t id,
                                     const std::array<std::int64_t, 4>& sizes) {
  const auto [n, c, h, w] = sizes;
  return graph.tensor({.id = id,
                       .type = shape.type,
                       .sizes = listed(sizes),
                       .strides = shape.channels_last ? Sizes{c * h * w, 1, w * c, c}
                                                      : dense_strides(listed(sizes))});
}

}  // namespace

void add_convolution(BackendGraph& graph, const ConvShape& shape) {
  const ConvNames names = names_of(shape.pass);
  const BackendDescriptor& input = conv_tensor(graph, shape, ConvIds::kInput, shape.input);
  const BackendDescriptor& filter = conv_tensor(graph, shape, ConvIds::kFilter, shape.filter);
  const BackendDescriptor& output = conv_tensor(graph, shape, ConvIds::kOutput, shape.output);
  BackendDescriptor& convolution = graph.make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2})
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, listed(shape.dilation))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, listed(shape.stride))
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, listed(shape.pad))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, listed(shape.pad))
      .finalize("the convolution");
  graph.operation(names.operation)
      .set(names.convolution, convolution)
      .set(names.input, input)
      .set(names.filter, filter)
      .set(names.output, output)
      .set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F)
      .set(names.beta, CUDNN_TYPE_FLOAT, 0.0F)
      .finalize("the convolution's operation");
  graph.finalize();
}

}  // namespace inline_prof::measure
