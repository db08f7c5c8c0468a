#include "model/iteration/timetable.hpp"

#include "base/text.hpp"
#include "read/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace inline_prof::model {

namespace {

using read::TaskGraph;
using read::Wait;

// The moment at which `unit` starts is decided by one of its members: by what that member waits
// for, or by its not_before_us, where nothing is given.
std::optional<std::size_t> awaited_by(const TaskGraph& graph, const std::vector<std::size_t>& unit,
                                      double start_us, const std::vector<double>& end_us) {
  for (const std::size_t member : unit) {
    for (const Wait& wait : graph.tasks[member].waits) {
      if (end_us[wait.task] + wait.delay_us >= start_us) return wait.task;
    }
  }
  return std::nullopt;
}

}  // namespace

LongestPath::LongestPath(TaskGraph graph) : graph_(std::move(graph)) {
  order_units();
}

void LongestPath::order_units() {
  const std::size_t task_count = graph_.tasks.size();
  std::vector<Unit> units;
  std::vector<std::size_t> unit_of(task_count, task_count);
  for (const std::vector<std::size_t>& meeting : graph_.meetings) {
    for (const std::size_t member : meeting) {
      if (unit_of.at(member) != task_count) {
        throw std::invalid_argument(
            fmt::format("task {} ({}) is in two meetings", member, graph_.tasks[member].name));
      }
      unit_of[member] = units.size();
    }
    units.push_back(meeting);
  }
  for (std::size_t i = 0; i < task_count; ++i) {
    if (unit_of[i] != task_count) continue;
    unit_of[i] = units.size();
    units.push_back({i});
  }

  std::vector<std::size_t> waits_left(units.size(), 0);
  std::vector<std::vector<std::size_t>> followers(units.size());
  for (std::size_t i = 0; i < task_count; ++i) {
    for (const Wait& wait : graph_.tasks[i].waits) {
      followers[unit_of.at(wait.task)].push_back(unit_of[i]);
      ++waits_left[unit_of[i]];
    }
  }
  std::vector<std::size_t> ready;
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    if (waits_left[unit] == 0) ready.push_back(unit);
  }
  for (std::size_t next = 0; next < ready.size(); ++next) {  // the list grows
    for (const std::size_t follower : followers[ready[next]]) {
      if (--waits_left[follower] == 0) ready.push_back(follower);
    }
  }
  if (ready.size() < units.size()) {
    const auto circle = std::ranges::find_if(waits_left, [](std::size_t left) { return left > 0; });
    const std::size_t task = units[static_cast<std::size_t>(circle - waits_left.begin())].front();
    throw std::invalid_argument(
        fmt::format("task {} ({}) waits for itself, or for tasks that do: a circle has no start",
                    task, graph_.tasks[task].name));
  }
  for (const std::size_t unit : ready)
    units_.push_back(std::move(units[unit]));
}

std::vector<double> LongestPath::times_with(std::span<const OtherTime> others) const {
  std::vector<double> times_us;
  times_us.reserve(graph_.tasks.size());
  for (const read::Task& task : graph_.tasks)
    times_us.push_back(task.time_us);
  for (const OtherTime& other : others)
    times_us.at(other.task) = other.time_us;
  return times_us;
}

double LongestPath::earliest_us(const Unit& unit, const std::vector<double>& end_us) const {
  double earliest = 0.0;
  for (const std::size_t member : unit) {
    earliest = std::max(earliest, graph_.tasks[member].not_before_us);
    for (const Wait& wait : graph_.tasks[member].waits) {
      earliest = std::max(earliest, end_us[wait.task] + wait.delay_us);
    }
  }
  return earliest;
}

double LongestPath::iteration_us(std::span<const OtherTime> others) const {
  std::vector<double> end_us = times_with(others);
  double last_us = 0.0;
  for (const Unit& unit : units_) {
    const double start_us = earliest_us(unit, end_us);
    for (const std::size_t member : unit) {
      end_us[member] += start_us;
      last_us = std::max(last_us, end_us[member]);
    }
  }
  return last_us;
}

Timetable LongestPath::timetable_for(std::span<const OtherTime> others) const {
  const std::vector<double> times_us = times_with(others);
  Timetable table;
  table.start_us.resize(times_us.size());
  table.end_us.resize(times_us.size());
  std::vector<std::size_t> unit_of(times_us.size());
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const double start_us = earliest_us(units_[u], table.end_us);
    for (const std::size_t member : units_[u]) {
      unit_of[member] = u;
      table.start_us[member] = start_us;
      table.end_us[member] = start_us + times_us[member];
      table.iteration_us = std::max(table.iteration_us, table.end_us[member]);
    }
  }

  // Backwards: the latest end of each task that leaves the iteration as long as it is.
  std::vector<double> latest_end_us(times_us.size(), table.iteration_us);
  for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit) {
    double latest_start_us = std::numeric_limits<double>::infinity();
    for (const std::size_t member : *unit) {
      latest_start_us = std::min(latest_start_us, latest_end_us[member] - times_us[member]);
    }
    for (const std::size_t member : *unit) {
      for (const Wait& wait : graph_.tasks[member].waits) {
        latest_end_us[wait.task] =
            std::min(latest_end_us[wait.task], latest_start_us - wait.delay_us);
      }
    }
  }
  table.slack_us.resize(times_us.size());
  for (std::size_t i = 0; i < times_us.size(); ++i) {
    table.slack_us[i] = std::max(0.0, latest_end_us[i] - table.end_us[i]);
  }

  if (times_us.empty()) return table;
  std::optional<std::size_t> task =
      static_cast<std::size_t>(std::ranges::max_element(table.end_us) - table.end_us.begin());
  while (task) {
    table.longest_path.push_back(*task);
    task = awaited_by(graph_, units_[unit_of[*task]], table.start_us[*task], table.end_us);
  }
  std::ranges::reverse(table.longest_path);
  return table;
}

std::vector<OtherTime> other_times(const read::TaskGraph& graph, const WhatIf& what_if) {
  std::vector<OtherTime> others;
  std::vector<bool> scale_fits(what_if.scales.size(), false);
  bool has_prediction = false;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const read::Task& task = graph.tasks[i];
    double time_us = task.time_us;
    if (what_if.is_prediction_met && task.predicted_us) {
      has_prediction = true;
      time_us = *task.predicted_us;
    }
    for (std::size_t s = 0; s < what_if.scales.size(); ++s) {
      if (!base::glob_matches(what_if.scales[s].match, task.name)) continue;
      scale_fits[s] = true;
      time_us *= what_if.scales[s].factor;
    }
    if (time_us != task.time_us) others.push_back({i, time_us});
  }
  if (what_if.is_prediction_met && !has_prediction) {
    throw std::invalid_argument("no task has a prediction to meet");
  }
  for (std::size_t s = 0; s < scale_fits.size(); ++s) {
    if (scale_fits[s]) continue;
    throw std::invalid_argument(
        fmt::format("\"{}\" fits the name of no task", what_if.scales[s].match));
  }
  return others;
}

namespace {

using read::IterationOperator;

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
