#include "join/diagnose/worth_fixing.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

Row elementwise(const std::string& layer, std::int64_t index, double measured_us,
                const std::string& operation = "") {
  Row row;
  row.layer = layer;
  row.event = std::string("kernel");
  row.corrected_us = measured_us;
  row.in_iteration_us = measured_us;
  row.attainable_us = measured_us / 2;
  row.remedy = std::string("pad it");
  row.source = operation.empty() ? "aten::op_" + std::to_string(index) : operation;
  row.kernel_name = std::string("void at::native::elementwise_kernel<128, 4, f>");
  row.start_index = row.end_index = index;
  return row;
}

TEST(CouldBeFaster, ElementwiseKernelsInARowCouldBeOne) {
  Row product = elementwise("Norm_0", 3, 50);
  product.kernel_name = std::string("nvjet_tst_64x64");
  product.remedy = std::string();
  const auto found = fusable_runs(
      {elementwise("Norm_0", 2, 10), elementwise("Norm_0", 0, 4), elementwise("Norm_0", 1, 6),
       product, elementwise("Norm_0", 4, 3), elementwise("Norm_0", 5, 3),
       elementwise("Norm_1", 6, 8), elementwise("Norm_1", 7, 8), elementwise("Norm_1", 8, 8)});
  ASSERT_EQ(found.size(), 2U) << "two in a row stand for themselves";
  EXPECT_EQ(found[0].rows, (std::vector<std::size_t>{1, 2, 0}));
  EXPECT_DOUBLE_EQ(found[0].measured_us, 20);
  EXPECT_DOUBLE_EQ(found[0].fused_us, 5) << "as long as the longest could be";
  EXPECT_DOUBLE_EQ(found[1].measured_us, 24);
  EXPECT_DOUBLE_EQ(found[1].fused_us, 4);

  // A rotation of query and key: two tensors, each read and written once.
  std::vector<Row> rotary;
  for (const char* const each : {"mul", "neg", "mul", "add", "mul", "neg", "mul", "add"})
    rotary.push_back(elementwise("a", static_cast<std::int64_t>(rotary.size()), 10, each));
  EXPECT_DOUBLE_EQ(fusable_runs(rotary).front().fused_us, 2 * 5);
}

TEST(CouldBeFaster, OperatorsWithoutAModuleAreInOneRowAndGradientsOfParametersInNone) {
  const auto found = fusable_runs({elementwise("aten::mul", 0, 4), elementwise("aten::add", 1, 6),
                                   elementwise("aten::relu", 2, 2), elementwise("head", 3, 9)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rows.size(), 3U) << "a layer ends a row";
  EXPECT_DOUBLE_EQ(found[0].measured_us, 12);
  EXPECT_DOUBLE_EQ(found[0].fused_us, 3);
  const std::string gradients = "autograd::engine::evaluate_function: AccumulateGrad";
  EXPECT_TRUE(fusable_runs({elementwise(gradients, 0, 4), elementwise(gradients, 1, 6),
                            elementwise(gradients, 2, 2)})
                  .empty());
}

// A replay of 20 us whose two kernels take 12 and 11 us, each timed alone.
class Replay : public Test {
 protected:
  Replay() : rows_(3), merged_(3) {
    for (std::size_t i = 0; i < 3; ++i)
      merged_[i].rows = {i};
    for (std::size_t i : {1U, 2U}) {
      rows_[i].is_graph_node = true;
      rows_[i].overlap_removed = true;
      merged_[i].parent = 0;
    }
    merged_[0].corrected_us = 20;
    merged_[1].corrected_us = 12;
    merged_[2].corrected_us = 11;
  }

  std::vector<Row> rows_;
  std::vector<MergedRow> merged_;
};

TEST_F(Replay, ComparesTheKernelsOfAGraphWithItsReplay) {
  const auto overlap = overlap_of(rows_, merged_);
  ASSERT_TRUE(overlap);
  EXPECT_DOUBLE_EQ(overlap->one_by_one_us, 23);
  EXPECT_DOUBLE_EQ(overlap->together_us, 20);
}

TEST_F(Replay, SaysNothingWhereNothingOverlaps) {
  for (Row& row : rows_)
    row.overlap_removed = false;
  EXPECT_FALSE(overlap_of(rows_, merged_));
}

TEST_F(Replay, NeedsTheTimesOfAllKernels) {
  merged_[2].corrected_us.reset();
  EXPECT_FALSE(overlap_of(rows_, merged_));
}

}  // namespace
}  // namespace inline_prof::join
