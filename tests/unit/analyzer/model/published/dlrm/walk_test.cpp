#include "model/published/dlrm/trace_iteration.hpp"

#include <gtest/gtest.h>

namespace inline_prof::model {
namespace {

read::IterationGraph graph() {
  read::IterationGraph graph;
  graph.costs.between = 1;
  graph.costs.before = {{"mm", 2}};
  graph.costs.after = {{"mm", 3}};
  graph.costs.launch = {{"cudaLaunchKernel", 4}};
  graph.costs.among = {{"mm", 5}, {"view", 6}};
  graph.costs.launches = {{"mm", {"cudaLaunchKernel"}}};
  return graph;
}

read::IterationOperator op(const char* name, std::vector<double> kernels = {}) {
  read::IterationOperator result;
  result.name = name;
  result.is_modelled = !kernels.empty();
  result.kernels_us = std::move(kernels);
  return result;
}

TEST(Walk, StartsAtTheFirstMark) {
  read::IterationGraph iteration = graph();
  read::IterationOperator mark = op("## Forward ##");
  mark.is_mark = true;
  iteration.operators = {op("view"), mark, op("view")};
  EXPECT_EQ(walk(iteration).end_to_end, 7);
}

TEST(Walk, AMissingCostEndsIt) {
  read::IterationGraph iteration = graph();
  iteration.costs.after.clear();
  iteration.operators = {op("mm", {1})};
  const WalkResult result = walk(iteration);
  EXPECT_EQ(result.error, "KeyError");
  EXPECT_EQ(result.reason, "no T3 of mm");
}

TEST(Walk, OfNothingTakesNoTime) {
  EXPECT_EQ(walk(graph()).end_to_end, 0.0);
}

}  // namespace
}  // namespace inline_prof::model
