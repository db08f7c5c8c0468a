#include "model/published/dlrm/trace_iteration.hpp"

#include "model/published/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace inline_prof::model {
namespace {

using read::IterationOperator;

constexpr const char* kCopyName = "aten::to";
constexpr double kKernelUs = 5.0;           // what the profiler adds to each
constexpr double kShortCopyLaunchUs = 2.0;  // of an aten::to without children

// A cost that the original looks up without asking whether it is there.
double cost(const std::map<std::string, double>& costs, const char* which,
            const std::string& name) {
  const auto it = costs.find(name);
  if (it == costs.end()) throw NoAnswer{"KeyError", fmt::format("no {} of {}", which, name)};
  return it->second;
}

class Walker {
 public:
  explicit Walker(const read::HostCosts& costs) : costs_(costs) {}

  void visit(const IterationOperator& op) {
    if ((op.uses_collective && is_collective_pending_) || op.is_wait || op.has_collective) {
      is_collective_pending_ = false;
      at_.compute_stream = at_.collective_stream = front_;
    }
    at_.host += costs_.between;
    const auto launches = costs_.launches.find(op.name);
    if (launches == costs_.launches.end()) {
      const auto among = costs_.among.find(op.name);
      if (among != costs_.among.end()) at_.host += among->second;
    } else {
      launch(op, launches->second);
    }
    if (op.name == kCopyName)
      at_.host = std::max(at_.host, at_.compute_stream);  // waits for its copy
    if (op.has_collective) is_collective_pending_ = true;
  }

  [[nodiscard]] WalkResult result() const {
    WalkResult result = at_;
    result.end_to_end = std::max({at_.host, at_.compute_stream, at_.collective_stream});
    result.busiest_stream = std::max(at_.compute_busy, at_.collective_busy);
    if (result.end_to_end > 0) {
      result.exposed_collective_share = std::max(at_.exposed_collective / result.end_to_end, 0.0);
    }
    return result;
  }

 private:
  void launch(const IterationOperator& op, const std::vector<std::string>& calls) {
    at_.host += cost(costs_.before, "T2", op.name);
    if (op.is_modelled) {
      start_kernels(op, calls);
    } else {
      double sum = 0.0;
      for (const std::string& call : calls)
        sum += cost(costs_.launch, "T4", call);
      // An empty list takes one T5 off, as in the original.
      at_.host +=
          sum + cost(costs_.among, "T5", op.name) * (static_cast<double>(calls.size()) - 1.0);
    }
    at_.host += cost(costs_.after, "T3", op.name);
    front_ = std::max(at_.compute_stream, at_.collective_stream);
  }

  void start_kernels(const IterationOperator& op, const std::vector<std::string>& calls) {
    const std::size_t kernels = op.kernels_us.size();
    for (std::size_t i = 0; i < std::min(calls.size(), kernels); ++i) {
      const double call = cost(costs_.launch, "T4", calls[i]);
      // The last kernel of a collective moves the data; those before it prepare them.
      start_kernel(op.kernels_us[i] + kKernelUs, call, op.has_collective && i + 1 == kernels);
      at_.host += op.name == kCopyName && !op.has_children ? kShortCopyLaunchUs : call;
      if (i + 1 < kernels) at_.host += cost(costs_.among, "T5", op.name);
    }
  }

  void start_kernel(double time, double call, bool is_collective) {
    double& stream = is_collective ? at_.collective_stream : at_.compute_stream;
    stream = std::max(stream + 1, at_.host + call);
    if (is_collective) {
      at_.collective_stream = std::max(at_.compute_stream + 1, at_.collective_stream);
      at_.exposed_collective += time - std::max(front_ - at_.collective_stream, 0.0);
    } else if (is_collective_pending_ && at_.compute_stream < at_.collective_stream) {
      at_.exposed_collective -=
          time - std::max(at_.compute_stream + time - at_.collective_stream, 0.0);
    }
    // `front_` is from before this operator.
    at_.gpu_active += std::min(std::max(stream + time - front_, 0.0), time);
    stream += time;
    (is_collective ? at_.collective_busy : at_.compute_busy) += time;
  }

  const read::HostCosts& costs_;
  WalkResult at_;       // so far
  double front_ = 0.0;  // of both streams, behind the operator before
  bool is_collective_pending_ = false;
};

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
      std::ranges::any_of(kCollectives, [&](std::string_view word) {
        return name.find(word) != std::string::npos;
      })) {
    return true;
  }
  return std::ranges::any_of(tree.nodes[node].children,
                             [&](NodeId child) { return contains_collective(tree, child); });
}

std::vector<double> measured_kernels(const EventTree& tree, NodeId op) {
  std::vector<double> times;
  for (const NodeId node : launches_of(tree, op)) {
    if (const auto* kernel = tree.kernel_of(node)) times.push_back(kernel->duration_us);
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
    for (double WalkResult::*time :
         {&WalkResult::end_to_end, &WalkResult::gpu_active, &WalkResult::busiest_stream,
          &WalkResult::exposed_collective_share, &WalkResult::host, &WalkResult::compute_stream,
          &WalkResult::collective_stream, &WalkResult::compute_busy, &WalkResult::collective_busy,
          &WalkResult::exposed_collective}) {
      mean.*time += walk.*time / count;
    }
  }
  return mean;
}

}  // namespace

WalkResult walk(const read::IterationGraph& graph) {
  const auto mark = std::ranges::find_if(graph.operators, [](const IterationOperator& op) {
    return op.name.find("## ") != std::string::npos;
  });
  Walker walker(graph.costs);
  try {
    for (auto op = mark == graph.operators.end() ? graph.operators.begin() : mark;
         op != graph.operators.end(); ++op) {
      if (!op->is_mark) walker.visit(*op);
    }
  } catch (const NoAnswer& none) {
    WalkResult result;
    result.error = none.error;
    result.reason = none.reason;
    return result;
  }
  return walker.result();
}

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
