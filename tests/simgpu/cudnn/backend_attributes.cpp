// cuDNN 9 API, "cudnn_graph Library", Descriptor Types: the attributes of each, of what is
// simulated.
#include "cudnn/backend_descriptor.hpp"

#include <algorithm>
#include <array>

namespace inline_prof::simgpu {
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
constexpr auto kGraph = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
constexpr auto kHeuristic = CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
constexpr auto kEngine = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
constexpr auto kConfig = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
constexpr auto kPlan = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
constexpr auto kPack = CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;

constexpr std::array kRules {
  AttributeRule{kTensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kInt64, 1, kRequired},
      AttributeRule{kTensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, kRequired},
      AttributeRule{kTensor, CUDNN_ATTR_TENSOR_DIMENSIONS, kInt64, kMaxDims, kRequired},
      AttributeRule{kTensor, CUDNN_ATTR_TENSOR_STRIDES, kInt64, kMaxDims, kRequired},
      AttributeRule{kTensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, kInt64, 1, kRequired},
      AttributeRule{kTensor, CUDNN_ATTR_TENSOR_VECTOR_COUNT, kInt64, 1, kOptional},
      AttributeRule{kTensor, CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION, kInt64, 1, kOptional},
      AttributeRule{kTensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, kOptional},
      AttributeRule{kTensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, kOptional},
      AttributeRule{kTensor, CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE,
                    1, kOptional},

      AttributeRule{kConvolution, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                    kRequired},
      AttributeRule{kConvolution, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1,
                    kRequired},
      AttributeRule{kConvolution, CUDNN_ATTR_CONVOLUTION_DILATIONS, kInt64, kMaxDims, kRequired},
      AttributeRule{kConvolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, kInt64, kMaxDims,
                    kRequired},
      AttributeRule{kConvolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, kInt64, kMaxDims,
                    kRequired},
      AttributeRule{kConvolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, kInt64, kMaxDims, kRequired},
      AttributeRule{kConvolution, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, kInt64, 1, kRequired},

      // A factor may also be a double: backend_api.cpp.
      AttributeRule{kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1,
                    kOptional},
      AttributeRule{kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1,
                    kOptional},
      AttributeRule{kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kDescriptor, 1,
                    kRequired},
      AttributeRule{kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, kDescriptor, 1,
                    kRequired},
      AttributeRule{kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, kDescriptor, 1,
                    kRequired},
      AttributeRule{kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, kDescriptor, 1,
                    kRequired},
      AttributeRule{kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                    CUDNN_TYPE_FLOAT, 1, kOptional},
      AttributeRule{kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT,
                    1, kOptional},
      AttributeRule{kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, kDescriptor,
                    1, kRequired},
      AttributeRule{kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, kDescriptor, 1,
                    kRequired},
      AttributeRule{kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, kDescriptor, 1,
                    kRequired},
      AttributeRule{kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, kDescriptor, 1,
                    kRequired},
      AttributeRule{kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                    CUDNN_TYPE_FLOAT, 1, kOptional},
      AttributeRule{kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                    CUDNN_TYPE_FLOAT, 1, kOptional},
      AttributeRule{kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                    kDescriptor, 1, kRequired},
      AttributeRule{kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, kDescriptor, 1,
                    kRequired},
      AttributeRule{kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, kDescriptor, 1,
                    kRequired},
      AttributeRule{kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, kDescriptor, 1,
                    kRequired},

      AttributeRule{kPointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, kRequired},
      AttributeRule{kPointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, kRequired},
      AttributeRule{kPointwise, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, 1,
                    kOptional},
      AttributeRule{kPointwise, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1,
                    kOptional},
      AttributeRule{kPointwise, CUDNN_ATTR_POINTWISE_AXIS, kInt64, 1, kOptional},
      AttributeRule{kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kDescriptor,
                    1, kRequired},
      AttributeRule{kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1,
                    kOptional},
      AttributeRule{kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1,
                    kOptional},
      AttributeRule{kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, kDescriptor, 1,
                    kOptional},

      AttributeRule{kProduct, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, kOptional},
      AttributeRule{kProductOperation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, kDescriptor, 1,
                    kRequired},
      AttributeRule{kProductOperation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, kDescriptor, 1,
                    kRequired},
      AttributeRule{kProductOperation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, kDescriptor, 1,
                    kRequired},
      AttributeRule{kProductOperation, CUDNN_ATTR_OPERATION_MATMUL_DESC, kDescriptor, 1, kRequired},
      AttributeRule{kReduction, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
                    1, kRequired},
      AttributeRule{kReduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, kRequired},
      AttributeRule{kReduction, CUDNN_ATTR_REDUCTION_IS_DETERMINISTIC, CUDNN_TYPE_BOOLEAN, 1,
                    kOptional},
      AttributeRule{kReductionOperation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, kDescriptor, 1,
                    kRequired},
      AttributeRule{kReductionOperation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, kDescriptor, 1,
                    kRequired},
      AttributeRule{kReductionOperation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, kDescriptor, 1,
                    kRequired},
      AttributeRule{kRandom, CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION, 1,
                    kRequired},
      AttributeRule{kRandom, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, CUDNN_TYPE_DOUBLE, 1,
                    kOptional},
      AttributeRule{kRandomOperation, CUDNN_ATTR_OPERATION_RNG_YDESC, kDescriptor, 1, kRequired},
      AttributeRule{kRandomOperation, CUDNN_ATTR_OPERATION_RNG_DESC, kDescriptor, 1, kRequired},
      AttributeRule{kRandomOperation, CUDNN_ATTR_OPERATION_RNG_SEED, kDescriptor, 1, kOptional},
      AttributeRule{kRandomOperation, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kReshapeOperation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, kDescriptor, 1,
                    kRequired},
      AttributeRule{kReshapeOperation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, kDescriptor, 1,
                    kRequired},
#if CUDNN_VERSION >= 91300
      AttributeRule{CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
                    CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, kDescriptor, 1, kRequired},
      AttributeRule{CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
                    CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, kDescriptor, 1, kRequired},
      AttributeRule{CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
                    CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, kDescriptor, 1, kRequired},
      AttributeRule{CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
                    CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, kDescriptor, 1, kRequired},
      AttributeRule{CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
                    CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, kDescriptor, 1, kOptional},
#endif
      AttributeRule{kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1,
                    kRequired},
      AttributeRule{kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1,
                    kRequired},
      AttributeRule{kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, kDescriptor, 1, kRequired},
      AttributeRule{kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, kDescriptor, 1, kRequired},
      AttributeRule{kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kNormForward, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, 1,
                    kRequired},
      AttributeRule{kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, kDescriptor, 1, kRequired},
      AttributeRule{kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, kDescriptor, 1, kRequired},
      AttributeRule{kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, kDescriptor, 1, kRequired},
      AttributeRule{kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, kDescriptor, 1,
                    kOptional},
      AttributeRule{kNormBackward, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, kDescriptor, 1,
                    kOptional},

#if CUDNN_VERSION >= 90800
      AttributeRule{CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                    CUDNN_TYPE_CHAR, kMaxText, kRequired},
      AttributeRule{kHeuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, kDescriptor, 1, kOptional},
      AttributeRule{kEngine, CUDNN_ATTR_ENGINE_DEVICEPROP, kDescriptor, 1, kOptional},
      AttributeRule{kPlan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, kDescriptor, 1, kOptional},
#endif

      AttributeRule{kGraph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, kOptional},
      AttributeRule{kGraph, CUDNN_ATTR_OPERATIONGRAPH_OPS, kDescriptor, kMaxOperations, kRequired},
      AttributeRule{kGraph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, kInt64, 1, kReadOnly},

      AttributeRule{kHeuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, kRequired},
      AttributeRule{kHeuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, kDescriptor, 1, kRequired},
      AttributeRule{kHeuristic, CUDNN_ATTR_ENGINEHEUR_SM_COUNT_TARGET, CUDNN_TYPE_INT32, 1,
                    kOptional},
      AttributeRule{kHeuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, kDescriptor, kMaxTensors, kReadOnly},

      AttributeRule{kEngine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, kDescriptor, 1, kRequired},
      AttributeRule{kEngine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, kInt64, 1, kRequired},
      AttributeRule{kEngine, CUDNN_ATTR_ENGINE_SM_COUNT_TARGET, CUDNN_TYPE_INT32, 1, kOptional},

      AttributeRule{kEngine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                    CUDNN_NUMERICAL_NOTE_TYPE_COUNT, kReadOnly},
      AttributeRule{kEngine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                    CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, kReadOnly},
      AttributeRule{kEngine, CUDNN_ATTR_ENGINE_KNOB_INFO, kDescriptor, kMaxTensors, kReadOnly},

      AttributeRule{kConfig, CUDNN_ATTR_ENGINECFG_ENGINE, kDescriptor, 1, kRequired},
      AttributeRule{kConfig, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, kDescriptor, kMaxTensors,
                    kReadOnly},
      AttributeRule{CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                    CUDNN_TYPE_KNOB_TYPE, 1, kRequired},
      AttributeRule{CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, kInt64,
                    1, kRequired},
      AttributeRule{CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR, CUDNN_ATTR_KNOB_INFO_TYPE,
                    CUDNN_TYPE_KNOB_TYPE, 1, kReadOnly},
      AttributeRule{kConfig, CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, CUDNN_TYPE_INT32, 1,
                    kReadOnly},
      AttributeRule{kConfig, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, kInt64, 1, kReadOnly},

      AttributeRule{kPlan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, kOptional},
      AttributeRule{kPlan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, kDescriptor, 1, kRequired},
      AttributeRule{kPlan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, kInt64, 1, kReadOnly},

      AttributeRule{kPack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kInt64, kMaxTensors, kRequired},
      AttributeRule{kPack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, kMaxTensors,
                    kRequired},
      AttributeRule {
    kPack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, kOptional
  }
};

}  // namespace

const AttributeRule* find_rule(cudnnBackendDescriptorType_t owner,
                               cudnnBackendAttributeName_t name) {
  const auto* rule = std::find_if(kRules.begin(), kRules.end(), [&](const AttributeRule& r) {
    return r.owner == owner && r.name == name;
  });
  return rule == kRules.end() ? nullptr : rule;
}

bool is_known(cudnnBackendDescriptorType_t type) {
  return std::any_of(kRules.begin(), kRules.end(),
                     [&](const AttributeRule& r) { return r.owner == type; });
}

cudnnStatus_t check_attributes(const BackendDescriptor& descriptor) {
  for (const AttributeRule& rule : kRules) {
    if (rule.owner == descriptor.type && rule.use == AttributeRule::kRequired &&
        descriptor.find(rule.name) == nullptr) {
      return CUDNN_STATUS_BAD_PARAM;
    }
  }
  for (const auto& [name, attribute] : descriptor.attributes) {
    for (const DescriptorPointer& child : attribute.children) {
      if (!child->is_finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    }
  }
  return CUDNN_STATUS_SUCCESS;
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

}  // namespace inline_prof::simgpu
