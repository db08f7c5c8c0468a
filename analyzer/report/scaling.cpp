#include "report/scaling.hpp"

#include "report/text.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace inline_prof::report {
namespace {

// Where each run stands on the axis, and what the axis is called.
struct Places {
  std::string title = "GPUs";
  std::vector<double> x;
};

Places places_of(std::span<const join::ScalingPoint> points) {
  std::set<std::size_t> counts;
  Places places;
  for (const join::ScalingPoint& point : points) {
    counts.insert(point.gpus);
    places.x.push_back(static_cast<double>(point.gpus));
  }
  if (counts.size() == points.size()) return places;
  places.title = "run, in the order given";
  for (std::size_t i = 0; i < points.size(); ++i)
    places.x[i] = static_cast<double>(i + 1);
  return places;
}

// A line with a dot at each run, which a line alone would not show.
void add_curve(Chart& chart, const std::string& name, Color color, bool is_dashed,
               const std::vector<Point>& values) {
  Series line{.name = name, .mark = Mark::kLine, .color = color, .values = values};
  line.is_dashed = is_dashed;
  chart.series.push_back(std::move(line));
  chart.series.push_back({.name = "", .mark = Mark::kDots, .color = color, .values = values});
}

// The axis begins at 0: a chart of times that did not would make little look like much.
Chart empty_chart(const std::string& title, const Places& places) {
  Chart chart;
  chart.title = title;
  chart.x.title = places.title;
  chart.y.title = "us";
  chart.series.push_back(
      {.name = "", .mark = Mark::kLine, .color = kGrey, .values = {{places.x.front(), 0.0}}});
  return chart;
}

std::vector<Point> in_order(std::vector<Point> values) {
  std::ranges::stable_sort(values, {}, &Point::x);
  return values;
}

}  // namespace

Grid scaling_grid(std::span<const join::ScalingPoint> points, std::size_t most_layers) {
  Grid grid;
  grid.columns = {"run", "gpus", "layer", "mean_us", "slowest_us"};
  for (const join::ScalingTime& time : join::scaling_times(points, most_layers)) {
    grid.rows.push_back({time.point->run, static_cast<double>(time.point->gpus),
                         time.layer.value_or(""), time.times.mean_us, time.times.slowest_us});
  }
  return grid;
}

std::vector<Chart> scaling_charts(std::span<const join::ScalingPoint> points,
                                  std::size_t most_layers) {
  const Places places = places_of(points);
  std::vector<Chart> charts{empty_chart("whole iteration", places)};
  std::vector<Point> iterations;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].iteration_us) iterations.push_back({places.x[i], *points[i].iteration_us});
  }
  add_curve(charts.front(), "median", kBlack, false, in_order(iterations));
  for (const std::string& layer : join::largest_layers(points, most_layers)) {
    Chart chart = empty_chart(layer.empty() ? "(no layer)" : printable(layer), places);
    std::vector<Point> means;
    std::vector<Point> slowest;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto it = points[i].layers.find(layer);
      if (it == points[i].layers.end()) continue;
      means.push_back({places.x[i], it->second.mean_us});
      slowest.push_back({places.x[i], it->second.slowest_us});
    }
    add_curve(chart, "mean of devices", kBlue, false, in_order(means));
    add_curve(chart, "slowest device", kOrange, true, in_order(slowest));
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace inline_prof::report
