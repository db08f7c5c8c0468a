#include "join/diagnose/worth_fixing.hpp"

#include <gtest/gtest.h>

namespace inline_prof::join {
namespace {

// A replay of 20 us whose two kernels take 12 and 11 us, each timed alone.
class Replay : public testing::Test {
 protected:
  Replay() : rows_(3), merged_(3) {
    for (std::size_t i = 0; i < 3; ++i)
      merged_[i].rows = {i};
    for (std::size_t i : {1U, 2U}) {
      rows_[i].is_graph_node = true;
      rows_[i].overlap_removed = true;
      merged_[i].parent = 0;
    }
    merged_[0].corrected_us = 20;
    merged_[1].corrected_us = 12;
    merged_[2].corrected_us = 11;
  }

  std::vector<Row> rows_;
  std::vector<MergedRow> merged_;
};

TEST_F(Replay, ComparesTheKernelsOfAGraphWithItsReplay) {
  const auto overlap = overlap_of(rows_, merged_);
  ASSERT_TRUE(overlap);
  EXPECT_DOUBLE_EQ(overlap->one_by_one_us, 23);
  EXPECT_DOUBLE_EQ(overlap->together_us, 20);
}

TEST_F(Replay, SaysNothingWhereNothingOverlaps) {
  for (Row& row : rows_)
    row.overlap_removed = false;
  EXPECT_FALSE(overlap_of(rows_, merged_));
}

TEST_F(Replay, NeedsTheTimesOfAllKernels) {
  merged_[2].corrected_us.reset();
  EXPECT_FALSE(overlap_of(rows_, merged_));
}

}  // namespace
}  // namespace inline_prof::join
