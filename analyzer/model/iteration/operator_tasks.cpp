#include "model/iteration/operator_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

namespace inline_prof::model {
namespace {

using read::IterationOperator;
using read::TaskGraph;
using read::Wait;

constexpr double kBetweenKernelsUs = 1.0;  // on one stream, one behind the other
constexpr const char* kCopyOperator = "aten::to";

double cost(const std::map<std::string, double>& costs, const char* which,
            const std::string& name) {
  const auto it = costs.find(name);
  if (it == costs.end()) throw std::invalid_argument(fmt::format("no {} of {}", which, name));
  return it->second;
}

class Builder {
 public:
  explicit Builder(const read::HostCosts& costs) : costs_(costs) {}

  void visit(const IterationOperator& op) {
    const std::string host_name = "host: " + op.name;
    host(host_name, costs_.between);
    if ((op.is_wait || op.uses_collective) && collective_) joined_ = collective_;
    const auto launches = costs_.launches.find(op.name);
    if (launches == costs_.launches.end()) {
      const auto among = costs_.among.find(op.name);
      if (among != costs_.among.end()) host(host_name, among->second);
    } else {
      launch(op, host_name, launches->second);
    }
    if (op.name == kCopyOperator && compute_) host_waits_.push_back({*compute_, 0.0});
  }

  [[nodiscard]] TaskGraph graph() && { return std::move(graph_); }

 private:
  void host(const std::string& name, double time_us) {
    read::Task task;
    task.name = name;
    task.time_us = time_us;
    task.waits = std::exchange(host_waits_, {});
    host_waits_.push_back({graph_.tasks.size(), 0.0});
    graph_.tasks.push_back(std::move(task));
  }

  void launch(const IterationOperator& op, const std::string& host_name,
              const std::vector<std::string>& calls) {
    host(host_name, cost(costs_.before, "T2", op.name));
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (i > 0) host(host_name, cost(costs_.among, "T5", op.name));
      host(host_name, cost(costs_.launch, "T4", calls[i]));
      if (!op.is_modelled || i >= op.kernels_us.size()) continue;
      // The last kernel of a collective moves the data; those before it prepare them.
      const bool is_collective = op.has_collective && i + 1 == op.kernels_us.size();
      kernel(op.name, op.kernels_us[i], is_collective);
    }
    host(host_name, cost(costs_.after, "T3", op.name));
  }

  void kernel(const std::string& name, double time_us, bool is_collective) {
    read::Task task;
    task.name = name;
    task.time_us = time_us;
    task.waits = host_waits_;  // for its launch, which is the host's last task
    std::optional<std::size_t>& stream = is_collective ? collective_ : compute_;
    if (stream) task.waits.push_back({*stream, kBetweenKernelsUs});
    if (is_collective && compute_) task.waits.push_back({*compute_, kBetweenKernelsUs});
    if (!is_collective && joined_) task.waits.push_back({*std::exchange(joined_, {}), 0.0});
    stream = graph_.tasks.size();
    graph_.tasks.push_back(std::move(task));
  }

  const read::HostCosts& costs_;
  TaskGraph graph_;
  std::vector<Wait> host_waits_;  // of the host's next task
  std::optional<std::size_t> compute_;
  std::optional<std::size_t> collective_;
  std::optional<std::size_t> joined_;  // the collective that the next kernel waits for
};

}  // namespace

TaskGraph operator_tasks(const read::IterationGraph& graph) {
  const auto mark = std::ranges::find_if(graph.operators, [](const IterationOperator& op) {
    return op.name.find("## ") != std::string::npos;
  });
  Builder builder(graph.costs);
  for (auto op = mark == graph.operators.end() ? graph.operators.begin() : mark;
       op != graph.operators.end(); ++op) {
    if (!op->is_mark) builder.visit(*op);
  }
  return std::move(builder).graph();
}

}  // namespace inline_prof::model
