#include "complaint.hpp"
#include "model/published/dlrm/trace_builder.hpp"
#include "model/published/dlrm/trace_iteration.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace inline_prof::model {
namespace {

using test::TraceBuilder;

std::vector<std::string> operator_names(const EventTree& tree) {
  std::vector<std::string> names;
  for (const NodeId op : tree.operators)
    names.push_back(tree.event(op).name);
  return names;
}

using Names = std::vector<std::string>;

TEST(EventTree, OnlyTheOutermostOperatorsCount) {
  const auto trace = TraceBuilder()
                         .mark(0, 100)
                         .op("a", 10, 50)
                         .op("inside", 20, 10)
                         .op("after", 60, 5)
                         .op("not marked", 200, 5)
                         .trace();
  EXPECT_EQ(operator_names(event_tree(trace)), (Names{"a", "after", "not marked"}));
}

TEST(EventTree, OtherThreadsBelongToTheCallThatWaitsForThem) {
  const auto trace = TraceBuilder()
                         .mark(0, 100)
                         .op("backward", 10, 50)
                         .on_thread(2)
                         .op("MmBackward", 20, 10)
                         .op("late", 70, 10)
                         .trace();
  EXPECT_EQ(operator_names(event_tree(trace)), (Names{"backward", "late"}));
}

TEST(EventTree, SlowLoadingHidesEverythingUpToTheNextMark) {
  const auto trace = TraceBuilder()
                         .mark(0, 100)
                         .op("a", 10, 5)
                         .op("enumerate(DataLoader)", 200, 101)
                         .op("hidden", 350, 5)
                         .mark(400, 100)
                         .op("b", 410, 5)
                         .op("enumerate(DataLoader)", 500, 100)
                         .op("seen", 650, 5)
                         .trace();
  EXPECT_EQ(operator_names(event_tree(trace)), (Names{"a", "b", "enumerate(DataLoader)", "seen"}));
}

TEST(EventTree, MayBeCutToTheFirstIterations) {
  TraceBuilder builder;
  builder.op("before", 0, 5);
  for (int i = 1; i <= 3; ++i)
    builder.mark(100 * i, 50).op("i" + std::to_string(i), 100 * i + 10, 5);
  const auto trace = builder.trace();
  // The last event of what is left is dropped as always.
  const EventTree two = event_tree(trace, 2);
  EXPECT_EQ(operator_names(two), (Names{"i1"}));
  EXPECT_EQ(two.starts, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(operator_names(event_tree(trace, 0)), (Names{"before", "i1", "i2", "i3"}));
  EXPECT_EQ(event_tree(trace, 0).starts, (std::vector<std::size_t>{1, 2, 3}));
}

TEST(EventTree, RuntimeCallsOfThreadsThatDoNotExistAreDropped) {
  auto trace = TraceBuilder().op("a", 0, 50).call("cudaLaunchKernel", 10, 5, 1).trace();
  EXPECT_EQ(launches_of(event_tree(trace), 0).size(), 1U);
  trace.events[1].thread = "-3";
  EXPECT_EQ(launches_of(event_tree(trace), 0).size(), 0U);
}

TEST(EventTree, IsNotDeeperThanAStackBears) {
  TraceBuilder builder;
  for (int i = 0; i <= 2001; ++i)
    builder.op("f", i, 10000 - 2 * i);
  const auto trace = builder.trace();
  EXPECT_EQ(test::complaint([&] { return event_tree(trace); }),
            "t.json: \"f\" at 2001 us lies in more than 2000 other events");
}

TEST(EventTree, NeedsAnOperator) {
  const auto trace = TraceBuilder().mark(0, 100).trace();
  EXPECT_EQ(test::complaint([&] { return event_tree(trace); }),
            "t.json: no operator (\"cat\": \"cpu_op\")");
}

TEST(StreamTimes, UniteWhatOverlaps) {
  const auto trace = TraceBuilder()
                         .op("a", 0, 50)
                         .kernel("k", 10, 20, 1)
                         .kernel("k", 20, 20, 2)
                         .kernel("k", 100, 5, 3)
                         .trace();
  const StreamTimes times = stream_times(event_tree(trace));
  EXPECT_EQ(times.busy_us.at(7), 45.0);
  EXPECT_EQ(times.total_us, 35.0);
}

TEST(Overheads, OfACallThatOnlyWaitsHaveNoLaunch) {
  const auto trace =
      TraceBuilder().op("item", 0, 50).call("cudaStreamSynchronize", 10, 30, 1).trace();
  const Overheads costs = overheads(event_tree(trace));
  EXPECT_TRUE(costs.launches.at("item").empty());
  EXPECT_EQ(costs.before.size(), 1U);
}

TEST(Overheads, CountCopiesOnlyWhereTheyCopy) {
  const auto trace = TraceBuilder().op("a", 0, 5).op("aten::to", 10, 5).op("b", 20, 5).trace();
  const Overheads costs = overheads(event_tree(trace));
  EXPECT_FALSE(costs.among.contains("aten::to"));
  EXPECT_EQ(costs.between.count, 1U);
}

}  // namespace
}  // namespace inline_prof::model
