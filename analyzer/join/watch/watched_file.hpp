// The histories of one file, as columns of time: little enough that those of a thousand files stay
// in memory.  Times of day are seconds since 1970-01-01 UTC.
#pragma once

#include "join/rows/row.hpp"
#include "join/rows/statistics.hpp"
#include "read/profile.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::join {

// Parses "2026-11-24T14:02:11Z"; empty if `utc` is something else.
[[nodiscard]] std::optional<double> seconds_of(const std::string& utc);
// Returns "2026-11-24 14:02", in UTC.
[[nodiscard]] std::string minute_words(double seconds);

// Ranks, and events, find a change when they are next measured: within minutes of each other.
inline constexpr double kSameTimeS = 900.0;

struct TimeColumn {
  double start_s = 0.0;
  double end_s = 0.0;
  std::int64_t first_iteration = 0;
  std::int64_t last_iteration = 0;
};

// Times in an iteration, one a column; NaN: not known.
using Series = std::vector<float>;

struct WatchedLayer {
  SharedText name;
  Series us;  // mean over devices
};

struct WatchedDevice {
  std::int64_t device_id = 0;
  Series own_us;  // kernels that are no collectives: a collective's time holds waiting
};

// A change of one event, one layer or the iteration in one process.
struct SeriesChange {
  bool is_iteration = false;
  bool is_collective = false;
  SharedText layer;
  SharedText event;  // empty: the layer's or the iteration's
  std::int64_t device_id = 0;
  double began_s = 0.0;
  double within_s = 0.0;  // it may have begun so much earlier or later: a bin's width
  std::int64_t began_iteration = 0;
  double before_us = 0.0;  // in an iteration
  double ratio = 1.0;
  Interval ratio_ci95;
  std::string reason;
};

struct WatchedFile {
  std::string file;
  std::string host;
  std::optional<std::int64_t> rank;
  std::string event_list;  // its hash; empty if the file does not say, or has several phases
  bool is_simulated = false;
  double started_at_s = 0.0;
  double until_s = 0.0;
  double budget = 0.0;
  std::int64_t pairs = 0;
  std::optional<double> cost_share;
  std::vector<TimeColumn> columns;
  Series iteration_us;
  std::vector<WatchedDevice> devices;
  std::vector<WatchedLayer> layers;
  std::vector<read::DeviceReadings> machine;  // at times of day
  std::vector<SeriesChange> changes;          // the library's, and those found in the bins
};

// Returns nothing if the run was not watched.  `rows` are those of the profile's events.
[[nodiscard]] std::optional<WatchedFile> watched_file(const read::Profile& profile,
                                                      const std::vector<Row>& rows);

}  // namespace inline_prof::join
