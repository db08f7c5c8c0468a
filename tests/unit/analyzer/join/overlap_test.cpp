#include "join/overlap.hpp"

#include <gtest/gtest.h>

namespace inline_prof::join {
namespace {

// A replay of 20 us whose two kernels take 12 and 11 us, each timed alone.
Analysis replay_of_two(bool overlap) {
  Analysis analysis;
  analysis.rows.resize(3);
  analysis.merged.resize(3);
  for (std::size_t i = 0; i < 3; ++i)
    analysis.merged[i].rows = {i};
  for (std::size_t i : {1U, 2U}) {
    analysis.rows[i].is_graph_node = true;
    analysis.rows[i].overlap_removed = overlap;
    analysis.merged[i].parent = 0;
  }
  analysis.merged[0].corrected_us = 20;
  analysis.merged[1].corrected_us = 12;
  analysis.merged[2].corrected_us = 11;
  return analysis;
}

TEST(FindOverlap, ComparesTheKernelsOfAGraphWithItsReplay) {
  Analysis analysis = replay_of_two(true);
  find_overlap(analysis);
  ASSERT_TRUE(analysis.overlap);
  EXPECT_DOUBLE_EQ(analysis.overlap->one_by_one_us, 23);
  EXPECT_DOUBLE_EQ(analysis.overlap->together_us, 20);
}

TEST(FindOverlap, SaysNothingWhereNothingOverlaps) {
  Analysis analysis = replay_of_two(false);
  find_overlap(analysis);
  EXPECT_FALSE(analysis.overlap);
}

TEST(FindOverlap, NeedsTheTimesOfAllKernels) {
  Analysis analysis = replay_of_two(true);
  analysis.merged[2].corrected_us.reset();
  find_overlap(analysis);
  EXPECT_FALSE(analysis.overlap);
}

}  // namespace
}  // namespace inline_prof::join
