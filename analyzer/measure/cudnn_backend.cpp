#include "measure/cudnn_backend.hpp"

#include "measure/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace inline_prof::measure {
namespace {

constexpr std::int64_t kAlignment = 256;  // of Gpu::take
constexpr std::int64_t kMostProposals = 64;

// The last line with words: before it stand warnings about the library's own set-up.
std::string last_words(const BackendFunctions& functions) {
  if (functions.last_error == nullptr) return {};
  std::array<char, 512> text{};
  functions.last_error(text.data(), text.size() - 1);
  std::string words = text.data();
  while (!words.empty() && (words.back() == '\n' || words.back() == ' '))
    words.pop_back();
  if (const auto line = words.rfind('\n'); line != std::string::npos) words.erase(0, line + 1);
  return words;
}

}  // namespace

BackendFunctions::BackendFunctions() {
  library.find(create, "cudnnBackendCreateDescriptor");
  library.find(destroy, "cudnnBackendDestroyDescriptor");
  library.find(set, "cudnnBackendSetAttribute");
  library.find(get, "cudnnBackendGetAttribute");
  library.find(finalize, "cudnnBackendFinalize");
  library.find(execute, "cudnnBackendExecute");
  library.find(error_string, "cudnnGetErrorString");
  library.find(get_version, "cudnnGetVersion");
  library.find_optional(last_error, "cudnnGetLastErrorString");
}

void BackendFunctions::require(cudnnStatus_t status, std::string_view what) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string words = last_words(*this);
  throw Skipped(fmt::format("{} answers {}{}{}", what, error_string(status),
                            words.empty() ? "" : ": ", words));
}

BackendDescriptor::BackendDescriptor(const BackendFunctions& functions,
                                     cudnnBackendDescriptorType_t type)
    : functions_(functions) {
  functions_.require(functions_.create(type, &handle_),
                     fmt::format("a descriptor of type {}", static_cast<int>(type)));
}

BackendDescriptor::~BackendDescriptor() {
  functions_.destroy(handle_);
}

BackendDescriptor& BackendDescriptor::set_raw(cudnnBackendAttributeName_t name,
                                              cudnnBackendAttributeType_t type, std::int64_t count,
                                              const void* values) {
  const cudnnStatus_t status = functions_.set(handle_, name, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS)
    functions_.require(status, fmt::format("attribute {}", static_cast<int>(name)));
  return *this;
}

void BackendDescriptor::finalize(std::string_view what) {
  functions_.require(functions_.finalize(handle_), what);
}

std::int64_t BackendDescriptor::integer(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  std::int64_t count = 0;
  const cudnnStatus_t status = functions_.get(handle_, name, CUDNN_TYPE_INT64, 1, &count, &value);
  if (status != CUDNN_STATUS_SUCCESS)
    functions_.require(status, fmt::format("reading attribute {}", static_cast<int>(name)));
  return value;
}

BackendTarget::BackendTarget(const BackendFunctions& functions, std::string_view device_json) {
#if CUDNN_VERSION >= 90800
  properties_ = std::make_shared<BackendDescriptor>(functions, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties_
      ->set_all(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, device_json.data(),
                device_json.size())
      .finalize("the GPU's description");
#else
  static_cast<void>(functions);
  static_cast<void>(device_json);
  throw Skipped("cuDNN before 9.8 knows no GPU by its description");
#endif
}

void BackendTarget::name_in_graph(BackendDescriptor& graph) const {
  if (handle_ != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle_);
}

// A graph with a handle has its GPU from there.
void BackendTarget::name_in_heuristic(BackendDescriptor& heuristic) const {
#if CUDNN_VERSION >= 90800
  if (properties_) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *properties_);
#else
  static_cast<void>(heuristic);
#endif
}

void BackendTarget::name_in_engine(BackendDescriptor& engine) const {
#if CUDNN_VERSION >= 90800
  if (properties_) engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *properties_);
#else
  static_cast<void>(engine);
#endif
}

void BackendTarget::name_in_plan(BackendDescriptor& plan) const {
  if (handle_ != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle_);
#if CUDNN_VERSION >= 90800
  if (properties_) plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *properties_);
#endif
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

BackendGraph::BackendGraph(const BackendFunctions& functions, BackendTarget target)
    : functions_(functions),
      target_(std::move(target)),
      graph_(functions, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {}

BackendDescriptor& BackendGraph::make(cudnnBackendDescriptorType_t type) {
  return made_.emplace_back(functions_, type);
}

const BackendDescriptor& BackendGraph::tensor(const BackendTensor& wanted) {
  BackendDescriptor& tensor = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  // A value of the host's has the alignment of its type.
  const std::int64_t alignment = wanted.place == BackendTensor::Place::kHostValue ? 4 : kAlignment;
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, wanted.type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, wanted.sizes)
      .set(CUDNN_ATTR_TENSOR_STRIDES, wanted.strides)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, wanted.id)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
  if (wanted.place == BackendTensor::Place::kVirtual)
    tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  if (wanted.place == BackendTensor::Place::kHostValue)
    tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  tensor.finalize(fmt::format("tensor {}", wanted.id));
  if (wanted.place == BackendTensor::Place::kMemory) ids_in_memory_.push_back(wanted.id);
  return tensor;
}

