// When each task of an iteration runs, and what the iteration would take if some took another time:
// the longest path through what waits for what.
#pragma once

#include "read/iteration_input.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::model {

// Indices are those of TaskGraph::tasks, times from the start of the iteration.
struct Timetable {
  std::vector<double> start_us;
  std::vector<double> end_us;
  // How much longer a piece could take before the iteration does.  0: it is on the longest path.
  std::vector<double> slack_us;
  std::vector<std::size_t> longest_path;  // in order of time; what the last piece to end waited for
  double iteration_us = 0.0;
};

// A task that takes another time.
struct OtherTime {
  std::size_t task = 0;
  double time_us = 0.0;
};

class LongestPath {
 public:
  // Throws std::invalid_argument where tasks wait for each other in a circle.
  explicit LongestPath(read::TaskGraph graph);

  [[nodiscard]] const read::TaskGraph& graph() const { return graph_; }
  [[nodiscard]] Timetable timetable() const { return timetable_for({}); }
  [[nodiscard]] Timetable timetable_for(std::span<const OtherTime> others) const;
  // Only what the iteration takes.
  [[nodiscard]] double iteration_us(std::span<const OtherTime> others) const;

 private:
  // Tasks that start at one moment: a meeting, or a task alone.
  using Unit = std::vector<std::size_t>;

  void order_units();
  [[nodiscard]] std::vector<double> times_with(std::span<const OtherTime> others) const;
  [[nodiscard]] double earliest_us(const Unit& unit, const std::vector<double>& end_us) const;

  read::TaskGraph graph_;
  std::vector<Unit> units_;  // what a unit waits for stands before it
};

struct Scale {
  std::string match;  // glob on the names of tasks
  double factor = 1.0;
};

struct WhatIf {
  bool is_prediction_met = false;  // tasks that have a prediction take it
  std::vector<Scale> scales;       // after that; factors of several that fit multiply
};

// Throws std::invalid_argument where a glob fits no task, or nothing has a prediction to meet.
[[nodiscard]] std::vector<OtherTime> other_times(const read::TaskGraph& graph,
                                                 const WhatIf& what_if);

// Returns the tasks: those of the host follow each other and are named "host: OPERATOR"; a kernel,
// named as its operator, waits for its launch, for the kernel before it on its stream, and for the
// collective whose result it uses.  Operators before the first mark are left out. Throws
// std::invalid_argument where a cost is missing.
[[nodiscard]] read::TaskGraph operator_tasks(const read::IterationGraph& graph);

}  // namespace inline_prof::model
