// The histories of a run: those of its processes joined by rank, what changed, and what recurs.
#pragma once

#include "join/rows/row.hpp"
#include "read/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::join {

// The histories of one file, as columns of time: little enough that those of a thousand files stay
// in memory.  Times of day are seconds since 1970-01-01 UTC.

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

// A GPU of the run, over all processes that had its rank.
struct WatchedRank {
  std::string host;  // of the newest process
  std::optional<std::int64_t> rank;
  std::int64_t device_id = 0;
  std::string file;        // of the newest process
  std::string event_list;  // ranks of one list are peers: stages of a pipeline differ
  std::size_t processes = 0;
  Series iteration_us;  // a value each column of the run
  Series own_us;        // kernels that are no collectives
  std::vector<watch::MachineReading> machine;
};

// Changes of one time and direction: those of one cause, as far as times can tell.
struct RunChange {
  double began_s = 0.0;
  double within_s = 0.0;  // as of the change of a series whose time is known best
  std::int64_t began_iteration = 0;
  std::vector<SharedText> layers;    // those that lose or gain most first
  std::vector<std::size_t> ranks;    // numbers in WatchedRun::ranks
  std::vector<std::size_t> waiting;  // ranks whose collectives and iterations followed
  bool is_iteration = false;         // nothing but the iteration, or collectives, changed
  bool is_everything = false;        // most of the time of its kernels changed
  double before_us = 0.0;            // in an iteration, mean over `ranks`
  double after_us = 0.0;
  double ratio = 1.0;
  Interval ratio_ci95;
  std::string reason;
};

// A cause of lost time that shows over the whole history.
struct Recurrence {
  std::string cause;  // "hardware", "data", "program"
  std::string what{};
  std::vector<std::string> evidence{};
  std::vector<std::size_t> ranks{};  // those that are slow
  double ratio = 1.0;
};

struct WatchedRun {
  std::vector<TimeColumn> columns;   // of the rank that was watched longest
  std::vector<WatchedLayer> layers;  // medians over ranks; those that take longest first
  std::vector<WatchedRank> ranks;    // by rank
  std::vector<RunChange> changes;    // in order of time
  std::vector<Recurrence> recurrences;
  bool is_simulated = false;  // a rank's GPU was
  double until_s = 0.0;
  double budget = 0.0;
  std::int64_t pairs = 0;
  std::optional<double> cost_share;  // the largest of all files
};

// Returns for each file the first one of its group: the processes of one rank, or of one host's
// devices where files know no rank, one after the other.  Those of one time are not of one group.
[[nodiscard]] std::vector<std::size_t> groups_of(const std::vector<WatchedFile>& files);
// Returns true for each file in whose group a newer process is.
[[nodiscard]] std::vector<bool> have_newer(const std::vector<WatchedFile>& files);

// Joins the files of each group in order of their time.  A device is slow that takes `least_ratio`
// times what its peers take.
[[nodiscard]] WatchedRun watched_run(std::vector<WatchedFile> files, double least_ratio = 1.05);

// Returns times of each device relative to the median of its peers in the same column; NaN: not
// known, or without a peer.
[[nodiscard]] std::vector<Series> relative_to_peers(const WatchedRun& run,
                                                    Series WatchedRank::*series);

// "rank 3", "HOST device 0" where a file knows no rank; with the device where a rank has several.
[[nodiscard]] std::string name_of(const WatchedRun& run, std::size_t rank);

// Tells from a run's columns, changes and readings what loses time again and again:
//   hardware: the same ranks are slower than their peers, most of the time or by now;
//   data:     now one rank is slow, now another; or all are together, and it passes;
//   program:  all ranks are slower since one time.
[[nodiscard]] std::vector<Recurrence> find_recurrences(const WatchedRun& run, double least_ratio);

}  // namespace inline_prof::join
