#include "timer/calibration.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace inline_prof::timer {
namespace {

TEST(Distribution, InterpolatesBetweenOrderStatistics) {
  // Sorted: 0, 10, ..., 100.  p05 lies at place 0.05 * 10 = 0.5, between 0 and 10.
  std::vector<double> values{100, 0, 90, 10, 80, 20, 70, 30, 60, 40, 50};
  const record::Distribution found = distribution_of(values);
  EXPECT_DOUBLE_EQ(found.median_us, 50);
  EXPECT_DOUBLE_EQ(found.p05_us, 5);
  EXPECT_DOUBLE_EQ(found.p95_us, 95);
  EXPECT_EQ(found.count, 11);
}

TEST(Distribution, TakesTheMiddleOfAnEvenNumber) {
  std::vector<double> values{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(distribution_of(values).median_us, 2.5);
}

TEST(Distribution, OfOneValueIsThatValue) {
  std::vector<double> values{7};
  const record::Distribution found = distribution_of(values);
  EXPECT_DOUBLE_EQ(found.p05_us, 7);
  EXPECT_DOUBLE_EQ(found.median_us, 7);
  EXPECT_DOUBLE_EQ(found.p95_us, 7);
  EXPECT_EQ(found.count, 1);
}

TEST(Distribution, OfNothingHasNoCount) {
  std::vector<double> values;
  EXPECT_EQ(distribution_of(values).count, 0);
}

}  // namespace
}  // namespace inline_prof::timer
