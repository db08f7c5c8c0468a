#include "model/published/collective/collective_fit.hpp"

#include "testing.hpp"

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
