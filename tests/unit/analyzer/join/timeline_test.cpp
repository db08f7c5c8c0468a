#include "join/place/placement.hpp"
#include "join/timeline_layout.hpp"
#include "joined_profiles.hpp"
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

std::vector<TimelineTrack> layout_of(std::vector<read::Event> events) {
  return timeline_layout(test::joined(profile_of(std::move(events), 1000)));
}

TEST(TimelineLayout, GivesEachStreamOfADeviceATrack) {
  const auto tracks = layout_of({EventBuilder("a", 0, 1).samples_us({10}),
                                 EventBuilder("b", 2, 3).stream(1).samples_us({10}),
                                 EventBuilder("c", 4, 5).device(1).samples_us({10})});
  ASSERT_EQ(tracks.size(), 3U);
  EXPECT_EQ(tracks[1].stream_index, 1);
  EXPECT_EQ(tracks[2].device_id, 1);
}

TEST(TimelineLayout, PutsWhatHasNoStartBehindWhatWasLaunchedBefore) {
  const auto tracks = layout_of({EventBuilder("a", 0, 1).samples_us({10}).offset_us(5),
                                 EventBuilder("b", 2, 3).samples_us({20}),
                                 EventBuilder("c", 4, 5).samples_us({1})});
  ASSERT_EQ(tracks.size(), 1U);
  ASSERT_EQ(tracks[0].bars.size(), 3U);
  EXPECT_NEAR(tracks[0].bars[1].start_us, 15, 1e-9);
  EXPECT_FALSE(tracks[0].bars[1].has_place);
  EXPECT_NEAR(tracks[0].bars[2].start_us, 35, 1e-9);
}

TEST(TimelineLayout, PutsInnerRowsBelowTheirRegion) {
  const auto tracks = layout_of({EventBuilder("region", 0, 5).samples_us({30}).offset_us(100),
                                 EventBuilder("x", 1, 2).samples_us({10}),
                                 EventBuilder("y", 3, 4).samples_us({15})});
  ASSERT_EQ(tracks.size(), 1U);
  const auto& bars = tracks[0].bars;
  EXPECT_EQ(tracks[0].lanes, 2U);
  EXPECT_EQ(bars[0].lane, 0U);
  EXPECT_EQ(bars[1].lane, 1U);
  EXPECT_NEAR(bars[1].start_us, 100, 1e-9);
  EXPECT_NEAR(bars[2].start_us, 110, 1e-9);
}

TEST(TimelineLayout, MovesWhatOverlapsALittleAndGivesTheRestALane) {
  const auto tracks = layout_of({EventBuilder("a", 0, 1).samples_us({100}).offset_us(0),
                                 EventBuilder("little", 2, 3).samples_us({50}).offset_us(98),
                                 EventBuilder("much", 4, 5).samples_us({50}).offset_us(110)});
  ASSERT_EQ(tracks.size(), 1U);
  const auto& bars = tracks[0].bars;
  EXPECT_NEAR(bars[1].start_us, 100, 1e-9);
  EXPECT_EQ(bars[1].lane, 0U);
  EXPECT_NEAR(bars[2].start_us, 110, 1e-9);
  EXPECT_EQ(bars[2].lane, 1U);
}

}  // namespace
}  // namespace inline_prof::join
