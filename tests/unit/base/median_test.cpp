#include "base/median.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

namespace inline_prof::base {
namespace {

std::vector<double> one_to(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleOnes) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median({7}), 7);
  EXPECT_THROW(static_cast<void>(median({})), std::invalid_argument);
}

std::optional<Interval> interval_of(std::vector<double> values) {
  return median_and_interval95(std::span(values)).ci95;
}

TEST(MedianInterval, FiveValuesAreTooFew) {
  EXPECT_FALSE(interval_of(one_to(5)));
}

TEST(MedianInterval, SixValuesGiveTheirExtremes) {
  // P(B < 1) = 1/64 = 1.6 %, P(B < 2) = 7/64: the first and the last.
  const auto interval = interval_of(one_to(6));
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->lower, 1);
  EXPECT_DOUBLE_EQ(interval->upper, 6);
}

TEST(MedianInterval, FiftyValuesGiveTheEighteenthAndTheThirtyThird) {
  // The tables of the sign test: for n = 50 at 95 %, ranks 18 and 33.
  const auto interval = interval_of(one_to(50));
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->lower, 18);
  EXPECT_DOUBLE_EQ(interval->upper, 33);
}

TEST(MedianInterval, HoldsForManyValues) {
  // n/2 - 1.96 sqrt(n)/2 = 5000 - 98 for n = 10000.
  const auto interval = interval_of(one_to(10000));
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->lower, 4902, 2);
  EXPECT_NEAR(interval->upper, 5099, 2);
}

TEST(MedianInterval, IsTheSameInAnyOrder) {
  std::vector<double> values = one_to(101);
  const auto sorted = median_interval95_of_sorted(values);
  ASSERT_TRUE(sorted);
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    std::shuffle(values.begin(), values.end(), random);
    const auto interval = interval_of(values);
    ASSERT_TRUE(interval);
    EXPECT_DOUBLE_EQ(interval->lower, sorted->lower);
    EXPECT_DOUBLE_EQ(interval->upper, sorted->upper);
  }
}

TEST(MedianAndInterval, GivesTheMedianOfAnyNumberOfValues) {
  std::mt19937 random(2);
  for (std::size_t count = 1; count < 40; ++count) {
    std::vector<double> values = one_to(count);
    std::shuffle(values.begin(), values.end(), random);
    std::vector<float> floats(values.begin(), values.end());
    EXPECT_DOUBLE_EQ(median_and_interval95(std::span(values)).median,
                     0.5 * (1 + static_cast<double>(count)));
    EXPECT_DOUBLE_EQ(median_and_interval95(std::span(floats)).median,
                     0.5 * (1 + static_cast<double>(count)));
  }
  EXPECT_THROW(static_cast<void>(median_and_interval95(std::span<double>())),
               std::invalid_argument);
}

TEST(MedianOfSorted, AgreesWithTheOther) {
  const std::vector<double> sorted{1, 2, 4, 8, 16, 100};
  EXPECT_DOUBLE_EQ(median_of_sorted(sorted), median(sorted));
  EXPECT_THROW(static_cast<void>(median_of_sorted({})), std::invalid_argument);
  EXPECT_EQ(median_spread_of_sorted(sorted)->outliers, median_spread(sorted)->outliers);
  EXPECT_DOUBLE_EQ(median_spread_of_sorted(sorted)->mad, median_spread(sorted)->mad);
}

TEST(MedianSpread, CountsWhatLiesFarOut) {
  // Median 10, distances 2 1 0 1 2 and 90: their median is 1.5, and 90 > 5 * 1.5.
  const auto spread = median_spread({8, 9, 10, 11, 12, 100});
  ASSERT_TRUE(spread);
  EXPECT_DOUBLE_EQ(spread->mad, 1.5);
  EXPECT_EQ(spread->outliers, 1U);
}

TEST(MedianSpread, IsTheMedianOfAllDistances) {
  std::mt19937 random(3);
  std::lognormal_distribution<double> skewed(0, 1);
  for (std::size_t count = 3; count < 60; ++count) {
    std::vector<double> values(count);
    for (double& value : values)
      value = skewed(random);
    std::vector<double> distances;
    for (const double value : values)
      distances.push_back(std::abs(value - median(values)));
    EXPECT_DOUBLE_EQ(median_spread(values).value().mad, median(distances));
  }
}

TEST(MedianSpread, OneWildValueDoesNotHideAnother) {
  EXPECT_EQ(median_spread({9, 10, 10, 11, 10, 9, 11, 100, 1e9}).value().outliers, 2U);
}

TEST(MedianSpread, AmongEqualValuesEveryOtherOneStandsOut) {
  const auto spread = median_spread({5, 5, 5, 5, 5.001});
  ASSERT_TRUE(spread);
  EXPECT_DOUBLE_EQ(spread->mad, 0);
  EXPECT_EQ(spread->outliers, 1U);
  EXPECT_EQ(median_spread({5, 5, 5}).value().outliers, 0U);
}

TEST(MedianSpread, TwoValuesHaveNoOutlier) {
  EXPECT_FALSE(median_spread({1, 100}));
  EXPECT_FALSE(median_spread({}));
}

MedianAndInterval estimate(std::vector<double> values) {
  return median_and_interval95(std::span(values));
}

TEST(MedianAndInterval, NeedsSixValues) {
  EXPECT_FALSE(estimate({1, 2, 3, 4, 5}).ci95);
  const auto six = estimate({6, 5, 4, 3, 2, 1});
  ASSERT_TRUE(six.ci95);
  EXPECT_EQ(six.median, 3.5);
  EXPECT_EQ(six.ci95->lower, 1);
  EXPECT_EQ(six.ci95->upper, 6);
}

// Tables of the sign test: n = 15 gives ranks 4 and 12, n = 100 ranks 40 and 61.
TEST(MedianAndInterval, AgreesWithTables) {
  std::vector<double> values(100);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i + 1);
  const auto hundred = estimate(values);
  EXPECT_EQ(hundred.ci95->lower, 40);
  EXPECT_EQ(hundred.ci95->upper, 61);
  values.resize(15);
  const auto fifteen = estimate(values);
  EXPECT_EQ(fifteen.ci95->lower, 4);
  EXPECT_EQ(fifteen.ci95->upper, 12);
  EXPECT_EQ(fifteen.relative_half_width(), 0.5);  // (12 - 4) / 2 / 8
}

TEST(MedianAndInterval, HoldsForFiveThousandValues) {
  std::vector<double> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i + 1);
  const auto found = estimate(values);
  // Normal approximation: 2500.5 +- 1.96 * sqrt(5000) / 2 = 2500.5 +- 69.3.
  EXPECT_NEAR(found.ci95->lower, 2500.5 - 69.3, 1.0);
  EXPECT_NEAR(found.ci95->upper, 2500.5 + 69.3, 1.0);
}

TEST(MedianAndInterval, OfZerosHasNoRelativeWidth) {
  EXPECT_EQ(estimate(std::vector<double>(6, 0.0)).relative_half_width(),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace inline_prof::base
