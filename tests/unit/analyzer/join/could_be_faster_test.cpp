#include "join/diagnose/could_be_faster.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace inline_prof::join {
namespace {

Row improvable(const std::string& layer, double measured_us, double attainable_us,
               std::int64_t device = 0) {
  Row row;
  row.layer = layer;
  row.event = std::string("kernel");
  row.source = std::string("aten::bmm");
  row.device_id = device;
  row.corrected_us = measured_us;
  row.in_iteration_us = measured_us;
  row.attainable_us = attainable_us;
  row.remedy = std::string("pad it");
  return row;
}

TEST(CouldBeFaster, EqualLayersStandTogether) {
  const auto found =
      find_improvements({improvable("Block_0/Linear_1", 10, 4),
                         improvable("Block_1/Linear_2", 12, 4), improvable("head", 100, 50)});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].layers, "head") << "what saves most comes first";
  EXPECT_EQ(found[1].layers, "Block_*/Linear_*");
  EXPECT_EQ(found[1].rows, 2U);
  EXPECT_DOUBLE_EQ(found[1].measured_us, 22);
  EXPECT_DOUBLE_EQ(found[1].saved_us(), 14);
}

TEST(CouldBeFaster, TimesAreMeansOverDevices) {
  const auto found = find_improvements({improvable("a", 10, 4, 0), improvable("a", 20, 4, 1)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rows, 1U);
  EXPECT_DOUBLE_EQ(found[0].measured_us, 15);
  EXPECT_DOUBLE_EQ(found[0].attainable_us, 4);
}

TEST(CouldBeFaster, CallsOfAnIterationCount) {
  Row row = improvable("a", 10, 4);
  row.in_iteration_us = 30;  // three calls
  EXPECT_DOUBLE_EQ(find_improvements({row}).front().saved_us(), 18);
}

Row elementwise(const std::string& layer, std::int64_t index, double measured_us,
                const std::string& operation = "") {
  Row row = improvable(layer, measured_us, measured_us / 2);
  row.source = operation.empty() ? "aten::op_" + std::to_string(index) : operation;
  row.kernel_name = std::string("void at::native::elementwise_kernel<128, 4, f>");
  row.start_index = row.end_index = index;
  return row;
}

TEST(CouldBeFaster, ElementwiseKernelsInARowCouldBeOne) {
  Row product = elementwise("Norm_0", 3, 50);
  product.kernel_name = std::string("nvjet_tst_64x64");
  product.remedy = std::string();
  const auto found = find_improvements(
      {elementwise("Norm_0", 2, 10), elementwise("Norm_0", 0, 4), elementwise("Norm_0", 1, 6),
       product, elementwise("Norm_0", 4, 3), elementwise("Norm_0", 5, 3),
       elementwise("Norm_1", 6, 8), elementwise("Norm_1", 7, 8), elementwise("Norm_1", 8, 8)});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].operation, "3 element-wise kernels in a row");
  EXPECT_EQ(found[0].layers, "Norm_*");
  EXPECT_EQ(found[0].rows, 2U);
  EXPECT_DOUBLE_EQ(found[0].measured_us, 20 + 24);
  EXPECT_DOUBLE_EQ(found[0].attainable_us, 5 + 4) << "each as long as the longest could be";
  EXPECT_EQ(found[1].operation, "aten::op_4") << "two in a row stand for themselves";

  // A rotation of query and key: two tensors, each read and written once.
  std::vector<Row> rotary;
  for (const char* const each : {"mul", "neg", "mul", "add", "mul", "neg", "mul", "add"})
    rotary.push_back(elementwise("a", static_cast<std::int64_t>(rotary.size()), 10, each));
  EXPECT_DOUBLE_EQ(find_improvements(rotary).front().attainable_us, 2 * 5);
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

TEST(CouldBeFaster, SmallDifferencesAndUnknownsAreNone) {
  Row without_remedy = improvable("a", 10, 4);
  without_remedy.remedy = std::string();
  Row not_measured = improvable("a", 10, 4);
  not_measured.corrected_us.reset();
  Row region = improvable("a", 10, 4);
  region.is_region = true;
  EXPECT_TRUE(
      find_improvements({improvable("a", 10, 9), without_remedy, not_measured, region}).empty());
  EXPECT_EQ(find_improvements({improvable("a", 10, 4), improvable("b", 1e6, 4)}).size(), 1U)
      << "0.0006 % of all";
}

}  // namespace
}  // namespace inline_prof::join
