#include "report/plot/model_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace inline_prof::report {
namespace {

constexpr double kBytesPerGbUs = 1000.0;  // GB/s * us in bytes

// Bytes and GB/s from bytes and microseconds.
std::vector<Point> bandwidths(const std::vector<Point>& times, double factor) {
  std::vector<Point> result;
  result.reserve(times.size());
  for (const Point& value : times) {
    result.push_back({value.x, value.x / value.y / kBytesPerGbUs * factor});
  }
  return result;
}

std::vector<Border> borders_of(const SizeCurve& curve) {
  std::vector<Border> borders;
  if (curve.linear_until) borders.push_back({*curve.linear_until, "end of the overhead"});
  if (curve.saturated_from) borders.push_back({*curve.saturated_from, "saturation"});
  return borders;
}

}  // namespace

Chart scatter_chart(std::span<const base::Judged> rows, const std::string& title) {
  Chart chart;
  chart.title = title;
  chart.x = {"measured, us", Scale::kLog10};
  chart.y = {"predicted, us", Scale::kLog10};
  chart.is_square = true;
  Series dots{.name = fmt::format("{} rows", rows.size()),
              .mark = Mark::kDots,
              .color = kBlue,
              .values = {},
              .is_dashed = false};
  dots.color.opacity = rows.size() > 300 ? 0.45 : 0.8;
  double least = INFINITY, most = 0.0;
  for (const base::Judged& row : rows) {
    dots.values.push_back({row.measured_us, row.predicted_us});
    least = std::min({least, row.measured_us, row.predicted_us});
    most = std::max({most, row.measured_us, row.predicted_us});
  }
  if (rows.empty()) return chart;
  const auto diagonal = [&](double factor, std::string name, bool is_dashed) {
    return Series{.name = std::move(name),
                  .mark = Mark::kLine,
                  .color = is_dashed ? kGrey : kBlack,
                  .values = {{least, least * factor}, {most, most * factor}},
                  .is_dashed = is_dashed};
  };
  chart.series = {diagonal(1.0, "equal", false), diagonal(1.1, "10 % apart", true),
                  diagonal(1 / 1.1, "", true), std::move(dots)};
  return chart;
}

Chart error_chart(std::span<const base::Judged> rows, const std::string& title) {
  constexpr double most = 100.0;  // percent
  std::vector<double> errors;
  double widest = 5.0;
  for (const base::Judged& row : rows) {
    errors.push_back(100 * (row.predicted_us / row.measured_us - 1));
    widest = std::max(widest, std::min(most, std::abs(errors.back())));
  }
  constexpr int half = 15;  // bars to either side of 0
  const double width = widest / half;
  std::vector<Bar> bars;
  for (int i = -half; i < half; ++i)
    bars.push_back({i * width, (i + 1) * width, 0.0});
  for (const double error : errors) {
    const auto bar = static_cast<int>(std::floor(error / width));
    const int place = std::clamp(bar, -half, half - 1) + half;
    bars[static_cast<std::size_t>(place)].height += 1;
  }
  Chart chart;
  chart.title = title;
  chart.x = {"predicted / measured - 1, %", Scale::kLinear};
  chart.y = {"rows", Scale::kLinear};
  chart.bars = std::move(bars);
  chart.bar_color = kBlue;
  return chart;
}

std::vector<Chart> curve_charts(const SizeCurve& curve) {
  Chart latency;
  latency.title = curve.name;
  latency.x = {"message size", Scale::kBytes};
  latency.y = {"time, us", Scale::kLog10};
  latency.borders = borders_of(curve);
  latency.series = {{"measured", Mark::kDots, kBlue, curve.measured, false},
                    {"model", Mark::kLine, kOrange, curve.predicted, false}};
  if (!curve.lower.empty()) {
    latency.series.push_back({"90 %", Mark::kLine, kGrey, curve.lower, true});
    latency.series.push_back({"", Mark::kLine, kGrey, curve.upper, true});
  }

  Chart bandwidth = latency;
  bandwidth.y.title = "bandwidth, GB/s";
  bandwidth.series = {
      {"algorithm", Mark::kDots, kGreen, bandwidths(curve.measured, 1.0), false},
      {"model", Mark::kLine, kGreen, bandwidths(curve.predicted, 1.0), true},
      {"bus", Mark::kDots, kBlue, bandwidths(curve.measured, curve.bus_factor), false},
      {"model", Mark::kLine, kOrange, bandwidths(curve.predicted, curve.bus_factor), false}};
  return {std::move(latency), std::move(bandwidth)};
}

}  // namespace inline_prof::report
