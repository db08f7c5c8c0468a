// Launches and uploads of executable graphs.
#include "driver/graph_build.hpp"
#include "driver/graph_run.hpp"
#include "driver/observed.hpp"

#include <utility>

namespace simgpu {
namespace {

template <typename CloneRun>
void for_each_node(const ExecBody& body, const CloneRun& visit) {
  for (const ExecNode& node : body.nodes) {
    visit(node);
    for (const auto& inner : node.bodies)
      for_each_node(*inner, visit);
  }
}

// cuda.h, cuGraphLaunch: "If any allocations created by hGraphExec remain unfreed (from a previous
// launch) and hGraphExec was not instantiated with [...] AUTO_FREE_ON_LAUNCH, the launch will fail
// with ::CUDA_ERROR_INVALID_VALUE."
void allocate_and_free(const GraphExec& exec) {
  const bool frees_first = (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
  for_each_node(*exec.body, [&](const ExecNode& node) {
    const auto* allocate = std::get_if<AllocateWork>(&node.work);
    if (allocate != nullptr && allocate->memory->is_live && !frees_first) {
      throw Failure{CUDA_ERROR_INVALID_VALUE};
    }
  });
  for_each_node(*exec.body, [](const ExecNode& node) {
    if (const auto* allocate = std::get_if<AllocateWork>(&node.work)) {
      allocate->memory->is_live = !allocate->memory->freed_by_owner;
    } else if (const auto* freeing = std::get_if<FreeWork>(&node.work)) {
      freeing->memory->is_live = false;
    }
  });
}

bool fits_in_child(const ExecBody& body) {
  bool fits = true;
  for_each_node(body, [&](const ExecNode& node) {
    fits &= !std::holds_alternative<AllocateWork>(node.work) &&
            !std::holds_alternative<FreeWork>(node.work) &&
            !std::holds_alternative<ConditionalWork>(node.work);
  });
  return fits;
}

}  // namespace

// A captured launch becomes a child graph node.
void Simulator::launch_graph(Stream& stream, GraphExec& exec) {
  if (capturing(stream)) {
    if (!fits_in_child(*exec.body)) refuse_stream_query(stream);
    std::vector<Edge> edges = captured_edges(stream, ChildWork{});
    Node& node = add_child_of_exec(*this, *stream.capture->graph, *exec.body, std::move(edges));
    stream.capture_front.set(node);
    return;
  }
  allocate_and_free(exec);
  wait_for_queue_space(stream);
  ++graph_launches;
  auto run =
      std::make_shared<GraphRun>(GraphRun::Launch{.simulator = *this,
                                                  .stream = stream,
                                                  .correlation_id = correlation_of_this_call(),
                                                  .origin = origin_of_this_call(),
                                                  .graph_ordinal = exec.body->graph_ordinal,
                                                  .is_clone = exec.body->is_clone},
                                 exec.body, "");
  run->begin_records();
  Operation operation;
  // cuda.h, cuGraphLaunch: "Each launch is ordered behind both any previous work in hStream and any
  // previous launches of hGraphExec."
  if (exec.last_launch) operation.after.push_back(exec.last_launch);
  operation.dependencies_known();
  operation.graph = run;
  operation.run = [&stream, run](Nanoseconds) {
    stream.launches_ahead.push_back(run->end());
    return run->end();
  };
  operation.completion = exec.last_launch = std::make_shared<Completion>();
  engine.submit(stream, std::move(operation));
}

// cuda.h, cuGraphUpload: "ordered behind both any previous work in hStream and any previous
// launches of hGraphExec".  It takes no time here.
void Simulator::upload_graph(Stream& stream, GraphExec& exec) {
  if (capturing(stream)) refuse_stream_query(stream);
  Operation operation;
  if (exec.last_launch) operation.after.push_back(exec.last_launch);
  operation.dependencies_known();
  engine.submit(stream, std::move(operation));
}

void Simulator::let_go() {
  std::erase_if(leaving, [&](const LeavingReferences& left) {
    return left.last_launch->done && left.last_launch->end <= engine.host_now();
  });
}

}  // namespace simgpu
