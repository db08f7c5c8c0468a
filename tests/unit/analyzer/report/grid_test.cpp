#include "report/text.hpp"
#include "testing.hpp"

namespace inline_prof::report {
namespace {

Grid example_grid() {
  return {{"name", "time_us"}, {{std::string("a,b"), 1.0 / 3}, {std::string("c"), {}}}};
}

TEST(Grid, IsReadableAsATable) {
  EXPECT_EQ(grid_text(example_grid(), GridFormat::kTable),
            "name  time_us\n"
            "a,b   0.33333\n"
            "c\n");
}

TEST(Grid, KeepsAllDigitsForPrograms) {
  EXPECT_EQ(grid_text(example_grid(), GridFormat::kCsv),
            "name,time_us\n\"a,b\",0.3333333333333333\nc,\n");
  EXPECT_EQ(grid_text(example_grid(), GridFormat::kJson),
            "[\n {\n  \"name\": \"a,b\",\n  \"time_us\": 0.3333333333333333\n },\n"
            " {\n  \"name\": \"c\",\n  \"time_us\": null\n }\n]\n");
}

TEST(Grid, GoesIntoAPage) {
  EXPECT_EQ(grid_text(example_grid(), GridFormat::kMarkdown),
            "| name | time_us |\n|---|---:|\n| a,b | 0.33333 |\n| c |  |\n");
}

}  // namespace
}  // namespace inline_prof::report
