#include "model/published/dlrm/trace_iteration.hpp"

#include "read/torch_trace/event_list.hpp"
#include "testing.hpp"

#include <fmt/format.h>

namespace inline_prof::model {
namespace {

// Traces with few words.
class TraceBuilder {
 public:
  TraceBuilder& on_thread(int thread) {
    thread_ = thread;
    return *this;
  }
  TraceBuilder& mark(double start, double duration, const std::string& name = "## Forward ##") {
    return add(name, "user_annotation", start, duration, "");
  }
  // `inputs` as JSON: "[[64, 13]]".
  TraceBuilder& op(const std::string& name, double start, double duration,
                   const std::string& inputs = "[]") {
    return add(name, "cpu_op", start, duration, "\"Input Dims\": " + inputs);
  }
  TraceBuilder& call(const std::string& name, double start, double duration, int correlation) {
    return add(name, "cuda_runtime", start, duration,
               fmt::format("\"correlation\": {}", correlation));
  }
  TraceBuilder& kernel(const std::string& name, double start, double duration, int correlation,
                       const std::string& block = "[32, 4, 1]") {
    return add(
        name, "kernel", start, duration,
        fmt::format("\"correlation\": {}, \"stream\": 7, \"block\": {}", correlation, block));
  }

  // With an event behind all others, since the last one is dropped.
  [[nodiscard]] read::Trace trace() const {
    std::string text = events_;
    if (!text.empty()) text += ",";
    return read::parse_trace("[" + text + R"({"name": "end", "ts": 1e9, "dur": 1})" + "]",
                             "t.json");
  }

 private:
  TraceBuilder& add(const std::string& name, const char* category, double start, double duration,
                    const std::string& arguments) {
    events_ += fmt::format(
        R"({}{{"ph": "X", "name": "{}", "cat": "{}", "ts": {}, "dur": {}, "pid": 1, "tid": {}, "args": {{{}}}}})",
        events_.empty() ? "" : ",", name, category, start, duration, thread_, arguments);
    return *this;
  }

