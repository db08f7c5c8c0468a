#include "join/rows/row.hpp"
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

}  // namespace
}  // namespace inline_prof::join
