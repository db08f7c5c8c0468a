// cuDNN 9 API, "cudnn_graph Library", Descriptor Types: the attributes of each, of what is
// simulated.
#include "cudnn/backend_descriptor.hpp"
#include "cudnn/handle.hpp"

#include <algorithm>
#include <iterator>

namespace simgpu {
namespace {

constexpr auto kRequired = AttributeRule::kRequired;
constexpr auto kOptional = AttributeRule::kOptional;
constexpr auto kReadOnly = AttributeRule::kReadOnly;
constexpr auto kInt64 = CUDNN_TYPE_INT64;
constexpr auto kDescriptor = CUDNN_TYPE_BACKEND_DESCRIPTOR;
constexpr std::int64_t kMaxDims = CUDNN_DIM_MAX;
constexpr std::int64_t kMaxOperations = 64;
constexpr std::int64_t kMaxTensors = 256;
constexpr std::int64_t kMaxText = 1 << 16;

constexpr auto kTensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
constexpr auto kConvolution = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
constexpr auto kForward = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
constexpr auto kBackwardData = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
constexpr auto kBackwardFilter = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
constexpr auto kPointwise = CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
constexpr auto kPointwiseOperation = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
constexpr auto kProduct = CUDNN_BACKEND_MATMUL_DESCRIPTOR;
constexpr auto kProductOperation = CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
constexpr auto kReduction = CUDNN_BACKEND_REDUCTION_DESCRIPTOR;
constexpr auto kReductionOperation = CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR;
constexpr auto kRandom = CUDNN_BACKEND_RNG_DESCRIPTOR;
constexpr auto kRandomOperation = CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR;
constexpr auto kReshapeOperation = CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR;
constexpr auto kNormForward = CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR;
constexpr auto kNormBackward = CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR;
#if CUDNN_VERSION >= 91300
constexpr auto kAttention = CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR;
#endif
constexpr auto kGraph = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
constexpr auto kHeuristic = CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
constexpr auto kEngine = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
constexpr auto kConfig = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
constexpr auto kPlan = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
constexpr auto kPack = CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;

constexpr AttributeRule kRules[] = {
    {kTensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kInt64, 1, kRequired},
    {kTensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, kRequired},
    {kTensor, CUDNN_ATTR_TENSOR_DIMENSIONS, kInt64, kMaxDims, kRequired},
    {kTensor, CUDNN_ATTR_TENSOR_STRIDES, kInt64, kMaxDims, kRequired},
    {kTensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, kInt64, 1, kRequired},
    {kTensor, CUDNN_ATTR_TENSOR_VECTOR_COUNT, kInt64, 1, kOptional},
    {kTensor, CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION, kInt64, 1, kOptional},
    {kTensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, kOptional},
    {kTensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, kOptional},
    {kTensor, CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE, 1, kOptional},

    {kConvolution, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_DILATIONS, kInt64, kMaxDims, kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, kInt64, kMaxDims, kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, kInt64, kMaxDims, kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, kInt64, kMaxDims, kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, kInt64, 1, kRequired},

    // A factor may also be a double: backend_api.cpp.
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, kOptional},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, kOptional},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kDescriptor, 1, kRequired},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, kDescriptor, 1, kRequired},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, kDescriptor, 1, kRequired},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, kDescriptor, 1, kRequired},
    {kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1,
     kOptional},
    {kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 1, kOptional},
    {kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, kDescriptor, 1, kRequired},
    {kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, kDescriptor, 1, kRequired},
    {kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, kDescriptor, 1, kRequired},
    {kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, kDescriptor, 1, kRequired},
    {kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, 1,
     kOptional},
    {kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, 1,
     kOptional},
    {kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, kDescriptor, 1,
     kRequired},
    {kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, kDescriptor, 1, kRequired},
    {kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, kDescriptor, 1, kRequired},
    {kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, kDescriptor, 1, kRequired},

    {kPointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, kRequired},
    {kPointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, kRequired},
    {kPointwise, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, 1, kOptional},
    {kPointwise, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1, kOptional},
    {kPointwise, CUDNN_ATTR_POINTWISE_AXIS, kInt64, 1, kOptional},
    {kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kDescriptor, 1, kRequired},
    {kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1, kOptional},
    {kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1, kOptional},
    {kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, kDescriptor, 1, kOptional},
    {kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, kDescriptor, 1, kOptional},
    {kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, kDescriptor, 1, kOptional},
    {kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, kDescriptor, 1, kOptional},
    {kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, kDescriptor, 1, kOptional},
    {kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, kDescriptor, 1, kOptional},

    {kProduct, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, kOptional},
    {kProductOperation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, kDescriptor, 1, kRequired},
    {kProductOperation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, kDescriptor, 1, kRequired},
    {kProductOperation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, kDescriptor, 1, kRequired},
    {kProductOperation, CUDNN_ATTR_OPERATION_MATMUL_DESC, kDescriptor, 1, kRequired},
    {kReduction, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, kRequired},
    {kReduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, kRequired},
    {kReduction, CUDNN_ATTR_REDUCTION_IS_DETERMINISTIC, CUDNN_TYPE_BOOLEAN, 1, kOptional},
    {kReductionOperation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, kDescriptor, 1, kRequired},
    {kReductionOperation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, kDescriptor, 1, kRequired},
    {kReductionOperation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, kDescriptor, 1, kRequired},
    {kRandom, CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION, 1, kRequired},
    {kRandom, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, CUDNN_TYPE_DOUBLE, 1, kOptional},
    {kRandomOperation, CUDNN_ATTR_OPERATION_RNG_YDESC, kDescriptor, 1, kRequired},
    {kRandomOperation, CUDNN_ATTR_OPERATION_RNG_DESC, kDescriptor, 1, kRequired},
    {kRandomOperation, CUDNN_ATTR_OPERATION_RNG_SEED, kDescriptor, 1, kOptional},
    {kRandomOperation, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, kDescriptor, 1, kOptional},
    {kReshapeOperation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, kDescriptor, 1, kRequired},
    {kReshapeOperation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, kDescriptor, 1, kRequired},
