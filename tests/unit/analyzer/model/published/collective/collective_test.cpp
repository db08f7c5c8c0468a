// The published curves of collectives, their fits and sizes against what their own code gave.
#include "golden.hpp"
#include "model/published/collective/collective_fit.hpp"
#include "model/published/collective/curve.hpp"
#include "model/registry.hpp"
#include "model/row_reader.hpp"
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

namespace inline_prof::model::collective {
namespace {

TEST(BusFactor, IsMissingWhereTheOriginalHasNone) {
  EXPECT_FALSE(bus_factor("broadcast", 8));
  EXPECT_FALSE(bus_factor("gather", 8));
  EXPECT_DOUBLE_EQ(bus_factor("reduce", 8).value(), 1.0);
}

TEST(ExchangeSize, RefusesWhatIsNoExchange) {
  for (const char* text :
       {"", "16", "16,4", "16,3-,4", "16,3--1,4", "x,3-1,4", "16,3-1,0", "16,3-1,4.5", "0,3-1,4"}) {
    EXPECT_THROW(static_cast<void>(exchange_bytes(text, 4)), std::invalid_argument) << text;
  }
}

RowPrediction predict_row(const std::string& text, const ModelOptions& options = {}) {
  const read::Table table(text, "t.csv");
  const auto model = find_model("collective").make(options);
  RowReader reader(table, model.inputs);
  return model.predict(reader.read(0));
}

TEST(CollectiveModel, KnowsThePublishedCurvesByName) {
  const RowPrediction prediction = predict_row("curve,size_bytes\nv100_all_reduce_8,100\n");
  EXPECT_EQ(prediction.time_us, 43.4);
  EXPECT_EQ(prediction.bound, "latency");
}

TEST(CollectiveModel, FindsACurveByCollectiveAndRanks) {
  const RowPrediction prediction = predict_row("op,num_gpus,bytes\nall_to_allv,4,16\n");
  EXPECT_EQ(prediction.time_us, 85.6);
}

TEST(CollectiveModel, TakesAnUnevenExchangeForASize) {
  ModelOptions options;
  options.settings = {{"exchange", "sum"}};
  const RowPrediction prediction =
      predict_row("op,num_gpus,btd\nall_to_allv,4,\"1000,11-19-15-20,32\"\n", options);
  EXPECT_EQ(std::get<double>(prediction.parts.at(3)), 2080000);
}

struct NoCurve {
  const char* table;
  const char* error;
  const char* reason;
};

TEST(CollectiveModelHasNoAnswer, AndSaysWhy) {
  const NoCurve rows[] = {
      {"curve,size_bytes\nh100,100\n", "KeyError", "no curve h100"},
      {"op,num_gpus,bytes\nall_reduce,16,100\n", "KeyError", "no curve for all_reduce on 16 GPUs"},
      {"op,bytes\nall_reduce,100\n", "", "neither curve, nor collective (or op) and num_gpus"},
      {"op,num_gpus\nall_reduce,8\n", "", "neither size_bytes, bytes nor btd"},
      {"op,num_gpus,btd\nall_to_allv,4,7\n", "",
       "btd: expected BATCH,TABLES-TABLES-...,DIM, found \"7\""}};
  for (const NoCurve& row : rows) {
    SCOPED_TRACE(row.table);
    const RowPrediction prediction = predict_row(row.table);
    EXPECT_FALSE(prediction.time_us);
    EXPECT_EQ(prediction.error, row.error);
    EXPECT_EQ(prediction.reason, row.reason);
  }
}
}  // namespace
}  // namespace inline_prof::model::collective

namespace inline_prof::fit {
namespace {

using test::complaint;

// Doubling sizes from 1 KiB: flat at 10 us for eight rows, then 1 GB/s of bandwidth.
MeasuredCurve toy_curve() {
  MeasuredCurve curve{.name = "toy",
                      .collective = "reduce",  // factor 1
                      .ranks = 4};
  for (int i = 0; i < 16; ++i) {
    const double bytes = 1024 * std::exp2(i);
    const double latency = std::max(10.0, bytes / 1000 / 12.8);
    curve.rows.push_back({bytes, latency, bytes / latency / 1000});
  }
  return curve;
}

// The published curves have the turning points themselves.
TEST(TurningPoints, OneNoisyRowMovesThem) {
  MeasuredCurve curve = toy_curve();
  curve.rows[6].latency_us *= 1.3;
  EXPECT_EQ(fit_curve(curve).points.linear, 4U);
}

TEST(FitCurve, RefusesAShortCurve) {
  MeasuredCurve curve = toy_curve();
  curve.rows.resize(4);
  EXPECT_THROW(static_cast<void>(fit_curve(curve)), std::invalid_argument);
}

TEST(FitCurve, RefusesACollectiveWithoutABusFactor) {
  MeasuredCurve curve = toy_curve();
  curve.collective = "broadcast";
  EXPECT_THROW(static_cast<void>(fit_curve(curve)), std::invalid_argument);
}

constexpr const char* kHeader = "op,num_gpus,bytes,type,time_us\n";

TEST(MeasuredCurves, AreMadeOfCollectiveRanksAndType) {
  const auto curves = measured_curves(
      read::Table(std::string(kHeader) + "all_reduce,8,1024,f16,10\nall_reduce,4,1024,f16,9\n"
                                         "all_reduce,8,2048,f16,20\n",
                  "t.csv"));
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].name, "all_reduce_8_f16");
  EXPECT_EQ(curves[1].rows.at(0).latency_us, 9);
  ASSERT_EQ(curves[0].rows.size(), 2U);
  EXPECT_DOUBLE_EQ(curves[0].rows[1].bus_gb_per_s, 2048 / 20.0 * 1.75 / 1000 + kBandwidthOffset);
}

TEST(MeasuredCurvesRefuse, AndSayWhere) {
  const auto read = [](const std::string& text) {
    return measured_curves(read::Table(text, "t.csv"));
  };
  test::expect_complaints(
      read, {{"op,num_gpus,time_us\nall_reduce,8,1\n",
              "t.csv: line 1: missing column size_bytes or bytes"},
             {"op,num_gpus,bytes\nall_reduce,8,1\n",
              "t.csv: line 1: missing column latency_us or time_us"},
             {"op,num_gpus,bytes,time_us\nall_reduce,8,2,1\nall_reduce,8,1,1\n",
              "t.csv: line 3, column bytes: expected sizes of curve all_reduce_8 in ascending "
              "order, found 1 after 2"},
             {"op,num_gpus,bytes,time_us\nall_reduce,8,2,0\n",
              "t.csv: line 2, column time_us: expected a number > 0, found 0"},
             {"op,num_gpus,bytes,time_us\nbroadcast,8,2,1\n",
              "t.csv: line 2, column op: no bus factor for broadcast"},
             {"curve,op,num_gpus,bytes,time_us\na,all_reduce,8,2,1\na,all_reduce,4,4,1\n",
              "t.csv: line 3: curve a was all_reduce on 8 GPUs before, here it is all_reduce on "
              "4"}});
}

TEST(FitCollectiveCurves, SaysWhichCurveIsTooShort) {
  FitRequest request;
  request.say = [](std::string_view) {};
  request.tables.emplace_back(std::string(kHeader) + "all_reduce,8,1024,f16,10\n", "t.csv");
  EXPECT_EQ(complaint([&] { return fit_collective_curves(request); }),
            "t.csv: curve all_reduce_8_f16 has 1 rows, expected at least 5");
}

}  // namespace
}  // namespace inline_prof::fit
