// Longest paths that can be followed by hand.
#include "model/iteration/timetable.hpp"

#include "testing.hpp"

namespace inline_prof::model {
namespace {

using read::Task;
using read::TaskGraph;
using read::Wait;

Task task(const std::string& name, double time_us, std::vector<Wait> waits = {}) {
  Task result;
  result.name = name;
  result.time_us = time_us;
  result.waits = std::move(waits);
  return result;
}

double with(const LongestPath& path, std::vector<OtherTime> others) {
  return path.iteration_us(others);
}

// Stream 0: a 10, then c 10.  Stream 1: b 30.  d waits for both streams, 1 us after the later one.
TaskGraph two_streams() {
  TaskGraph graph;
  graph.tasks = {task("a", 10), task("b", 30), task("c", 10, {{0, 0}}),
                 task("d", 5, {{2, 1}, {1, 1}})};
  return graph;
}

TEST(LongestPath, FollowsTheLongerStream) {
  const Timetable table = LongestPath(two_streams()).timetable();
  EXPECT_THAT(table.start_us, ElementsAre(0, 0, 10, 31));
  EXPECT_THAT(table.end_us, ElementsAre(10, 30, 20, 36));
  EXPECT_THAT(table.slack_us, ElementsAre(10, 0, 10, 0));
  EXPECT_THAT(table.longest_path, ElementsAre(1, 3));
  EXPECT_EQ(table.iteration_us, 36);
}

TEST(LongestPath, AnIterationIsAsLongAsItsLongestStream) {
  const LongestPath path(two_streams());
  const std::pair<std::vector<OtherTime>, double> rows[] = {
      {{{0, 0}}, 36},                           // a hidden layer saves nothing
      {{{2, 0}}, 36},         {{{1, 25}}, 31},  // 5 us shorter: all of it saved
      {{{1, 5}}, 26},                           // 25 us shorter: a and c take 20, then 1 and 5
      {{{1, 5}, {0, 2}}, 18}, {{{0, 20}}, 36},  // as much longer as it has slack
      {{{0, 21}}, 37}};
  for (const auto& [others, iteration_us] : rows)
    EXPECT_EQ(with(path, others), iteration_us) << others[0].task << ": " << others[0].time_us;
}

TEST(LongestPath, WhatTheHostLaunchesLateStaysThere) {
  TaskGraph graph;
  graph.tasks = {task("a", 10), task("b", 10, {{0, 0}})};
  graph.tasks[1].not_before_us = 50;
  const LongestPath path(graph);
  EXPECT_EQ(path.timetable().iteration_us, 60);
  EXPECT_THAT(path.timetable().longest_path, ElementsAre(1));
  EXPECT_EQ(path.timetable().slack_us[0], 40);
  EXPECT_EQ(with(path, {{0, 0}}), 60);
  EXPECT_EQ(with(path, {{0, 45}}), 60);
  EXPECT_EQ(with(path, {{0, 55}}), 65);
}

// Rank 0: a 10, all-reduce 8, c 4.  Rank 1: b 20, all-reduce 8, d 2.
TaskGraph two_ranks() {
  TaskGraph graph;
  graph.tasks = {task("a", 10), task("all_reduce", 8, {{0, 0}}), task("c", 4, {{1, 0}}),
                 task("b", 20), task("all_reduce", 8, {{3, 0}}), task("d", 2, {{4, 0}})};
  graph.meetings = {{1, 4}};
  return graph;
}

TEST(LongestPath, ACollectiveWaitsForTheLastRank) {
  const Timetable table = LongestPath(two_ranks()).timetable();
  EXPECT_THAT(table.start_us, ElementsAre(0, 20, 28, 0, 20, 28));
  EXPECT_THAT(table.slack_us, ElementsAre(10, 0, 0, 0, 2, 2));
  EXPECT_THAT(table.longest_path, ElementsAre(3, 1, 2));  // through the other rank
  EXPECT_EQ(table.iteration_us, 32);
}

TEST(LongestPath, AnEarlyRankSavesNothingAndTheLateOneDoes) {
  const LongestPath path(two_ranks());
  EXPECT_EQ(with(path, {{0, 1}}), 32);
  EXPECT_EQ(with(path, {{3, 12}}), 24);
  EXPECT_EQ(with(path, {{3, 4}}), 22);          // now rank 0 is the late one: 10 + 8 + 4
  EXPECT_EQ(with(path, {{1, 5}, {4, 5}}), 29);  // the collective itself
  EXPECT_EQ(with(path, {{2, 0}}), 30);          // d ends at 30
}

TEST(LongestPath, OfNothingTakesNoTime) {
  const Timetable table = LongestPath(TaskGraph{}).timetable();
  EXPECT_EQ(table.iteration_us, 0);
  EXPECT_TRUE(table.longest_path.empty());
}

std::string complaint_about(const TaskGraph& graph) {
  return test::complaint([&] { return LongestPath(graph); });
}

TEST(LongestPath, RefusesCircles) {
  TaskGraph graph;
  graph.tasks = {task("a", 1), task("b", 1, {{2, 0}}), task("c", 1, {{1, 0}})};
  EXPECT_THAT(complaint_about(graph), HasSubstr("task 1 (b) waits for itself"));

  // Two ranks that meet twice, in opposite orders.
  graph.tasks = {task("x", 1), task("y", 1, {{0, 0}}), task("y", 1), task("x", 1, {{2, 0}})};
  graph.meetings = {{0, 3}, {1, 2}};
  EXPECT_THAT(complaint_about(graph), HasSubstr("circle"));
}

TEST(LongestPath, RefusesAWorkInTwoMeetings) {
  TaskGraph graph = two_ranks();
  graph.meetings.push_back({4, 5});
  EXPECT_THAT(complaint_about(graph), HasSubstr("task 4 (all_reduce) is in two meetings"));
}

TEST(WhatIf, ScalesByNameAndMeetsPredictions) {
  TaskGraph graph = two_streams();
  graph.tasks[1].predicted_us = 20;
  const LongestPath path(graph);
  EXPECT_EQ(with(path, other_times(graph, {.is_prediction_met = true, .scales = {}})), 26);
  EXPECT_EQ(with(path, other_times(graph, {.is_prediction_met = false, .scales = {{"b", 0.5}}})),
            26);  // a and c take 20 already
  EXPECT_EQ(with(path, other_times(graph, {.is_prediction_met = true, .scales = {{"?", 0.5}}})),
            13.5);
}

TEST(WhatIf, RefusesWhatChangesNothing) {
  const TaskGraph graph = two_streams();
  EXPECT_THROW(
      static_cast<void>(other_times(graph, {.is_prediction_met = false, .scales = {{"fc*", 0.5}}})),
      std::invalid_argument);
  EXPECT_THROW(static_cast<void>(other_times(graph, {.is_prediction_met = true, .scales = {}})),
               std::invalid_argument);
}

read::IterationOperator launching(const std::string& name, std::vector<double> kernels_us) {
  read::IterationOperator op;
  op.name = name;
  op.is_modelled = true;
  op.kernels_us = std::move(kernels_us);
  return op;
}

// mm, then a collective, then an operator that uses its result.  The host: T1 1, T2 2, T3 3, T4 4.
read::IterationGraph three_operators(bool uses_collective) {
  read::IterationGraph graph;
  graph.costs.between = 1;
  for (const char* name : {"mm", "all_to_all", "add"}) {
    graph.costs.before[name] = 2;
    graph.costs.after[name] = 3;
    graph.costs.launches[name] = {"cudaLaunchKernel"};
  }
  graph.costs.launch["cudaLaunchKernel"] = 4;
  graph.operators = {launching("mm", {20}), launching("all_to_all", {50}), launching("add", {5})};
  graph.operators[1].has_collective = true;
  graph.operators[2].uses_collective = uses_collective;
  return graph;
}

TEST(OperatorWork, TheHostRunsAheadAndACollectiveIsAwaited) {
  // mm 7-27; the collective 28-78, behind mm; add behind the collective: 78-83.
  EXPECT_EQ(LongestPath(operator_tasks(three_operators(true))).timetable().iteration_us, 83);
  // add 28-33 beside the collective: the end is the collective's.
  EXPECT_EQ(LongestPath(operator_tasks(three_operators(false))).timetable().iteration_us, 78);
}

TEST(OperatorWork, ASlowHostIsTheLongestPath) {
  read::IterationGraph graph = three_operators(false);
  for (read::IterationOperator& op : graph.operators)
    op.kernels_us = {1};
  // Three operators of 10 us; the last kernel, 26.. 28: launched 3 us before the end.
  const TaskGraph tasks = operator_tasks(graph);
  EXPECT_EQ(LongestPath(tasks).timetable().iteration_us, 30);
  const auto faster =
      other_times(tasks, {.is_prediction_met = false, .scales = {{"host: *", 0.5}}});
  EXPECT_EQ(with(LongestPath(tasks), faster), 15);
}

TEST(OperatorWork, RefusesAMissingCost) {
  read::IterationGraph graph = three_operators(true);
  graph.costs.before.erase("mm");
  EXPECT_THROW(static_cast<void>(operator_tasks(graph)), std::invalid_argument);
}

}  // namespace
}  // namespace inline_prof::model