#if CUDNN_VERSION >= 91300
    {kAttention, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, kDescriptor, 1, kRequired},
    {kAttention, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, kDescriptor, 1, kRequired},
    {kAttention, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, kDescriptor, 1, kRequired},
    {kAttention, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, kDescriptor, 1, kRequired},
    {kAttention, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, kDescriptor, 1, kOptional},
    {kAttention, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, kDescriptor, 1, kOptional},
#endif
    {kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, kRequired},
    {kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, kRequired},
    {kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, kDescriptor, 1, kRequired},
    {kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, kDescriptor, 1, kRequired},
    {kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, kDescriptor, 1, kOptional},
    {kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, kDescriptor, 1, kOptional},
    {kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, kDescriptor, 1, kOptional},
    {kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, kDescriptor, 1, kOptional},
    {kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, kDescriptor, 1, kOptional},
    {kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, 1, kRequired},
    {kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, kDescriptor, 1, kRequired},
    {kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, kDescriptor, 1, kRequired},
    {kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, kDescriptor, 1, kRequired},
    {kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, kDescriptor, 1, kOptional},
    {kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, kDescriptor, 1, kOptional},
    {kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, kDescriptor, 1, kOptional},
    {kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, kDescriptor, 1, kOptional},
    {kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, kDescriptor, 1, kOptional},

#if CUDNN_VERSION >= 90800
    {CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
     CUDNN_TYPE_CHAR, kMaxText, kRequired},
    {kHeuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, kDescriptor, 1, kOptional},
    {kEngine, CUDNN_ATTR_ENGINE_DEVICEPROP, kDescriptor, 1, kOptional},
    {kPlan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, kDescriptor, 1, kOptional},
