#include "watch/change_point.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace inline_prof::watch {
namespace {

TEST(ChangeDetector, FindsAStep) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.05);
  ChangeDetector detector(1, 1000);
  std::vector<Change> changes;
  constexpr double change_s = 4 * 3600;
  for (int i = 0; i < 6 * 3600; ++i) {
    if (const auto change =
            detector.add(i, 4 * i, 1e5 * (i < change_s ? 1 : 1.2) * (1 + noise(random))))
      changes.push_back(*change);
  }
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_NEAR(changes[0].began_s, change_s, 40);
  EXPECT_LT(changes[0].detected_s, change_s + 300);
  EXPECT_NEAR(changes[0].ratio, 1.2, 0.02);
  EXPECT_LT(changes[0].ratio_low, 1.2);
  EXPECT_GT(changes[0].ratio_high, 1.2);
  EXPECT_NEAR(static_cast<double>(changes[0].began_iteration), 4 * change_s, 160);
}

TEST(ChangeGroups, HoldChangesOfTheSameTime) {
  std::vector<Change> changes;
  for (int i = 0; i < 5; ++i)
    changes.push_back({.began_s = 1000.0 + 10 * i, .detected_s = 1200, .ratio = 1.4});
  changes.push_back({.began_s = 1010, .detected_s = 1200, .ratio = 0.9});
  changes.push_back({.began_s = 9000, .detected_s = 9100, .ratio = 1.1});
  const auto groups = group_changes(changes);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].changes.size(), 5U);
  EXPECT_EQ(describe(groups[0], 250), "5 of 250 events became 1.40 times slower at the same time");
}

}  // namespace
}  // namespace inline_prof::watch
