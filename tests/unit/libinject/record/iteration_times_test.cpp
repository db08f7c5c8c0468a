#include "record/run_record.hpp"

#include <gtest/gtest.h>

namespace inline_prof::record {
namespace {

TEST(IterationTimes, HaveRoomForWhatWasAskedForLast) {
  IterationTimes times;
  times.add(11, 1.0F);
  EXPECT_EQ(times.size(), 0U);
  // A run is first taken for one without iterations, and then they begin.
  times.restart(1);
  times.set_only(7.5F);
  ASSERT_EQ(times.size(), 1U);
  times.restart(1000);
  EXPECT_EQ(times.size(), 0U);
  for (int i = 0; i < 1001; ++i)
    times.add(i + 11, static_cast<float>(i));
  ASSERT_EQ(times.size(), 1000U);
  EXPECT_EQ(times[0], 0.0F);
  EXPECT_EQ(times[999], 999.0F);
  EXPECT_EQ(times.iteration(999), 1010);
}

}  // namespace
}  // namespace inline_prof::record