#endif

    {kGraph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, kOptional},
    {kGraph, CUDNN_ATTR_OPERATIONGRAPH_OPS, kDescriptor, kMaxOperations, kRequired},
    {kGraph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, kInt64, 1, kReadOnly},

    {kHeuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, kRequired},
    {kHeuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, kDescriptor, 1, kRequired},
    {kHeuristic, CUDNN_ATTR_ENGINEHEUR_SM_COUNT_TARGET, CUDNN_TYPE_INT32, 1, kOptional},
    {kHeuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, kDescriptor, kMaxTensors, kReadOnly},

    {kEngine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, kDescriptor, 1, kRequired},
    {kEngine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, kInt64, 1, kRequired},
    {kEngine, CUDNN_ATTR_ENGINE_SM_COUNT_TARGET, CUDNN_TYPE_INT32, 1, kOptional},

    {kEngine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
     CUDNN_NUMERICAL_NOTE_TYPE_COUNT, kReadOnly},
    {kEngine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
     CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, kReadOnly},
    {kEngine, CUDNN_ATTR_ENGINE_KNOB_INFO, kDescriptor, kMaxTensors, kReadOnly},

    {kConfig, CUDNN_ATTR_ENGINECFG_ENGINE, kDescriptor, 1, kRequired},
    {kConfig, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, kDescriptor, kMaxTensors, kReadOnly},
    {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
     1, kRequired},
    {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, kInt64, 1, kRequired},
    {CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR, CUDNN_ATTR_KNOB_INFO_TYPE, CUDNN_TYPE_KNOB_TYPE, 1,
     kReadOnly},
    {kConfig, CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, CUDNN_TYPE_INT32, 1, kReadOnly},
    {kConfig, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, kInt64, 1, kReadOnly},

    {kPlan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, kOptional},
    {kPlan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, kDescriptor, 1, kRequired},
    {kPlan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, kInt64, 1, kReadOnly},

    {kPack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kInt64, kMaxTensors, kRequired},
    {kPack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, kMaxTensors, kRequired},
    {kPack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, kOptional},
};

}  // namespace

const AttributeRule* find_rule(cudnnBackendDescriptorType_t owner,
                               cudnnBackendAttributeName_t name) {
  const auto* rule =
      std::find_if(std::begin(kRules), std::end(kRules),
                   [&](const AttributeRule& r) { return r.owner == owner && r.name == name; });
  return rule == std::end(kRules) ? nullptr : rule;
}

bool is_known(cudnnBackendDescriptorType_t type) {
  return std::any_of(std::begin(kRules), std::end(kRules),
                     [&](const AttributeRule& r) { return r.owner == type; });
}

void check_attributes(const BackendDescriptor& descriptor) {
  for (const AttributeRule& rule : kRules)
    fail_if(rule.owner == descriptor.type && rule.use == AttributeRule::kRequired &&
            descriptor.find(rule.name) == nullptr);
  for (const auto& [name, attribute] : descriptor.attributes) {
    for (const DescriptorPointer& child : attribute.children)
      fail_if(!child->is_finalized, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  }
}

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
      return sizeof(void*);
    case CUDNN_TYPE_INT64:
      return sizeof(std::int64_t);
    case CUDNN_TYPE_DOUBLE:
      return sizeof(double);
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 0;
    default:  // floats, 32-bit integers and enumerations
      return sizeof(std::int32_t);
  }
}

const BackendAttribute* BackendDescriptor::find(cudnnBackendAttributeName_t name) const {
  const auto it = attributes.find(name);
  return it == attributes.end() ? nullptr : &it->second;
}

std::vector<std::int64_t> BackendDescriptor::integers(cudnnBackendAttributeName_t name) const {
  const BackendAttribute* attribute = find(name);
  std::vector<std::int64_t> values(static_cast<std::size_t>(attribute->count));
  std::memcpy(values.data(), attribute->values.data(), attribute->values.size());
  return values;
}

}  // namespace simgpu
