#include "join/ranks/scaling.hpp"

#include "join/rollups.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace inline_prof::join {
namespace {

// Outer rows of a layer, summed for each device of each run file.
std::optional<LayerTimes> times_of(const LayerSum& sum, const Analysis& analysis) {
  std::map<std::pair<std::size_t, std::int64_t>, double> of_device;
  for (const std::size_t outer : sum.outer_rows) {
    for (const std::size_t i : analysis.merged[outer].rows) {
      const Row& row = analysis.rows[i];
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

}  // namespace

ScalingPoint scaling_point(std::string run, const Analysis& analysis) {
  ScalingPoint point;
  point.run = std::move(run);
  point.iteration_us = analysis.iteration.us;
  for (const Run& of : analysis.runs)
    point.is_simulated = point.is_simulated || of.profile.simulated;
  std::set<std::pair<std::size_t, std::int64_t>> devices;
  for (const Row& row : analysis.rows)
    devices.emplace(row.profile, row.device_id);
  point.gpus = devices.size();
  for (const LayerSum& sum : layer_sums(analysis)) {
    if (const auto times = times_of(sum, analysis)) point.layers.emplace(sum.layer, *times);
  }
  return point;
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

std::vector<ScalingTime> scaling_times(std::span<const ScalingPoint> points,
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

}  // namespace inline_prof::join
