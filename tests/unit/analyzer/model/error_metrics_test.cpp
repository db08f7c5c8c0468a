#include "base/error_metrics.hpp"

#include "golden.hpp"
#include "read/table.hpp"
#include "testing.hpp"

namespace inline_prof::base {
namespace {

std::vector<double> numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<double> values;
  for (double value = 0; stream >> value;)
    values.push_back(value);
  return values;
}

// Empty where the file has a NaN: one row has no deviation.
void expect_same(const read::Table& table, std::size_t row, const char* name,
                 const std::optional<double>& value) {
  const std::size_t column = table.require(name);
  if (table.cell(row, column) == "nan" || table.cell(row, column).empty()) {
    EXPECT_FALSE(value) << name << ", line " << table.line(row);
    return;
  }
  ASSERT_TRUE(value) << name << ", line " << table.line(row);
  const double expected = table.number(row, column);
  EXPECT_NEAR(*value, expected, 1e-12 * std::abs(expected)) << name << ", line " << table.line(row);
}

TEST(OriginalErrors, AreThoseOfTheOriginal) {
  const read::Table table = read::read_table(test::golden_path("dlrm/error_metrics.csv"));
  ASSERT_GT(table.row_count(), 0U);
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const auto predicted = numbers(table.cell(row, table.require("predicted")));
    const auto real = numbers(table.cell(row, table.require("real")));
    ASSERT_EQ(predicted.size(), real.size());
    std::vector<Judged> rows;
    for (std::size_t i = 0; i < real.size(); ++i)
      rows.push_back({predicted[i], real[i], {}, {}});
    const auto errors = original_errors(rows);
    ASSERT_TRUE(errors);
    expect_same(table, row, "gmae_abs", errors->gmae);
    expect_same(table, row, "mape_abs", errors->mape);
    expect_same(table, row, "std_abs", errors->std_absolute);
    expect_same(table, row, "gmae_signed", errors->gmae);
    expect_same(table, row, "mape_signed", errors->mape);
    expect_same(table, row, "std_signed", errors->std_signed);
  }
}

TEST(WithoutOutliers, IsWhatTheOriginalKeeps) {
  const read::Table table = read::read_table(test::golden_path("dlrm/remove_outliers.csv"));
  ASSERT_GT(table.row_count(), 0U);
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    EXPECT_EQ(without_outliers(numbers(table.cell(row, table.require("input")))),
              numbers(table.cell(row, table.require("kept"))))
        << "line " << table.line(row);
  }
}

TEST(WithoutOutliers, OfNothingIsNothing) {
  EXPECT_TRUE(without_outliers({}).empty());
}

TEST(Summary, IsWhatItsNamesSay) {
  const std::vector<Judged> rows{{109, 100, 90, 130},   // +9 %
                                 {80, 100, 70, 90},     // -20 %, not in the interval
                                 {105, 100, {}, {}},    // +5 %
                                 {160, 100, 90, 200}};  // +60 %
  const auto summary = summarize(rows);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->count, 4U);
  EXPECT_NEAR(summary->mape, 0.235, 1e-12);
  EXPECT_NEAR(summary->median, 0.145, 1e-12);
  EXPECT_NEAR(summary->p90, 0.2 + 0.7 * 0.4, 1e-12);
  EXPECT_NEAR(summary->worst, 0.6, 1e-12);
  EXPECT_NEAR(summary->bias, 0.135, 1e-12);
  EXPECT_NEAR(summary->gmae, std::pow(0.09 * 0.2 * 0.05 * 0.6, 0.25), 1e-12);
  EXPECT_NEAR(summary->within_10, 0.5, 1e-12);
  EXPECT_NEAR(summary->coverage.value(), 2.0 / 3, 1e-12);
  EXPECT_NEAR(summary->median_width.value(), 20.0 / 109, 1e-12);
}

TEST(Summary, OfNothingIsNone) {
  EXPECT_FALSE(summarize({}));
  EXPECT_FALSE(original_errors({}));
}

TEST(Summary, OfPerfectPredictionsHasAFloor) {
  const std::vector<Judged> rows{{100, 100, {}, {}}};
  EXPECT_NEAR(summarize(rows)->gmae, 1e-6, 1e-18);
  EXPECT_NEAR(original_errors(rows)->gmae, 4e-4, 1e-15);
}

TEST(Quantile, LiesOnTheStraightLine) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2.0);
  EXPECT_EQ(quantile({1, 2}, 0.25), 1.25);
  EXPECT_EQ(quantile({5}, 0.9), 5.0);
  EXPECT_EQ(quantile({1, 2, 3}, 1.0), 3.0);
  EXPECT_THROW(static_cast<void>(quantile({}, 0.5)), std::invalid_argument);
}

}  // namespace
}  // namespace inline_prof::base
