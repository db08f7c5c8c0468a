#include "base/median.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <vector>

namespace inline_prof::base {
namespace {

TEST(EstimateMedian, NeedsSixValues) {
  EXPECT_FALSE(estimate_median({1, 2, 3, 4, 5}));
  const auto six = estimate_median({6, 5, 4, 3, 2, 1});
  ASSERT_TRUE(six);
  EXPECT_EQ(six->median, 3.5);
  EXPECT_EQ(six->lower, 1);
  EXPECT_EQ(six->upper, 6);
}

// Tables of the sign test: n = 15 gives ranks 4 and 12, n = 100 ranks 40 and 61.
TEST(EstimateMedian, AgreesWithTables) {
  std::vector<double> values(100);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i + 1);
  const auto hundred = estimate_median(values);
  EXPECT_EQ(hundred->lower, 40);
  EXPECT_EQ(hundred->upper, 61);
  values.resize(15);
  const auto fifteen = estimate_median(values);
  EXPECT_EQ(fifteen->lower, 4);
  EXPECT_EQ(fifteen->upper, 12);
  EXPECT_EQ(fifteen->relative_half_width(), 0.5);  // (12 - 4) / 2 / 8
}

TEST(EstimateMedian, HoldsForManyValues) {
  std::vector<double> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i + 1);
  const auto estimate = estimate_median(values);
  // Normal approximation: 2500.5 +- 1.96 * sqrt(5000) / 2 = 2500.5 +- 69.3.
  EXPECT_NEAR(estimate->lower, 2500.5 - 69.3, 1.0);
  EXPECT_NEAR(estimate->upper, 2500.5 + 69.3, 1.0);
}

TEST(EstimateMedian, OfZerosHasNoRelativeWidth) {
  EXPECT_EQ(estimate_median(std::vector<double>(6, 0.0))->relative_half_width(),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace inline_prof::base
