#include "join/place/placement.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

Row placed_row(double offset_us, double length_us, bool is_graph_node) {
  Row row;
  row.offset_us = offset_us;
  row.in_iteration_us = length_us;
  row.is_graph_node = is_graph_node;
  return row;
}

Lanes::LaneStart put(Lanes& lanes, const Row& row) {
  return lanes.place(row, row.offset_us);
}

TEST(Lanes, KernelsOfAGraphMayRunBesideEachOther) {
  Lanes lanes;
  EXPECT_EQ(put(lanes, placed_row(0, 10, true)).lane, 0U);
  EXPECT_EQ(put(lanes, placed_row(10, 30, true)).lane, 0U);
  const Lanes::LaneStart beside = put(lanes, placed_row(11, 10, true));
  EXPECT_EQ(beside.lane, 1U);
  EXPECT_DOUBLE_EQ(beside.start_us, 11);
  EXPECT_EQ(put(lanes, placed_row(21, 5, true)).lane, 1U) << "the branch goes on";
  const Lanes::LaneStart joined = put(lanes, placed_row(39.5, 10, true));
  EXPECT_EQ(joined.lane, 0U) << "what ended last";
  EXPECT_DOUBLE_EQ(joined.start_us, 40) << "medians that are off make no branch";
  EXPECT_EQ(lanes.count(), 2U);
}

TEST(Lanes, AreNoMoreThanAGpuRunsAtATime) {
  Lanes lanes;
  for (int i = 0; i < 1000; ++i)
    put(lanes, placed_row(0, 10, true));
  EXPECT_EQ(lanes.count(), 128U);
}

TEST(Lanes, AChainOfTimesThatAreTooLongStaysOne) {
  Lanes lanes;
  double end_us = 0;
  for (int i = 0; i < 20; ++i) {
    const Lanes::LaneStart place = put(lanes, placed_row(2 * i, 2.5, true));
    EXPECT_EQ(place.lane, 0U) << i;
    end_us = place.start_us + 2.5;
  }
  EXPECT_DOUBLE_EQ(end_us, 50) << "and is seen to be too long";
}

TEST(Lanes, AStreamIsInOrder) {
  Lanes lanes;
  EXPECT_EQ(put(lanes, placed_row(0, 20, false)).lane, 0U);
  const Lanes::LaneStart next = put(lanes, placed_row(5, 20, false));
  EXPECT_EQ(next.lane, 0U);
  EXPECT_DOUBLE_EQ(next.start_us, 20);
  Row other = placed_row(5, 20, false);
  other.stream_index = 1;
  EXPECT_EQ(put(lanes, other).lane, 1U);
}

TEST(BusyTime, IsSharedEvenlyAmongTheLanesThatWork) {
  const struct {
    std::vector<Piece> pieces;
    std::vector<double> busy_us;
  } rows[] = {{{}, {}},
              {{{0, 3, 0}}, {0}},
              {{{0, 0, 10}, {0, 50, 20}}, {10, 20}},
              // Medians of two iterations: a stream never runs two pieces at once.
              {{{0, 0, 10}, {0, 7, 20}}, {10, 20}},
              // The union is [0, 30): 0-10 first alone, 10-20 both, 20-30 second alone.
              {{{0, 0, 20}, {1, 10, 20}}, {15, 15}},
              {{{0, -5, 5}, {1, 0, 5}}, {5, 5}},
              {{{0, 0, 30}, {1, 0, 30}, {2, 0, 30}}, {10, 10, 10}}};
  for (const auto& [pieces, busy_us] : rows)
    EXPECT_THAT(busy_time(pieces), Pointwise(DoubleNear(1e-9), busy_us));
}

}  // namespace
}  // namespace inline_prof::join
