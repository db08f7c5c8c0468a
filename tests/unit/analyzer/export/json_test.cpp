#include "export/formats.hpp"
#include "join/join.hpp"
#include "model/machines.hpp"
#include "read/read_profile.hpp"
#include "testing.hpp"

#include <nlohmann/json.hpp>

namespace inline_prof::exports {
namespace {

using nlohmann::json;

json small_report() {
  const auto profile =
      read::read_profile(std::filesystem::path(INLINE_PROF_TEST_DATA "/gen3/small_h200.prof.json"));
  const auto machines = model::builtin_machines();
  // The roofline alone: its numbers are easy to follow by hand.
  join::JoinOptions roofline;
  roofline.models = model::Models::kRoofline;
  return json::parse(json_report(join::join_profiles({profile}, machines, roofline)));
}

TEST(JsonReport, HasTheHeadOfTheContract) {
  const json report = small_report();
  EXPECT_EQ(report["schema"], "inline_prof_report/1");
  EXPECT_EQ(report["machine"], "h200-sxm-141gb");
  EXPECT_EQ(report["event_bias_us"], 5.0);
  EXPECT_EQ(report["event_bias_source"], "calibration");
  EXPECT_NEAR(report["kernel_floor_us"], 1.5, 1e-9);
  // gemm 200 us and relu 240 us predicted; 10 us of the region, 100 us and 50 us are not.
  EXPECT_NEAR(report["shares"]["predicted"], 44.0, 1e-6);
  EXPECT_NEAR(report["shares"]["measured"], 16.0, 1e-6);
  EXPECT_NEAR(report["iteration_us"], 1000, 1e-6);
  EXPECT_EQ(report["runs"][0]["overhead"]["slowdown_percent"], 0.05);
  EXPECT_EQ(report["runs"][0]["overhead"]["iterations_needed"], 0);
  EXPECT_EQ(report["runs"][0]["dropped"]["interleaved_launch"], 2);
}

TEST(JsonReport, HasTheRowsOfTheContract) {
  const json report = small_report();
  const json& gemm = report["rows"][1];
  EXPECT_EQ(gemm["layer"], "MLP.fc1");
  EXPECT_EQ(gemm["event"], "fc.fprop.gemm");
  EXPECT_EQ(gemm["device_id"], 0);
  EXPECT_EQ(gemm["stream_index"], 0);
  EXPECT_EQ(gemm["calls"], 1);
  EXPECT_NEAR(gemm["raw_us"], 205, 1e-6);
  EXPECT_NEAR(gemm["raw_ci95_us"][0], 204, 1e-6) << "seven samples: the extremes";
  EXPECT_NEAR(gemm["corrected_us"], 200, 1e-6);
  // 2 * 4096^3 FLOP at 0.78 * 989.4e12 FLOP/s.
  EXPECT_NEAR(gemm["predicted_us"], 178.091, 1e-3);
  EXPECT_TRUE(gemm["predicted_ci90_us"].is_null());
  EXPECT_NEAR(gemm["ratio"], 200 / 178.091, 1e-5);
  EXPECT_EQ(gemm["bound"], "compute");
  EXPECT_EQ(gemm["model"], "roofline");
  EXPECT_EQ(gemm["verdict"], "1.1 of bound");
  EXPECT_TRUE(gemm["reason"].is_null());
}

TEST(JsonReport, AnAbsentPredictionIsNullWithAReason) {
  const json report = small_report();
  const json& embedding = report["rows"][3];
  EXPECT_TRUE(embedding["predicted_us"].is_null());
  EXPECT_EQ(embedding["reason"], "no model for embedding");
  EXPECT_EQ(embedding["verdict"], "no prediction: no model for embedding");
}

TEST(JsonReport, ErrorsAreThoseOfItsRows) {
  const json report = small_report();
  double sum = 0;
  int rows = 0;
  for (const json& row : report["rows"]) {
    if (row["predicted_us"].is_null() || row["corrected_us"].is_null() || row["is_region"])
      continue;
    sum += std::abs(row["predicted_us"].get<double>() / row["corrected_us"].get<double>() - 1);
    ++rows;
  }
  ASSERT_EQ(rows, 2);
  EXPECT_EQ(report["error_rows"], rows);
  EXPECT_NEAR(report["mape"], sum / rows, 1e-12);
}

TEST(JsonReport, NamesThatAreNoUtf8DoNotStopIt) {
  join::Analysis analysis;
  analysis.rows.emplace_back().event = "bad \xff";
  const json report = json::parse(json_report(analysis));
  EXPECT_EQ(report["rows"][0]["event"], "bad \xef\xbf\xbd") << "U+FFFD stands for the bad byte";
}

}  // namespace
}  // namespace inline_prof::exports
