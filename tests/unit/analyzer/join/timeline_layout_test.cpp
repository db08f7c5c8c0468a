#include "join/timeline_layout.hpp"

#include "joined_profiles.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

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