  std::string events_;
  int thread_ = 1;
};

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

// Products that are asked for below, each with a time of its own.
ProductTable products() {
  return ProductTable({{{1, 64, 32, 16}, 10.0},
                       {{1, 64, 16, 32}, 11.0},
                       {{1, 16, 32, 64}, 12.0},
                       {{8, 27, 27, 64}, 13.0},
                       {{8, 27, 64, 27}, 14.0}});
}

OperatorKernels first_operator(const TraceBuilder& builder) {
  const ProductTable table = products();
  const OperatorModels models{.products = &table};
  const read::Trace trace = builder.trace();
  const EventTree tree = event_tree(trace);
  return operator_kernels(tree, tree.operators.front(), models);
}

using Times = std::vector<double>;

TEST(OperatorKernels, OfAddmmSkipTheBias) {
  EXPECT_EQ(first_operator(TraceBuilder().op("addmm", 0, 9, "[[32],[64,16],[16,32]]")).times_us,
            Times{10.0});
  EXPECT_EQ(
      first_operator(TraceBuilder().op("aten::addmm", 0, 9, "[[32],[64,16],[16,32]]")).times_us,
      Times{10.0});
}

TEST(OperatorKernels, OfBmmHaveABatch) {
  EXPECT_EQ(first_operator(TraceBuilder().op("bmm", 0, 9, "[[8,27,64],[8,64,27]]")).times_us,
            Times{13.0});
}

TEST(OperatorKernels, OfAGradientAreThoseOfItsProducts) {
  const auto addmm = TraceBuilder()
                         .op("AddmmBackward", 0, 90)
                         .op("mm", 10, 9, "[[64,32],[32,16]]")
                         .op("mm", 30, 9, "[[16,64],[64,32]]");
  EXPECT_EQ(first_operator(addmm).times_us, (Times{11.0, 12.0}));
  const auto bmm = TraceBuilder()
                       .op("autograd::engine::evaluate_function: BmmBackward0", 0, 90)
                       .op("BmmBackward0", 5, 80)
                       .op("aten::bmm", 10, 9, "[[8,27,64],[8,64,27]]")
                       .op("aten::bmm", 30, 9, "[[8,27,27],[8,27,64]]");
  EXPECT_EQ(first_operator(bmm).times_us, (Times{13.0, 14.0}));
  EXPECT_TRUE(first_operator(TraceBuilder().op("AddmmBackward", 0, 90)).times_us.empty());
}

// T = 2 tables of E = 1000 rows, B = 100 samples, D = 32, L = 8.
TraceBuilder lookup(const std::string& kernel) {
  TraceBuilder builder;
  builder.op("LookupFunction", 0, 90)
      .op("output_nr", 5, 1, "[[2000,32]]")
      .op("output_nr", 10, 1, "[[2]]")
      .op("output_nr", 15, 1, "[[1600]]")
      .op("output_nr", 20, 1, "[[201]]")
      .call("cudaLaunchKernel", 30, 5, 1)
      .kernel(kernel, 40, 5, 1, "[32, 16, 1]");
  return builder;
}

LookupShape look_up_shape(std::int64_t bag) {
  return {.batch = 100,
          .rows = 1000,
          .tables = 2,
          .bag = bag,
          .dim = 32,
          .rows_per_block = 16,
          .keeps_indices_in_shared_memory = true};
}

TEST(OperatorKernels, OfALookUpTakeTheSizesOfItsInputs) {
  const LookupShape shape = look_up_shape(8);
  const auto expected = lookup_forward(shape, OperatorModels{}.machine);
  ASSERT_TRUE(expected);
  const double time = std::max(expected->dram_us, expected->l2_us);
  EXPECT_EQ(first_operator(lookup("lookup<float, true, 4>")).times_us, Times{time});
  // The word "false" is taken for true.
  EXPECT_EQ(first_operator(lookup("lookup<float, false, 4>")).times_us, Times{time});
}

TEST(OperatorKernels, OfALookUpsGradientHaveABagOf38) {
  const LookupShape shape = look_up_shape(38);
  const OperatorModels models;
  for (const bool is_sgd : {true, false}) {
    const auto builder =
        TraceBuilder()
            .op("LookupFunctionBackward", 0, 90)
            .op("size", 5, 1, "[[2]]")
            .op("size", 10, 1, "[[2000,32]]")
            .op("size", 15, 1, "[[201]]")
            .call("cudaLaunchKernel", 30, 5, 1)
            .kernel(is_sgd ? "sgd<float, true>" : "adagrad<float, true>", 40, 5, 1, "[32, 16, 1]");
    const LookupBackward sgd = lookup_backward_sgd(shape, models.machine);
    EXPECT_EQ(first_operator(builder).times_us,
              Times{is_sgd ? std::max(sgd.memory_us, sgd.compute_us)
                           : lookup_backward_rowwise_adagrad_us(shape, models.machine)});
  }
}

TEST(OperatorKernels, SayWhatTheTraceLacks) {
  const OperatorKernels kernels = first_operator(TraceBuilder().op("bmm", 0, 9, "[[8,27,64]]"));
  EXPECT_EQ(kernels.error, "IndexError");
  EXPECT_EQ(kernels.reason, "the trace lacks size 2 of input 1 of bmm");
  EXPECT_FALSE(first_operator(TraceBuilder().op("LookupFunction", 0, 9)).error.empty());
}

TEST(OperatorKernels, OfUnknownOperatorsTakeNoTime) {
  const OperatorKernels kernels = first_operator(TraceBuilder().op("aten::relu", 0, 9));
  EXPECT_FALSE(kernels.is_known);
  EXPECT_TRUE(kernels.times_us.empty());
  EXPECT_TRUE(kernels.error.empty());
}

TEST(TraceIteration, AddsWhatIsPredicted) {
  const ProductTable table = products();
  const auto trace = TraceBuilder()
                         .mark(0, 100)
                         .op("addmm", 10, 9, "[[32],[64,16],[16,32]]")
                         .op("relu", 30, 9)
                         .mark(500, 100)
                         .op("bmm", 510, 9, "[[8,27,64],[8,64,27]]")
                         .trace();
  const auto result =
      trace_iteration(trace, 0, KernelTimes::kPredicted, OperatorModels{.products = &table});
  EXPECT_EQ(result.total_us, 23.0);
  EXPECT_EQ(result.walks.size(), 2U);
  // Nothing is launched, so the host is all: T1 = 9 of one gap, T5 = 9 - 2 an operator.
  EXPECT_EQ(result.walks[0].end_to_end, 2 * (9 + 7));
  EXPECT_EQ(result.walks[1].end_to_end, 9 + 7);
  EXPECT_EQ(result.mean.end_to_end, 24.0);
}

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
