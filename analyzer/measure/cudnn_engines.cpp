#include "measure/cudnn_engines.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace inline_prof::measure {
namespace {

// What a run refers to, in the order in which it is made.
struct Run {
  std::shared_ptr<const PlannedGraph> planned;
  std::vector<HostValue> values;
  BackendDescriptor pack;

  Run(std::shared_ptr<const PlannedGraph> graph, std::vector<HostValue> host_values)
      : planned(std::move(graph)),
        values(std::move(host_values)),
        pack(planned->graph.functions(), CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {}
};

}  // namespace

EnginePlan plan_by_number(const BackendGraph& graph, std::int64_t engine) {
  if (engine >= graph.engine_count())
    throw Skipped("cuDNN has no engine of this number for this convolution");
  return plan_of(graph, engine_by_number(graph, engine));
}

EnginePlan plan_by_heuristic(const BackendGraph& graph, std::string_view mode) {
  const auto* found = std::ranges::find_if(
      kHeuristicModes, [&](const HeuristicMode& one) { return one.name == mode; });
  if (found == kHeuristicModes.end()) {
    throw Skipped(fmt::format("heuristic {}: expected a, b, instant or fallback", mode));
  }
  const std::vector<EngineConfig> proposed = proposals(graph, *found);
  if (proposed.empty()) throw Skipped(fmt::format("heuristic {} proposes nothing", mode));
  return plan_of(graph, proposed.front());
}

Work engine_work(cudnnHandle_t handle, Gpu& gpu, std::shared_ptr<const PlannedGraph> planned,
                 const TensorsInMemory& tensors, const std::vector<HostValue>& values) {
  const auto run = std::make_shared<Run>(std::move(planned), values);
  std::vector<std::int64_t> ids;
  std::vector<void*> addresses;
  for (const auto& [id, address] : tensors) {
    ids.push_back(id);
    addresses.push_back(address);
  }
  for (HostValue& value : run->values) {
    ids.push_back(value.first);
    addresses.push_back(std::visit([](auto& number) -> void* { return &number; }, value.second));
  }
  void* workspace = gpu.take(
      static_cast<std::size_t>(std::max<std::int64_t>(run->planned->plan.workspace_bytes, 1)));
  run->pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
      .set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses.data(),
               addresses.size())
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace)
      .finalize("the tensors' addresses");
  return {.run =
              [run, handle](cudaStream_t) {
                const BackendFunctions& functions = run->planned->graph.functions();
                functions.require(functions.execute(handle, run->planned->plan.plan->handle(),
                                                    run->pack.handle()),
                                  "this engine's run");
              },
          .library = {}};
}

}  // namespace inline_prof::measure
