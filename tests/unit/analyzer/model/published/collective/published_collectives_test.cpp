// The published curves of collectives, their fits and sizes against what their own code gave.
#include "golden.hpp"
#include "model/published/collective/collective_fit.hpp"
#include "model/published/collective/curve.hpp"
#include "read/table.hpp"
#include "temporary_folder.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

using fit::CurveFit;
using fit::MeasuredCurve;

std::vector<MeasuredCurve> golden_curves() {
  return fit::measured_curves(read::read_table(golden_path("collective/collectives_curves.csv")));
}

const MeasuredCurve& curve_named(const std::vector<MeasuredCurve>& curves,
                                 const std::string& name) {
  return *std::ranges::find(curves, name, &MeasuredCurve::name);
}

TEST(PublishedCollectives, PredictionsWithThePublishedParameters) {
  model::ModelOptions options;
  options.params = golden_path("collective/collectives_fit.csv");
  expect_golden("collective", "collective/collectives_predictions.csv",
                {{"time_us", ""}, {"bus_bw_gbps"}}, "", options);
}

TEST(PublishedCollectives, TurningPointsAndSigmoidOfTheFit) {
  const auto curves = golden_curves();
  const read::Table golden = read::read_table(golden_path("collective/collectives_fit.csv"));
  ASSERT_GT(golden.row_count(), 0U);
  for (std::size_t i = 0; i < golden.row_count(); ++i) {
    const std::string name = golden.cell(i, golden.require("curve"));
    const auto number = [&](const char* column) {
      return golden.number(i, golden.require(column));
    };
    const CurveFit fit = fit::fit_curve(curve_named(curves, name));
    EXPECT_EQ(static_cast<double>(fit.points.linear), number("linearity_idx")) << name;
    EXPECT_EQ(static_cast<double>(fit.points.saturated), number("saturation_idx")) << name;
    EXPECT_EQ(static_cast<double>(fit.fitted_rows), number("n_fit_points")) << name;
    EXPECT_EQ(fit.curve.linear_until, number("ln_p")) << name;
    EXPECT_EQ(fit.curve.saturated_from, number("sats_p")) << name;
    EXPECT_EQ(fit.curve.max_bus_gb_per_s, number("max_bw")) << name;
    EXPECT_EQ(fit.curve.overhead_us, number("overhead_us")) << name;
    EXPECT_DOUBLE_EQ(fit.curve.bus_factor, number("mul_factor")) << name;
    // Three points for four parameters: the sum is rounding noise.
    EXPECT_NEAR(fit.sum_of_squares, number("sse_log10"), 1e-8 * number("sse_log10") + 1e-15)
        << name;
    // The parameters trade off against each other: 1e-4 is what 1e-8 in the squares leaves open.
    const model::collective::Sigmoid& sigmoid = fit.curve.sigmoid;
    for (const auto& [value, column] :
         {std::pair(sigmoid.height, "L"), std::pair(sigmoid.centre, "x0"),
          std::pair(sigmoid.slope, "k"), std::pair(sigmoid.base, "b")})
      EXPECT_NEAR(value, number(column), 1e-4 * std::abs(number(column))) << name << column;
  }
}

// From measured rows to a parameter file to predictions, as prof-model fit and predict go.
TEST(PublishedCollectives, PredictionsWithOurOwnFit) {
  fit::FitRequest request;
  request.say = [](std::string_view) {};
  request.tables.push_back(read::read_table(golden_path("collective/collectives_curves.csv")));
  const TestFolder folder;
  model::ModelOptions options;
  options.params = folder.file("curves.json", fit::fit_collective_curves(request).file_text);
  expect_golden("collective", "collective/collectives_predictions.csv",
                {{"time_us", "", 1e-6}, {"bus_bw_gbps", "bus_bw_gbps", 1e-6}}, "", options);
}

TEST(PublishedCollectives, SizesOfAnUnevenAllToAll) {
  const read::Table golden = read::read_table(golden_path("collective/a2a_sizes.csv"));
  ASSERT_GT(golden.row_count(), 0U);
  for (std::size_t i = 0; i < golden.row_count(); ++i) {
    const auto bytes = model::collective::exchange_bytes(
        golden.cell(i, golden.require("btd")),
        static_cast<std::int64_t>(golden.number(i, golden.require("num_gpus"))));
    EXPECT_EQ(bytes.sum, golden.number(i, golden.require("sum_bytes")));
    EXPECT_EQ(bytes.max_of_max, golden.number(i, golden.require("max_of_max_bytes")));
    EXPECT_EQ(bytes.max_of_sum, golden.number(i, golden.require("max_of_sum_bytes")));
  }
}

}  // namespace
}  // namespace inline_prof::test
