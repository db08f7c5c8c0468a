// Each kind of descriptor is checked and completed when it is finalized.
#include "cudnn/backend_graph.hpp"

#include <algorithm>

namespace simgpu {
namespace {

constexpr auto kDims = CUDNN_ATTR_TENSOR_DIMENSIONS;
constexpr auto kStrides = CUDNN_ATTR_TENSOR_STRIDES;

void finalize_tensor(const BackendDescriptor& tensor) {
  const auto dims = tensor.integers(kDims);
  fail_if(dims.size() != tensor.integers(kStrides).size() ||
          std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d <= 0; }) ||
          tensor.value<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) <= 0 ||
          dnn_type(tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)).name == nullptr);
}

void finalize_convolution(const BackendDescriptor& convolution) {
  const auto spatial = convolution.value<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  for (const auto name :
       {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
        CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}) {
    const auto values = convolution.integers(name);
    const std::int64_t least =
        name == CUDNN_ATTR_CONVOLUTION_DILATIONS || name == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES
            ? 1
            : 0;
    fail_if(static_cast<std::int64_t>(values.size()) != spatial ||
            std::any_of(values.begin(), values.end(), [&](std::int64_t v) { return v < least; }));
  }
}

// The real library (9.19) gives the tensors of an operation a dimension for the groups: images
// {n, g, c / g, ...}, filters {g, k / g, c / g, ...}.  A program that reads them back sees it; the
// descriptors that it made stay as they were.
DescriptorPointer with_groups(const BackendDescriptor& tensor, std::int64_t groups,
                              std::size_t split) {
  auto copy = std::make_shared<BackendDescriptor>(tensor);
  auto dims = tensor.integers(kDims), strides = tensor.integers(kStrides);
  const auto at = static_cast<std::ptrdiff_t>(split);
  const std::int64_t part = dims[split] / groups;
  dims[split] = part;
  dims.insert(dims.begin() + at, groups);
  strides.insert(strides.begin() + at, strides[split] * part);
  copy->set(kDims, CUDNN_TYPE_INT64, dims);
  copy->set(kStrides, CUDNN_TYPE_INT64, strides);
  return copy;
}

void finalize_operation(BackendDescriptor& operation) {
  const Convolution convolution = describe_operation(operation);
  for (auto& [name, attribute] : operation.attributes) {
    if (attribute.children.empty() ||
        attribute.children.front()->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
      continue;
    }
    const bool is_filter = name == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W ||
                           name == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W ||
                           name == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW;
    attribute.children.front() =
        with_groups(*attribute.children.front(), convolution.groups(), is_filter ? 0 : 1);
  }
}

void finalize_graph(BackendDescriptor& graph) {
  static_cast<void>(describe_graph(graph));
  graph.set<std::int64_t>(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64,
                          {kEngineCount});
}

void finalize_engine(const BackendDescriptor& engine) {
  const auto index = engine.value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  fail_if(index < 0 || index >= kEngineCount);
  const GraphWork work = describe_graph(engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
  fail_if(!engine_supports(work, index), CUDNN_STATUS_NOT_SUPPORTED);
}

void finalize_config(BackendDescriptor& config) {
  const BackendDescriptor& engine = config.child(CUDNN_ATTR_ENGINECFG_ENGINE);
  const GraphWork work = describe_graph(engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
  config.set<std::int64_t>(
      CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
      {engine_workspace_bytes(work, engine.value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX))});
}

void finalize_plan(BackendDescriptor& plan) {
  plan.set<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                         {plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
                              .value<std::int64_t>(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE)});
}

// The engines that a mode proposes, of those that can run the graph.  A ranks all of them, and so
// does B, which the real library passes on to A; INSTANT has the first alone; FALLBACK has what is
// there when A's fail, so here the order is turned round.
std::vector<std::int64_t> proposed_engines(const GraphWork& work, cudnnBackendHeurMode_t mode) {
  std::vector<std::int64_t> engines;
  for (std::int64_t index = 0; index < kEngineCount; ++index) {
    if (engine_supports(work, index)) engines.push_back(index);
  }
  if (mode == CUDNN_HEUR_MODE_FALLBACK) std::reverse(engines.begin(), engines.end());
  if (mode == CUDNN_HEUR_MODE_INSTANT && !engines.empty()) engines.resize(1);
  return engines;
}

// The results: a configuration for each engine that is proposed, finalized.
void finalize_heuristic(BackendDescriptor& heuristic) {
  const auto mode = heuristic.value<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  fail_if(mode < 0 || mode >= CUDNN_HEUR_MODES_COUNT);
  const auto& graph = heuristic.find(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->children.front();
  const GraphWork work = describe_graph(*graph);
  BackendAttribute results{CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, {}, {}};
  for (const std::int64_t index : proposed_engines(work, mode)) {
    auto engine = std::make_shared<BackendDescriptor>();
    engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
    engine->attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = {
        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {graph}};
    engine->set<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, {index});
    engine->is_finalized = true;
    auto config = std::make_shared<BackendDescriptor>();
    config->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
    config->attributes[CUDNN_ATTR_ENGINECFG_ENGINE] = {
        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {std::move(engine)}};
    finalize_config(*config);
    config->is_finalized = true;
    results.children.push_back(std::move(config));
  }
  results.count = static_cast<std::int64_t>(results.children.size());
  heuristic.attributes[CUDNN_ATTR_ENGINEHEUR_RESULTS] = std::move(results);
}

void finalize_pack(const BackendDescriptor& pack) {
  fail_if(pack.find(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)->count !=
          pack.find(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)->count);
}

}  // namespace

void finalize(BackendDescriptor& descriptor) {
  switch (descriptor.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return finalize_tensor(descriptor);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return finalize_convolution(descriptor);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return finalize_operation(descriptor);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return finalize_graph(descriptor);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
#if CUDNN_VERSION >= 91300
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
#endif
      return check(check_operation(descriptor));
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return finalize_engine(descriptor);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return finalize_config(descriptor);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return finalize_plan(descriptor);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return finalize_heuristic(descriptor);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return finalize_pack(descriptor);
    default:
      return;
  }
}

}  // namespace simgpu
