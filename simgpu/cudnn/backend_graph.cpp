#include "cudnn/backend_graph.hpp"

#include <algorithm>
#include <array>

namespace simgpu {
namespace {

// The attributes of an operation that stand for the same things in each direction.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  ConvDirection direction;
  cudnnBackendAttributeName_t convolution, image, filter, output, beta;
};
constexpr std::array kOperations{
    OperationNames{
        CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, ConvDirection::kForward,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    OperationNames{
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, ConvDirection::kBackwardData,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    OperationNames{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                   ConvDirection::kBackwardFilter,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

const OperationNames* names_of(const BackendDescriptor& operation) {
  const auto* names = std::ranges::find(kOperations, operation.type, &OperationNames::type);
  return names == kOperations.end() ? nullptr : names;
}

cudnnDataType_t type_of(const BackendDescriptor& tensor) {
  return tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
}

bool is_virtual(const BackendDescriptor& tensor) {
  return tensor.find(CUDNN_ATTR_TENSOR_IS_VIRTUAL) != nullptr &&
         tensor.value<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
}

double bytes_of(const BackendDescriptor& tensor) {
  return count_of(tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS)) * dnn_type(type_of(tensor)).bytes;
}

bool is_zero(const BackendDescriptor& operation, cudnnBackendAttributeName_t beta) {
  const BackendAttribute* factor = operation.find(beta);
  if (factor == nullptr) return true;
  return factor->type == CUDNN_TYPE_DOUBLE ? operation.value<double>(beta) == 0.0
                                           : operation.value<float>(beta) == 0.0F;
}

// A finalized operation has tensors with the group as a dimension of its own: n, g, c / g, h, w and
// g, k / g, c / g, r, s.  These merge it again.
std::vector<std::int64_t> merged_tensor(std::vector<std::int64_t> dims) {
  dims[1] *= dims[2];
  dims.erase(dims.begin() + 2);
  return dims;
}
std::vector<std::int64_t> merged_filter(std::vector<std::int64_t> dims) {
  dims[0] *= dims[1];
  dims.erase(dims.begin() + 1);
  return dims;
}

void add_tensor(const BackendDescriptor& tensor, GraphWork& work) {
  if (is_virtual(tensor)) return;
  const auto id = tensor.value<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  if (std::ranges::find(work.tensor_ids, id) == work.tensor_ids.end())
    work.tensor_ids.push_back(id);
}

const char* name_of(cudnnPointwiseMode_t mode) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return "_add";
    case CUDNN_POINTWISE_MUL:
      return "_mul";
    case CUDNN_POINTWISE_RELU_FWD:
      return "_relu";
    case CUDNN_POINTWISE_RELU_BWD:
      return "_drelu";
    case CUDNN_POINTWISE_GELU_FWD:
      return "_gelu";
    case CUDNN_POINTWISE_SIGMOID_FWD:
      return "_sigmoid";
    case CUDNN_POINTWISE_SWISH_FWD:
      return "_swish";
    default:
      return "_pointwise";
  }
}

void add_pointwise(const BackendDescriptor& operation, GraphWork& work) {
  const auto& pointwise = operation.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  work.epilogue += name_of(pointwise.value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE));
  for (const auto name :
       {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_DYDESC}) {
    if (operation.find(name) == nullptr) continue;
    const BackendDescriptor& tensor = operation.child(name);
    add_tensor(tensor, work);
    if (!is_virtual(tensor)) work.extra_bytes += bytes_of(tensor);
  }
}

// Operations that engines know in the graphs of fused_work() alone.
bool is_fused_only(cudnnBackendDescriptorType_t type) {
  return type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR;
}

}  // namespace

