#include "join/diagnose/worth_fixing.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

}  // namespace
}  // namespace inline_prof::join
