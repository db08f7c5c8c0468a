#include "base/text.hpp"
#include "join/rows/row.hpp"
#include "join/watch/watched_run.hpp"
#include "watch/change_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace inline_prof::join {
namespace {

using Bins = std::vector<watch::Bin>;

constexpr double kUsOfNs = 1e-3;
constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

// Each series gets coarser with age by itself, so bins of two series need not begin together.
const Bins& columns_from(const read::Profile& profile) {
  if (!profile.watched->iteration.empty()) return profile.watched->iteration;
  static const Bins none;
  const auto most = std::ranges::max_element(
      profile.events, {}, [](const read::Event& event) { return event.history.size(); });
  return most == profile.events.end() ? none : most->history;
}

// Returns the median of the bin that holds the middle of each column, or of the nearest one.
Series resampled(const Bins& bins, const Bins& columns) {
  Series medians(columns.size(), kUnknown);
  Series of_bins;
  for (const watch::Bin& bin : bins)
    of_bins.push_back(static_cast<float>(bin.sketch.quantile(0.5) * kUsOfNs));
  std::size_t at = 0;
  for (std::size_t i = 0; i < columns.size() && !bins.empty(); ++i) {
    const double middle_s = (columns[i].start_s + columns[i].end_s) / 2;
    const auto distance_s = [&](const watch::Bin& bin) {
      return std::max({bin.start_s - middle_s, middle_s - bin.end_s, 0.0});
    };
    while (at + 1 < bins.size() && distance_s(bins[at + 1]) <= distance_s(bins[at]))
      ++at;
    medians[i] = of_bins[at];
  }
  return medians;
}

void add_to(Series& sum, const Series& more, float factor) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (std::isnan(more[i])) continue;
    sum[i] = (std::isnan(sum[i]) ? 0.0F : sum[i]) + factor * more[i];
  }
}

// True if no row that encloses this one is of its layer.
bool counts_in_layer(const std::vector<Row>& rows, std::size_t i) {
  for (auto parent = rows[i].parent; parent; parent = rows[*parent].parent) {
    if (rows[*parent].layer == rows[i].layer) return false;
  }
  return true;
}

constexpr std::string_view kCollectives = "(collectives, with waiting)";

// Without layers the kernels' names tell what took long.
SharedText layer_of(const read::Event& event) {
  return event.layer.empty() ? SharedText(base::readable_name(event.name))
                             : SharedText(event.layer);
}

// Adds what the bins of a series show and the library has not said itself.
void add_found(std::vector<SeriesChange>& changes, const SeriesChange& of, const Bins& bins,
               double calls, const read::Watched& watched, std::size_t series,
               double started_at_s) {
  for (const watch::Change& change :
       watch::find_changes(bins, watched.false_alarms_per_month, series)) {
    SeriesChange found = of;
    found.began_s = started_at_s + change.began_s;
    found.began_iteration = change.began_iteration;
    found.before_us = calls * change.before_ns * kUsOfNs;
    found.ratio = change.ratio;
    found.ratio_ci95 = {change.ratio_low, change.ratio_high};
    const auto bin = std::ranges::find_if(
        bins, [&](const watch::Bin& one) { return one.end_s >= change.began_s; });
    found.within_s = bin == bins.end() ? 0.0 : bin->end_s - bin->start_s;
    const double tolerance_s =
        std::max({found.within_s, change.detected_s - change.began_s, kSameTimeS});
    const bool is_known = std::ranges::any_of(changes, [&](const SeriesChange& known) {
      return known.is_iteration == of.is_iteration && known.layer == of.layer &&
             (known.event.empty() || known.event == of.event) && known.device_id == of.device_id &&
             (known.ratio > 1) == (found.ratio > 1) &&
             std::abs(known.began_s - found.began_s) <= tolerance_s;
    });
    if (is_known) continue;
    const auto device =
        std::ranges::find(watched.machine, of.device_id, &read::DeviceReadings::device_id);
    if (device != watched.machine.end())
      found.reason = watch::reason_of_change(device->readings, change.began_s, change.detected_s,
                                             change.ratio);
    changes.push_back(std::move(found));
  }
}

SeriesChange told_change(const read::FoundChange& told, const read::Profile& profile,
                         double started_at_s) {
  SeriesChange change;
  double calls = 1.0;
  change.is_iteration = told.of == "iteration";
  change.layer = told.layer;
  change.device_id = told.device_id.value_or(0);
  if (told.event) {
    const read::Event& event = profile.events[*told.event];
    change.layer = layer_of(event);
    change.event = event.name;
    change.device_id = event.device_id;
    change.is_collective = is_collective(event);
    calls = static_cast<double>(event.calls.value_or(1));
  }
  change.began_s = started_at_s + told.began_s;
  change.began_iteration = told.began_iteration;
  change.before_us = calls * told.before_us;
  change.ratio = told.ratio;
  change.ratio_ci95 = {told.ratio_ci95.first, told.ratio_ci95.second};
  change.reason = told.reason;
  return change;
}

}  // namespace

