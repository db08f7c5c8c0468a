// cuDNN's backend interface: descriptors, graphs of operations, what its heuristics propose for a
// graph, and plans.  Whatever the library refuses is Skipped, with the words it gives.
#pragma once

#include "measure/dynamic_library.hpp"

#include <array>
#include <cstdint>
#include <cudnn.h>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::measure {

struct BackendFunctions {
  DynamicLibrary library{"libcudnn.so.9", "libcudnn.so.8"};
  decltype(cudnnBackendCreateDescriptor)* create = nullptr;
  decltype(cudnnBackendDestroyDescriptor)* destroy = nullptr;
  decltype(cudnnBackendSetAttribute)* set = nullptr;
  decltype(cudnnBackendGetAttribute)* get = nullptr;
  decltype(cudnnBackendFinalize)* finalize = nullptr;
  decltype(cudnnBackendExecute)* execute = nullptr;
  decltype(cudnnGetErrorString)* error_string = nullptr;
  decltype(cudnnGetVersion)* get_version = nullptr;
  decltype(cudnnGetLastErrorString)* last_error = nullptr;  // null before cuDNN 9

  BackendFunctions();
  void require(cudnnStatus_t status, std::string_view what) const;
};

class BackendDescriptor {
 public:
  BackendDescriptor(const BackendFunctions& functions, cudnnBackendDescriptorType_t type);
  ~BackendDescriptor();
  BackendDescriptor(const BackendDescriptor&) = delete;
  BackendDescriptor& operator=(const BackendDescriptor&) = delete;

  [[nodiscard]] cudnnBackendDescriptor_t handle() const { return handle_; }

  template <typename Value>
  BackendDescriptor& set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                             const Value* values, std::size_t count) {
    return set_raw(name, type, static_cast<std::int64_t>(count), values);
  }
  template <typename Value>
  BackendDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         Value value) {
    return set_all(name, type, &value, 1);
  }
  BackendDescriptor& set(cudnnBackendAttributeName_t name, const BackendDescriptor& child) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, child.handle_);
  }
  BackendDescriptor& set(cudnnBackendAttributeName_t name,
                         const std::vector<std::int64_t>& values) {
    return set_all(name, CUDNN_TYPE_INT64, values.data(), values.size());
  }
  void finalize(std::string_view what);

  [[nodiscard]] std::int64_t integer(cudnnBackendAttributeName_t name) const;

 private:
  BackendDescriptor& set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                             std::int64_t count, const void* values);

  const BackendFunctions& functions_;
  cudnnBackendDescriptor_t handle_ = nullptr;
};

// Which GPU graphs and plans are for: that of a handle; or one that is only described, by the JSON
// text of CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION (cuDNN 9.8), and need not be there; or neither,
// for descriptors alone.
class BackendTarget {
 public:
  BackendTarget() = default;
  explicit BackendTarget(cudnnHandle_t handle) : handle_(handle) {}
  BackendTarget(const BackendFunctions& functions, std::string_view device_json);

  void name_in_graph(BackendDescriptor& graph) const;
  void name_in_heuristic(BackendDescriptor& heuristic) const;
  void name_in_engine(BackendDescriptor& engine) const;
  void name_in_plan(BackendDescriptor& plan) const;

 private:
  cudnnHandle_t handle_ = nullptr;
  std::shared_ptr<BackendDescriptor> properties_;
};

struct BackendTensor {
  std::int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  enum class Place : std::uint8_t { kMemory, kVirtual, kHostValue } place = Place::kMemory;
};

// Strides of sizes that lie densely in memory, the last one fastest.
[[nodiscard]] std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& sizes);

// Operations, with all descriptors that they refer to.
class BackendGraph {
 public:
  BackendGraph(const BackendFunctions& functions, BackendTarget target);

  // What is made here lives as long as the graph.
  BackendDescriptor& make(cudnnBackendDescriptorType_t type);
  const BackendDescriptor& tensor(const BackendTensor& wanted);
  // An operation of the graph, which the caller sets and finalizes.
  BackendDescriptor& operation(cudnnBackendDescriptorType_t type);
  void finalize();

  [[nodiscard]] std::int64_t engine_count() const;
  [[nodiscard]] const BackendFunctions& functions() const { return functions_; }
  [[nodiscard]] const BackendTarget& target() const { return target_; }
  [[nodiscard]] const BackendDescriptor& descriptor() const { return graph_; }
  // Of the tensors that are neither virtual nor values, in the order in which they were made.
  [[nodiscard]] const std::vector<std::int64_t>& ids_in_memory() const { return ids_in_memory_; }

 private:
  const BackendFunctions& functions_;
  BackendTarget target_;
  std::deque<BackendDescriptor> made_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::vector<std::int64_t> ids_in_memory_;
  BackendDescriptor graph_;
};

struct HeuristicMode {
  std::string_view name;
  cudnnBackendHeurMode_t mode;
};
inline constexpr std::array<HeuristicMode, 4> kHeuristicModes{
    HeuristicMode{"a", CUDNN_HEUR_MODE_A}, HeuristicMode{"b", CUDNN_HEUR_MODE_B},
    HeuristicMode{"instant", CUDNN_HEUR_MODE_INSTANT},
    HeuristicMode{"fallback", CUDNN_HEUR_MODE_FALLBACK}};

// An engine with settings of its knobs.
struct EngineConfig {
  std::int64_t engine = -1;
  std::shared_ptr<BackendDescriptor> engine_descriptor;
  std::shared_ptr<BackendDescriptor> config;
};

// Engine number `engine` of those that cuDNN counts for the graph, with the settings that it has by
// itself.
[[nodiscard]] EngineConfig engine_by_number(const BackendGraph& graph, std::int64_t engine);

// Best first, as the library ranks them.
[[nodiscard]] std::vector<EngineConfig> proposals(const BackendGraph& graph,
                                                  const HeuristicMode& mode);

// The engines that each of kHeuristicModes proposes, best first; none where a mode has nothing to
// say about the graph.  Takes tens of milliseconds.
using Rankings = std::array<std::vector<std::int64_t>, kHeuristicModes.size()>;
[[nodiscard]] Rankings rankings_of(const BackendGraph& graph);

// Which modes propose an engine, and in which place: "a:1 b:2" says that it is mode A's first.
[[nodiscard]] std::string places_of(std::int64_t engine, const Rankings& rankings);

struct EnginePlan {
  std::int64_t engine = -1;
  EngineConfig config;
  std::shared_ptr<BackendDescriptor> plan;
  std::int64_t workspace_bytes = 0;
};
[[nodiscard]] EnginePlan plan_of(const BackendGraph& graph, const EngineConfig& config);

// The first proposal of mode A that can be planned, else the first of its fallback.  The words of
// the last refusal are in the Skipped if there is none.
[[nodiscard]] EnginePlan first_plan(const BackendGraph& graph);

}  // namespace inline_prof::measure
