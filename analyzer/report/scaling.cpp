#include "report/scaling.hpp"

#include "join/layer_sums.hpp"
#include "report/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace inline_prof::report {
namespace {

using Json = nlohmann::ordered_json;

// Outer rows of a layer, summed for each device of each run file.
std::optional<LayerTimes> times_of(const join::LayerSum& sum, const join::Analysis& analysis) {
  std::map<std::pair<std::size_t, std::int64_t>, double> of_device;
  for (const std::size_t outer : sum.outer_rows) {
    for (const std::size_t i : analysis.merged[outer].rows) {
      const join::Row& row = analysis.rows[i];
      if (row.in_iteration_us) of_device[{row.profile, row.device_id}] += *row.in_iteration_us;
    }
  }
  if (of_device.empty()) return {};
  LayerTimes times;
  for (const auto& [device, time_us] : of_device) {
    times.mean_us += time_us / static_cast<double>(of_device.size());
    times.slowest_us = std::max(times.slowest_us, time_us);
  }
  return times;
}

std::vector<std::string> largest_layers(std::span<const ScalingPoint> points, std::size_t most) {
  std::map<std::string, double> largest_us;
  for (const ScalingPoint& point : points) {
    for (const auto& [layer, times] : point.layers) {
      double& time_us = largest_us[layer];
      time_us = std::max(time_us, times.mean_us);
    }
  }
  std::vector<std::string> layers;
  layers.reserve(largest_us.size());
  for (const auto& [layer, time_us] : largest_us)
    layers.push_back(layer);
  std::ranges::stable_sort(
      layers, [&](const auto& a, const auto& b) { return largest_us[a] > largest_us[b]; });
  if (most > 0 && layers.size() > most) layers.resize(most);
  return layers;
}

// One line of the table: of a layer, or of the iteration where there is none.
struct ScalingTime {
  const ScalingPoint* point = nullptr;
  std::optional<std::string> layer;
  LayerTimes times;
};

std::vector<ScalingTime> times_in_order(std::span<const ScalingPoint> points,
                                        std::size_t most_layers) {
  std::vector<ScalingTime> times;
  for (const ScalingPoint& point : points) {
    if (point.iteration_us)
      times.push_back({&point, {}, {*point.iteration_us, *point.iteration_us}});
  }
  for (const std::string& layer : largest_layers(points, most_layers)) {
    for (const ScalingPoint& point : points) {
      const auto it = point.layers.find(layer);
      if (it != point.layers.end()) times.push_back({&point, layer, it->second});
    }
  }
  return times;
}

// Where each run stands on the axis, and what the axis is called.
struct Places {
  std::string title = "GPUs";
  std::vector<double> x;
};

Places places_of(std::span<const ScalingPoint> points) {
  std::set<std::size_t> counts;
  Places places;
  for (const ScalingPoint& point : points) {
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

ScalingPoint scaling_point(std::string run, const join::Analysis& analysis) {
  ScalingPoint point;
  point.run = std::move(run);
  point.iteration_us = analysis.iteration_us;
  std::set<std::pair<std::size_t, std::int64_t>> devices;
  for (const join::Row& row : analysis.rows)
    devices.emplace(row.profile, row.device_id);
  point.gpus = devices.size();
  for (const join::LayerSum& sum : join::layer_sums(analysis)) {
    if (const auto times = times_of(sum, analysis)) point.layers.emplace(sum.layer, *times);
  }
  return point;
}

Grid scaling_grid(std::span<const ScalingPoint> points, std::size_t most_layers) {
  Grid grid;
  grid.columns = {"run", "gpus", "layer", "mean_us", "slowest_us"};
  for (const ScalingTime& time : times_in_order(points, most_layers)) {
    grid.rows.push_back({time.point->run, static_cast<double>(time.point->gpus),
                         time.layer.value_or(""), time.times.mean_us, time.times.slowest_us});
  }
  return grid;
}

std::string scaling_json(std::span<const ScalingPoint> points, std::size_t most_layers) {
  Json json;
  json["schema"] = "inline_prof_scaling/1";
  json["times"] = Json::array();
  for (const ScalingTime& time : times_in_order(points, most_layers)) {
    json["times"].push_back({{"run", time.point->run},
                             {"gpus", time.point->gpus},
                             {"layer", time.layer ? Json(*time.layer) : Json()},
                             {"mean_us", time.times.mean_us},
                             {"slowest_us", time.times.slowest_us}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<Chart> scaling_charts(std::span<const ScalingPoint> points, std::size_t most_layers) {
  const Places places = places_of(points);
  std::vector<Chart> charts{empty_chart("whole iteration", places)};
  std::vector<Point> iterations;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].iteration_us) iterations.push_back({places.x[i], *points[i].iteration_us});
  }
  add_curve(charts.front(), "median", kBlack, false, in_order(iterations));
  for (const std::string& layer : largest_layers(points, most_layers)) {
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
