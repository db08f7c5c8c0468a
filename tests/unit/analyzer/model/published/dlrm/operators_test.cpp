#include "model/published/dlrm/trace_builder.hpp"
#include "model/published/dlrm/trace_iteration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace inline_prof::model {
namespace {

using test::TraceBuilder;

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

TEST(OperatorKernels, OfALookUpTakeTheSizesOfItsInputs) {
  const LookupShape shape{.batch = 100,
                          .rows = 1000,
                          .tables = 2,
                          .bag = 8,
                          .dim = 32,
                          .rows_per_block = 16,
                          .keeps_indices_in_shared_memory = true};
  const auto expected = lookup_forward(shape, OperatorModels{}.machine);
  ASSERT_TRUE(expected);
  const double time = std::max(expected->dram_us, expected->l2_us);
  EXPECT_EQ(first_operator(lookup("lookup<float, true, 4>")).times_us, Times{time});
  // The word "false" is taken for true.
  EXPECT_EQ(first_operator(lookup("lookup<float, false, 4>")).times_us, Times{time});
}

TEST(OperatorKernels, OfALookUpsGradientHaveABagOf38) {
  const LookupShape shape{.batch = 100,
                          .rows = 1000,
                          .tables = 2,
                          .bag = 38,
                          .dim = 32,
                          .rows_per_block = 16,
                          .keeps_indices_in_shared_memory = true};
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

}  // namespace
}  // namespace inline_prof::model