std::optional<double> seconds_of(const std::string& utc) {
  int year = 0, hour = 0, minute = 0, second = 0;
  unsigned month = 0, day = 0;
  if (std::sscanf(utc.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d", &year, &month, &day, &hour, &minute,
                  &second) != 6)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return 86400.0 * static_cast<double>(days) + 3600.0 * hour + 60.0 * minute + second;
}

std::string minute_words(double seconds) {
  const auto days =
      std::chrono::sys_days(std::chrono::days(std::llround(std::floor(seconds / 86400))));
  const std::chrono::year_month_day date(days);
  const auto minutes = static_cast<int>((seconds - 86400 * std::floor(seconds / 86400)) / 60);
  return fmt::format("{}-{:02}-{:02} {:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     minutes / 60, minutes % 60);
}

std::optional<WatchedFile> watched_file(const read::Profile& profile,
                                        const std::vector<Row>& rows) {
  if (!profile.watched) return std::nullopt;
  const read::Watched& watched = *profile.watched;
  const double started_at_s = seconds_of(profile.started_at).value_or(0.0);
  const Bins& columns = columns_from(profile);
  WatchedFile file{.file = profile.file,
                   .host = profile.host_name,
                   .rank = profile.rank,
                   .event_list = event_list_of(profile),
                   .is_simulated = profile.simulated,
                   .started_at_s = started_at_s,
                   .until_s = started_at_s + watched.until_s,
                   .budget = watched.budget,
                   .pairs = watched.pairs,
                   .cost_share = watched.cost_share,
                   .columns = {},
                   .iteration_us = resampled(watched.iteration, columns),
                   .devices = {},
                   .layers = {},
                   .machine = watched.machine,
                   .changes = {}};
  for (const watch::Bin& column : columns)
    file.columns.push_back({started_at_s + column.start_s, started_at_s + column.end_s,
                            column.first_iteration, column.last_iteration});
  for (read::DeviceReadings& device : file.machine) {
    for (watch::MachineReading& reading : device.readings)
      reading.time_s += started_at_s;
  }
  for (const read::FoundChange& told : watched.changes)
    file.changes.push_back(told_change(told, profile, started_at_s));
  const auto series =
      static_cast<std::size_t>(std::ranges::count_if(
          profile.events, [](const auto& event) { return !event.history.empty(); })) +
      1;
  SeriesChange of_iteration;
  of_iteration.is_iteration = true;
  add_found(file.changes, of_iteration, watched.iteration, 1.0, watched, series, started_at_s);
  std::map<std::int64_t, std::size_t> device_of;
  std::map<std::string, std::size_t> layer_at;
  const Series unknown(columns.size(), kUnknown);
  for (std::size_t i = 0; i < profile.events.size(); ++i) {
    const read::Event& event = profile.events[i];
    if (event.history.empty()) continue;
    const auto calls = static_cast<double>(event.calls.value_or(1));
    const Series us = resampled(event.history, columns);
    const auto [device, is_new] = device_of.try_emplace(event.device_id, file.devices.size());
    if (is_new) file.devices.push_back({event.device_id, unknown});
    if (!rows[i].parent && !is_collective(event))
      add_to(file.devices[device->second].own_us, us, static_cast<float>(calls));
    const SharedText name = is_collective(event) ? SharedText(kCollectives) : layer_of(event);
    const auto [layer, is_new_layer] = layer_at.try_emplace(name.str(), file.layers.size());
    if (is_new_layer) file.layers.push_back({name, unknown});
    if (counts_in_layer(rows, i))
      add_to(file.layers[layer->second].us, us, static_cast<float>(calls));
    if (rows[i].is_region) continue;  // its kernels tell
    SeriesChange of;
    of.is_collective = is_collective(event);
    of.layer = layer_of(event);
    of.event = event.name;
    of.device_id = event.device_id;
    add_found(file.changes, of, event.history, calls, watched, series, started_at_s);
  }
  const auto devices = static_cast<float>(std::max<std::size_t>(file.devices.size(), 1));
  for (WatchedLayer& layer : file.layers) {
    for (float& us : layer.us)
      us /= devices;
  }
  return file;
}

}  // namespace inline_prof::join
