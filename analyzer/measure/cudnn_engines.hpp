// Graphs of cuDNN's backend interface, run by one of its engines.
#pragma once

#include "measure/cudnn_backend.hpp"
#include "measure/gpu.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace inline_prof::measure {

struct PlannedGraph {
  BackendGraph graph;
  EnginePlan plan;
  std::string proposed_by;  // as places_of() says it

  PlannedGraph(const BackendFunctions& functions, BackendTarget target)
      : graph(functions, std::move(target)) {}
};

// Throw Skipped where cuDNN has no such engine for the graph, or the mode proposes none.
[[nodiscard]] EnginePlan plan_by_number(const BackendGraph& graph, std::int64_t engine);
[[nodiscard]] EnginePlan plan_by_heuristic(const BackendGraph& graph, std::string_view mode);

// By the number of the tensor.
using TensorsInMemory = std::vector<std::pair<std::int64_t, void*>>;
using HostValue = std::pair<std::int64_t, std::variant<float, std::int32_t>>;

[[nodiscard]] Work engine_work(cudnnHandle_t handle, Gpu& gpu,
                               std::shared_ptr<const PlannedGraph> planned,
                               const TensorsInMemory& tensors,
                               const std::vector<HostValue>& values);

}  // namespace inline_prof::measure