BackendDescriptor& BackendGraph::operation(cudnnBackendDescriptorType_t type) {
  BackendDescriptor& operation = make(type);
  operations_.push_back(operation.handle());
  return operation;
}

void BackendGraph::finalize() {
  target_.name_in_graph(graph_);
  graph_
      .set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations_.data(),
               operations_.size())
      .finalize("the operation graph");
}

std::int64_t BackendGraph::engine_count() const {
  return graph_.integer(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
}

EngineConfig engine_by_number(const BackendGraph& graph, std::int64_t engine) {
  const BackendFunctions& functions = graph.functions();
  EngineConfig result{
      .engine = engine,
      .engine_descriptor =
          std::make_shared<BackendDescriptor>(functions, CUDNN_BACKEND_ENGINE_DESCRIPTOR),
      .config = std::make_shared<BackendDescriptor>(functions, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)};
  result.engine_descriptor->set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.descriptor())
      .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, engine);
  graph.target().name_in_engine(*result.engine_descriptor);
  result.engine_descriptor->finalize("this engine");
  result.config->set(CUDNN_ATTR_ENGINECFG_ENGINE, *result.engine_descriptor)
      .finalize("this engine's configuration");
  return result;
}

std::vector<EngineConfig> proposals(const BackendGraph& graph, const HeuristicMode& mode) {
  const BackendFunctions& functions = graph.functions();
  BackendDescriptor heuristic(functions, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.descriptor())
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode.mode);
  graph.target().name_in_heuristic(heuristic);
  heuristic.finalize(fmt::format("heuristic {}", mode.name));
  std::int64_t count = 0;
  functions.require(functions.get(heuristic.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
                    fmt::format("what heuristic {} proposes", mode.name));
  count = std::min(count, kMostProposals);
  std::vector<EngineConfig> results;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    results.push_back({.engine = -1,
                       .engine_descriptor = std::make_shared<BackendDescriptor>(
                           functions, CUDNN_BACKEND_ENGINE_DESCRIPTOR),
                       .config = std::make_shared<BackendDescriptor>(
                           functions, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)});
    raw.push_back(results.back().config->handle());
  }
  if (count == 0) return results;
  functions.require(functions.get(heuristic.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, raw.data()),
                    fmt::format("what heuristic {} proposes", mode.name));
  results.resize(static_cast<std::size_t>(count));
  for (EngineConfig& result : results) {
    cudnnBackendDescriptor_t engine = result.engine_descriptor->handle();
    std::int64_t written = 0;
    functions.require(functions.get(result.config->handle(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &written, &engine),
                      "the engine of a proposal");
    result.engine = result.engine_descriptor->integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  }
  return results;
}

Rankings rankings_of(const BackendGraph& graph) {
  Rankings rankings;
  for (std::size_t i = 0; i < kHeuristicModes.size(); ++i) {
    try {
      for (const EngineConfig& config : proposals(graph, kHeuristicModes.at(i)))
        rankings.at(i).push_back(config.engine);
    } catch (const Skipped&) {
      rankings.at(i).clear();
    }
  }
  return rankings;
}

std::string places_of(std::int64_t engine, const Rankings& rankings) {
  std::string places;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const std::vector<std::int64_t>& ranking = rankings.at(i);
    const auto place = std::ranges::find(ranking, engine);
    if (place == ranking.end()) continue;
    places += fmt::format("{}{}:{}", places.empty() ? "" : " ", kHeuristicModes.at(i).name,
                          place - ranking.begin() + 1);
  }
  return places;
}

EnginePlan plan_of(const BackendGraph& graph, const EngineConfig& config) {
  EnginePlan result{.engine = config.engine,
                    .config = config,
                    .plan = std::make_shared<BackendDescriptor>(
                        graph.functions(), CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR),
                    .workspace_bytes = 0};
  graph.target().name_in_plan(*result.plan);
  result.plan->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, *config.config)
      .finalize("this engine's plan");
  result.workspace_bytes = result.plan->integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  return result;
}

EnginePlan first_plan(const BackendGraph& graph) {
  std::string refusal = "no engine is proposed";
  for (const HeuristicMode& mode : {kHeuristicModes.front(), kHeuristicModes.back()}) {
    std::vector<EngineConfig> found;
    try {
      found = proposals(graph, mode);
    } catch (const Skipped& reason) {
      refusal = reason.what();
    }
    for (const EngineConfig& config : found) {
      try {
        return plan_of(graph, config);
      } catch (const Skipped& reason) {
        refusal = reason.what();
      }
    }
  }
  throw Skipped(fmt::format("cuDNN has no engine for this graph: {}", refusal));
}

}  // namespace inline_prof::measure
