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

TEST(CouldBeFaster, SmallDifferencesAndUnknownsAreNone) {
  Row without_remedy = improvable("a", 10, 4);
  without_remedy.remedy = std::string();
  Row not_measured = improvable("a", 10, 4);
  not_measured.corrected_us.reset();
  Row region = improvable("a", 10, 4);
  region.is_region = true;
  EXPECT_TRUE(
      find_improvements({improvable("a", 10, 9), without_remedy, not_measured, region}).empty());
}

}  // namespace
}  // namespace inline_prof::join
