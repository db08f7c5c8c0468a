#include "join/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inline_prof::join {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

auto near(double value) {
  return DoubleNear(value, 1e-9);
}

TEST(BusyTime, OneStreamIsASum) {
  EXPECT_THAT(busy_time({{.stream = 0, .start_us = 0, .length_us = 10},
                         {.stream = 0, .start_us = 50, .length_us = 20}}),
              ElementsAre(near(10), near(20)));
}

TEST(BusyTime, OneStreamNeverRunsTwoPiecesAtOnce) {
  // The medians of two iterations say that the second starts before the first has ended.
  EXPECT_THAT(busy_time({{.stream = 0, .start_us = 0, .length_us = 10},
                         {.stream = 0, .start_us = 7, .length_us = 20}}),
              ElementsAre(near(10), near(20)));
}

TEST(BusyTime, ASharedMomentIsSplitEvenly) {
  // Union [0, 30): 0-10 first alone, 10-20 both, 20-30 second alone.
  EXPECT_THAT(busy_time({{.stream = 0, .start_us = 0, .length_us = 20},
                         {.stream = 1, .start_us = 10, .length_us = 20}}),
              ElementsAre(near(15), near(15)));
}

TEST(BusyTime, WhatTouchesDoesNotOverlap) {
  EXPECT_THAT(busy_time({{.stream = 0, .start_us = -5, .length_us = 5},
                         {.stream = 1, .start_us = 0, .length_us = 5}}),
              ElementsAre(near(5), near(5)));
}

TEST(BusyTime, ThreeStreamsShareInThirds) {
  EXPECT_THAT(busy_time({{.stream = 0, .start_us = 0, .length_us = 30},
                         {.stream = 1, .start_us = 0, .length_us = 30},
                         {.stream = 2, .start_us = 0, .length_us = 30}}),
              ElementsAre(near(10), near(10), near(10)));
}

TEST(BusyTime, NothingTakesNoTime) {
  EXPECT_TRUE(busy_time({}).empty());
  EXPECT_THAT(busy_time({{.stream = 0, .start_us = 3, .length_us = 0}}), ElementsAre(near(0)));
}

}  // namespace
}  // namespace inline_prof::join
