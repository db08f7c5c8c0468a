#include "join/join.hpp"
#include "join/rows/event_bias.hpp"
#include "join/rows/row.hpp"
#include "profile_builder.hpp"
#include "read/read_profile.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

Row row(std::int64_t start_index, std::int64_t end_index, std::int64_t stream_index = 0,
        std::int64_t device_id = 0) {
  Row result;
  result.start_index = start_index;
  result.end_index = end_index;
  result.stream_index = stream_index;
  result.device_id = device_id;
  return result;
}

std::vector<std::optional<std::size_t>> parents(std::vector<Row> rows) {
  find_nesting(rows);
  std::vector<std::optional<std::size_t>> result;
  result.reserve(rows.size());
  for (const Row& each : rows)
    result.push_back(each.parent);
  return result;
}

TEST(FindNesting, TheSmallestEnclosingRowIsTheParent) {
  EXPECT_THAT(
      parents({row(0, 9), row(1, 6), row(2, 3), row(7, 8), row(10, 11)}),
      ElementsAre(Eq(std::nullopt), Optional(0U), Optional(1U), Optional(0U), Eq(std::nullopt)));
}

TEST(FindNesting, OrderInTheFileDoesNotMatter) {
  EXPECT_THAT(parents({row(2, 3), row(0, 9)}), ElementsAre(Optional(1U), Eq(std::nullopt)));
}

TEST(FindNesting, OtherStreamsAndDevicesAreNotEnclosed) {
  EXPECT_THAT(parents({row(0, 9), row(1, 2, 1), row(3, 4, 0, 1)}),
              ElementsAre(Eq(std::nullopt), Eq(std::nullopt), Eq(std::nullopt)));
}

TEST(FindNesting, AnOverlapIsNoNesting) {
  // [2, 7] overlaps [0, 5]; both lie within [0, 9].
  EXPECT_THAT(parents({row(0, 9), row(0, 5), row(2, 7), row(3, 4)}),
              ElementsAre(Eq(std::nullopt), Optional(0U), Optional(0U), Optional(2U)));
}

TEST(FindNesting, ManyOverlapsTakeNoQuadraticTime) {
  constexpr std::int64_t count = 200'000;
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < count; ++i)
    rows.push_back(row(i, i + count));
  find_nesting(rows);
  EXPECT_FALSE(rows.back().parent);
}

TEST(FindNesting, OnlyRowsThatEncloseOthersAreRegions) {
  std::vector<Row> rows{row(0, 3), row(1, 2)};
  find_nesting(rows);
  EXPECT_TRUE(rows[0].is_region);
  EXPECT_FALSE(rows[1].is_region);
  EXPECT_THAT(children_of(rows), ElementsAre(ElementsAre(1U), ElementsAre()));
}

std::optional<NestedRegions> nested_regions_of(const std::vector<read::Event>& events) {
  std::vector<Row> rows;
  for (const read::Event& event : events) {
    Row& row = rows.emplace_back();
    row.device_id = event.device_id;
    row.start_index = event.start_index;
    row.end_index = event.end_index;
  }
  find_nesting(rows);
  return nested_region_bias(events, rows);
}

TEST(NestedRegions, IsTheExcessOfTheChildrenForEachPairMore) {
  // Kernels of 10, 20 and 30 us; pairs add 6: children 16 + 26 + 36 = 78, region 66; (78 - 66) / 2
  // = 6.
  const auto nested_regions = nested_regions_of(
      {EventBuilder("r", 0, 7).samples_us({66}), EventBuilder("a", 1, 2).samples_us({16}),
       EventBuilder("b", 3, 4).samples_us({26}), EventBuilder("c", 5, 6).samples_us({36})});
  ASSERT_TRUE(nested_regions);
  EXPECT_NEAR(nested_regions->bias_us, 6, 1e-9);
  EXPECT_EQ(nested_regions->regions, 1U);
}

TEST(NestedRegions, TakesTheMedianOverRegions) {
  std::vector<read::Event> events;
  for (const double bias_us : {4.0, 5.0, 9.0}) {
    const auto device = static_cast<std::int64_t>(events.size());
    events.push_back(EventBuilder("r", 0, 5).device(device).samples_us({30 + bias_us}));
    events.push_back(EventBuilder("a", 1, 2).device(device).samples_us({10 + bias_us}));
    events.push_back(EventBuilder("b", 3, 4).device(device).samples_us({20 + bias_us}));
  }
  EXPECT_NEAR(nested_regions_of(events).value().bias_us, 5, 1e-9);
}

TEST(NestedRegions, TellNothingWhereChildrenDoNotCoverThem) {
  const read::Event one = EventBuilder("a", 1, 2).samples_us({16});
  const read::Event two = EventBuilder("b", 3, 4).samples_us({26});
  EXPECT_FALSE(nested_regions_of({EventBuilder("r", 0, 5).samples_us({100}), one, two}));
  EXPECT_FALSE(nested_regions_of({EventBuilder("r", 0, 3).samples_us({16}), one}));
  EXPECT_FALSE(nested_regions_of(
      {EventBuilder("r", 0, 7).samples_us({30}), one, two, EventBuilder("c", 5, 6)}));
}

class ClosureOfARealFile : public TestWithParam<double> {};

// 512 events of the original profiler on a DGX A100, and the same file with more added to every
// sample, and a jitter of 0.3 us: what was added comes back.
TEST_P(ClosureOfARealFile, FindsWhatAPairAdds) {
  read::Profile profile = read::read_profile(
      std::filesystem::path(INLINE_PROF_TEST_DATA "/hugectr/dlrm_a100_8gpu.prof.json"));
  std::mt19937 random(1);
  std::normal_distribution<double> jitter_us(0.0, 0.3);
  for (read::Event& event : profile.events) {
    for (double& time_ms : event.measured_ms)
      time_ms += (GetParam() + jitter_us(random)) * 1e-3;
  }
  const Analysis analysis = join_profiles({profile}, {}, {});
  EXPECT_EQ(analysis.event_bias_source, "closure");
  EXPECT_EQ(analysis.event_bias_detail, "112 regions, a lower bound");
  EXPECT_NEAR(analysis.event_bias_us, 5.87 + GetParam(), 0.1);
}

INSTANTIATE_TEST_SUITE_P(Added, ClosureOfARealFile, Values(0.0, 2.3, 11.0));

TEST(NestedRegions, OfTheRealFileIsTheDocumentedNumber) {
  const read::Profile profile = read::read_profile(
      std::filesystem::path(INLINE_PROF_TEST_DATA "/hugectr/dlrm_a100_8gpu.prof.json"));
  EXPECT_NEAR(join_profiles({profile}, {}, {}).event_bias_us, 5.874, 0.001);
}

TEST(NestedRegions, ACalibrationIsBetter) {
  read::Profile profile;
  profile.file = "p.json";
  profile.iter_time_ms = {1};
  profile.events = {EventBuilder("r", 0, 5).samples_us({36}),
                    EventBuilder("a", 1, 2).samples_us({16}),
                    EventBuilder("b", 3, 4).samples_us({26})};
  EXPECT_EQ(join_profiles({profile}, {}, {}).event_bias_source, "closure");
  profile.calibration = {test::calibration(0, read::PairState::kBusy, 5)};
  EXPECT_EQ(join_profiles({profile}, {}, {}).event_bias_source, "calibration");
}

}  // namespace
}  // namespace inline_prof::join
