#include "export/formats.hpp"
#include "joined_profiles.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"
#include "testing.hpp"

namespace inline_prof::report {
namespace {

join::Analysis analysis_of(const std::string& name) {
  return test::joined(
      profile_of({EventBuilder(name, 0, 1).layer("L").samples_us({50}).op(memory_op(4000000, 0)),
                  EventBuilder("b", 2, 3).samples_us({20})},
                 100));
}

TEST(CsvReport, HasALineForEachEventAndAFieldForEachColumn) {
  EXPECT_THAT(exports::csv_report(analysis_of("a")),
              EndsWith("raw_us,raw_ci95_lower_us,raw_ci95_upper_us,corrected_us,in_iteration_us,"
                       "predicted_us,predicted_ci90_lower_us,predicted_ci90_upper_us,ratio,bound,"
                       "model,verdict\n"
                       "p.json,,,L,a,0,0,0,0,1,1,0,false,50,,,50,50,40,,,1.25,memory,roofline,"
                       "1.2 of bound\n"
                       "p.json,,,,b,0,0,2,0,1,1,0,false,20,,,20,20,,,,,,,"
                       "no prediction: operation not known\n"));
}

TEST(CsvReport, QuotesWhatWouldEndAField) {
  EXPECT_THAT(exports::csv_report(analysis_of("kernel<1, \"x\">")),
              HasSubstr(",\"kernel<1, \"\"x\"\">\","));
}

TEST(MarkdownReport, IsATableOfTheMergedRows) {
  const std::string report = markdown_report(analysis_of("a|b"), {.top = 1});
  EXPECT_THAT(report, HasSubstr("measured and predicted"));
  EXPECT_THAT(
      report,
      EndsWith("| L | a\\|b | 50.0 % | 1 | 50.00 | 50.00 | 40.00 | memory | 1.2 of bound |\n"))
      << "one row, and the bar in its name does not end its cell";
}

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