Convolution describe_operation(const BackendDescriptor& operation) {
  const OperationNames* names = names_of(operation);
  fail_if(names == nullptr, CUDNN_STATUS_NOT_SUPPORTED);
  const BackendDescriptor& image = operation.child(names->image);
  const BackendDescriptor& filter = operation.child(names->filter);
  const BackendDescriptor& output = operation.child(names->output);
  const BackendDescriptor& settings = operation.child(names->convolution);
  auto image_dims = image.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  auto filter_dims = filter.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  auto output_dims = output.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  auto strides = image.integers(CUDNN_ATTR_TENSOR_STRIDES);
  const auto spatial =
      static_cast<std::size_t>(settings.value<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  std::size_t channel = 1;
  if (operation.is_finalized) {
    image_dims = merged_tensor(image_dims);
    filter_dims = merged_filter(filter_dims);
    output_dims = merged_tensor(output_dims);
    channel = 2;
  }
  const std::size_t rank = spatial + 2;
  constexpr auto mismatch = CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  fail_if(image_dims.size() != rank || filter_dims.size() != rank || output_dims.size() != rank ||
              filter_dims[1] < 1 || image_dims[1] % filter_dims[1] != 0 ||
              filter_dims[0] % (image_dims[1] / filter_dims[1]) != 0 ||
              output_dims[0] != image_dims[0] || output_dims[1] != filter_dims[0],
          mismatch);
  const auto before = settings.integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const auto after = settings.integers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  Convolution convolution{};
  convolution.direction = names->direction;
  convolution.stride = settings.integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  convolution.dilation = settings.integers(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  for (std::size_t i = 0; i < spatial; ++i)
    fail_if(output_dims[i + 2] != output_extent(image_dims[i + 2], filter_dims[i + 2], before[i],
                                                after[i], convolution.stride[i],
                                                convolution.dilation[i]),
            mismatch);
  convolution.image = std::move(image_dims);
  convolution.filter = std::move(filter_dims);
  convolution.output = std::move(output_dims);
  convolution.type = type_of(image);
  convolution.is_nhwc = strides[channel] == 1 && convolution.image[1] > 1;
  convolution.reads_output = !is_zero(operation, names->beta);
  return convolution;
}

GraphWork describe_graph(const BackendDescriptor& graph) {
  GraphWork work;
  const auto& operations = graph.find(CUDNN_ATTR_OPERATIONGRAPH_OPS)->children;
  work.fused = fused_work(operations);
  for (const DescriptorPointer& operation : operations) {
    check(check_in_graph(*operation));
    if (work.fused || is_fused_only(operation->type)) {
      work.is_unknown = !work.fused;
      for (const DescriptorPointer& tensor : tensors_of(*operation))
        add_tensor(*tensor, work);
      continue;
    }
    if (operation->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
      add_pointwise(*operation, work);
      continue;
    }
    fail_if(work.convolution.has_value(), CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
    work.convolution = describe_operation(*operation);
    const OperationNames* names = names_of(*operation);
    for (const auto name : {names->image, names->filter, names->output})
      add_tensor(operation->child(name), work);
  }
  return work;
}

ConvMethod engine_method(std::int64_t index) {
  constexpr std::array methods{ConvMethod::kImplicitGemm, ConvMethod::kWinogradNonfused,
                               ConvMethod::kDirect, ConvMethod::kFftTiling};
  static_assert(methods.size() == kEngineCount);
  return methods[static_cast<std::size_t>(index)];
}

// Only the first engine fuses; pointwise operations alone, attention and norms are its, too.
bool engine_supports(const GraphWork& work, std::int64_t index) {
  if (work.is_unknown) return false;
  if (!work.convolution) return index == 0;
  return is_supported(*work.convolution, engine_method(index)) &&
         (index == 0 || work.epilogue.empty());
}

std::int64_t engine_workspace_bytes(const GraphWork& work, std::int64_t index) {
  if (!work.convolution) return 0;
  return static_cast<std::int64_t>(workspace_bytes(*work.convolution, engine_method(index)));
}

std::vector<KernelCall> engine_kernels(const GraphWork& work, std::int64_t index) {
  if (work.fused) {
    KernelCall call;
    call.name = work.fused->kernel;
    call.grid = {static_cast<unsigned>(work.fused->blocks), 1, 1};
    call.threads = 384;
    call.work = {.flops = work.fused->flops, .bytes = work.fused->bytes};
    return {call};
  }
  if (!work.convolution) {
    return {move_kernel({"ops", "generated" + work.epilogue + "_kernel"}, work.extra_bytes)};
  }
  return convolution_kernels(*work.convolution, engine_method(index), work.epilogue,
                             work.extra_bytes);
}

}  // namespace simgpu
