#include "base/median.hpp"

#include "testing.hpp"

#include <span>

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

// The tables of the sign test at 95 % have the ranks; for six P(B < 1) = 1/64 = 1.6 %, P(B < 2) =
// 7/64.  Of very many n/2 +- 1.96 sqrt(n)/2 is near.
TEST(MedianInterval, HasTheRanksOfTables) {
  EXPECT_FALSE(interval_of(one_to(5)));
  const struct {
    std::size_t count;
    double lower, upper, tolerance;
  } rows[] = {{6, 1, 6, 0},
              {15, 4, 12, 0},
              {50, 18, 33, 0},
              {100, 40, 61, 0},
              {5000, 2431.2, 2569.8, 1},
              {10000, 4902, 5099, 2}};
  for (const auto& row : rows) {
    const auto interval = interval_of(one_to(row.count));
    ASSERT_TRUE(interval) << row.count;
    EXPECT_NEAR(interval->lower, row.lower, row.tolerance) << row.count;
    EXPECT_NEAR(interval->upper, row.upper, row.tolerance) << row.count;
  }
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
    distances.reserve(count);
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

TEST(MedianAndInterval, HasAWidthRelativeToTheMedian) {
  const auto relative_half_width = [](std::vector<double> values) {
    return median_and_interval95(std::span(values)).relative_half_width();
  };
  EXPECT_EQ(relative_half_width(one_to(15)), 0.5);  // (12 - 4) / 2 / 8
  EXPECT_EQ(relative_half_width(std::vector<double>(6, 0.0)),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace inline_prof::base
