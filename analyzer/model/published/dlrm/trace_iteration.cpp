#include "model/published/dlrm/trace_iteration.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace inline_prof::model {
namespace {

// Words in the names of operators that move data between GPUs, without underscores.
constexpr std::array<std::string_view, 5> kCollectives{"alltoall", "allreduce", "allgather",
                                                       "reducescatter", "broadcast"};

std::string without_underscores(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  return text;
}

bool contains_collective(const EventTree& tree, NodeId node) {
  const std::string name = without_underscores(tree.event(node).name);
  if (tree.event(node).kind == read::TraceKind::kOperator &&
      std::any_of(kCollectives.begin(), kCollectives.end(),
                  [&](std::string_view word) { return name.find(word) != std::string::npos; })) {
    return true;
  }
  return std::any_of(tree.nodes[node].children.begin(), tree.nodes[node].children.end(),
                     [&](NodeId child) { return contains_collective(tree, child); });
}

std::vector<double> measured_kernels(const EventTree& tree, NodeId op) {
  std::vector<double> times;
  for (const NodeId node : launches_of(tree, op)) {
    const auto& correlation = tree.event(node).correlation;
    const auto kernel = correlation ? tree.kernels.find(*correlation) : tree.kernels.end();
    if (kernel != tree.kernels.end()) times.push_back(kernel->second->duration_us);
  }
  return times;
}

read::HostCosts host_costs(const Overheads& costs) {
  read::HostCosts result{.between = costs.between.mean,
                         .before = means(costs.before),
                         .after = means(costs.after),
                         .launch = {},
                         .among = means(costs.among),
                         .launches = costs.launches};
  for (const auto& [name, spread] : costs.launch)
    result.launch[name] = spread.mean;
  return result;
}

read::IterationOperator walked_operator(const TraceIteration& whole, std::size_t place,
                                        KernelTimes kernels) {
  const EventTree& tree = whole.tree;
  const NodeId op = tree.operators[place];
  read::IterationOperator result;
  result.name = tree.event(op).name;
  result.has_collective = contains_collective(tree, op);
  result.is_wait = result.name.find("wait") != std::string::npos;
  result.has_children = !tree.nodes[op].children.empty();
  result.kernels_us = kernels == KernelTimes::kMeasured ? measured_kernels(tree, op)
                                                        : whole.predicted[place].times_us;
  result.is_modelled = !result.kernels_us.empty();
  return result;
}

WalkResult mean_of(const std::vector<WalkResult>& walks) {
  WalkResult mean;
  const auto count = static_cast<double>(walks.size());
  for (const WalkResult& walk : walks) {
    if (!walk.error.empty()) return walk;
    mean.end_to_end += walk.end_to_end / count;
    mean.gpu_active += walk.gpu_active / count;
    mean.busiest_stream += walk.busiest_stream / count;
    mean.exposed_collective_share += walk.exposed_collective_share / count;
    mean.host += walk.host / count;
    mean.compute_stream += walk.compute_stream / count;
    mean.collective_stream += walk.collective_stream / count;
    mean.compute_busy += walk.compute_busy / count;
    mean.collective_busy += walk.collective_busy / count;
    mean.exposed_collective += walk.exposed_collective / count;
  }
  return mean;
}

}  // namespace

TraceIteration trace_iteration(const read::Trace& trace, std::size_t iterations,
                               KernelTimes kernels, const OperatorModels& models) {
  TraceIteration result;
  result.tree = event_tree(trace, iterations);
  result.streams = stream_times(result.tree);
  result.costs = overheads(result.tree);
  for (const NodeId op : result.tree.operators) {
    result.predicted.push_back(operator_kernels(result.tree, op, models));
    for (const double time : result.predicted.back().times_us)
      result.total_us += time;
  }

  // Without a mark the whole trace is one iteration.
  std::vector<std::size_t> starts = result.tree.starts;
  if (starts.empty()) starts.push_back(0);
  starts.push_back(result.tree.operators.size());
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    read::IterationGraph graph{
        .label = trace.label, .costs = host_costs(result.costs), .operators = {}};
    for (std::size_t place = starts[i]; place < starts[i + 1]; ++place)
      graph.operators.push_back(walked_operator(result, place, kernels));
    result.walks.push_back(walk(graph));
    result.graphs.push_back(std::move(graph));
  }
  result.mean = mean_of(result.walks);
  return result;
}

}  // namespace inline_prof::model
