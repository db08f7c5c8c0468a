// Many ranks of one run: which of them are late, and what collectives wait for.
//
// Times are raw medians of event pairs: the pair adds the same to each rank, and what is looked at
// here are differences between ranks.
#pragma once

#include "join/diagnose/belonging.hpp"
#include "join/rows/row.hpp"
#include "join/watch/watched_run.hpp"
#include "read/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace inline_prof::join {

// The positions of a run's devices, and what those at one position have in common.

// How ranks are numbered: the axis that varies fastest first, as in tp=8, pp=4, dp=2.
using RankLayout = std::vector<std::pair<std::string, std::int64_t>>;

// "tp=8,pp=4,dp=2".  Throws std::invalid_argument with what was found and expected.
[[nodiscard]] RankLayout parse_rank_layout(const std::string& text);

// A device's place, as far as it is known.
struct DevicePlace {
  std::string host;
  std::optional<std::int64_t> rank;
  std::int64_t local_device = 0;  // of its host
};

// One way to group devices: by local device, host, rack or an axis of the layout.
struct Dimension {
  std::string name;
  std::vector<std::string> values;
  std::vector<std::size_t> of_device;  // index into `values`
};

// The dimensions in which `places` differ and in which some position has two devices at least; all
// others can tell nothing.  Racks only where host names have two numbers, as in r03-n12.
[[nodiscard]] std::vector<Dimension> dimensions_of(const std::vector<DevicePlace>& places,
                                                   const RankLayout& layout);

// Devices at one position that stand out together.
struct CommonOutlier {
  std::size_t dimension = 0;
  std::size_t value = 0;
  std::size_t devices = 0;
  std::size_t slow_devices = 0;  // of them
  double time = 0.0;             // median at the position
  double median = 0.0;           // of the devices at no such position
};

// A device that stands out from those it is compared with: the devices at its position where they
// have something in common, else all others.
struct SingleOutlier {
  std::size_t index = 0;
  double median = 0.0;
};

struct Outliers {
  std::vector<CommonOutlier> common;
  std::vector<SingleOutlier> single;
};

// A value stands out if it is further above the median than kOutlierMads times the median deviation
// (base/median.hpp), and by `least_ratio` at least.  Where kMostAtPosition of a position's devices
// do, with two at least, they have it in common; so do kSomeAtPosition of them, where most of these
// would not stand out among the devices at their position: all of it is slower, and the bar lies
// between its devices.  The dimension that explains most devices with fewest positions goes first.
// `devices[i]` is the device of `values[i]`.
inline constexpr double kMostAtPosition = 0.75;
inline constexpr double kSomeAtPosition = 0.1;
[[nodiscard]] Outliers find_outliers(std::span<const double> values,
                                     std::span<const std::size_t> devices,
                                     std::span<const Dimension> dimensions, double least_ratio);

// The same event on every rank: layer, event, occurrence.
using RankEvent = std::tuple<SharedText, SharedText, std::int64_t>;
template <typename Value>
using OfRankEvent = std::unordered_map<RankEvent, Value, SharedHash>;

// The events of a rank, whether measured or not.  Ranks that list the same ones share the list.
struct RankEvents {
  std::vector<RankEvent> in_file_order;
  OfRankEvent<std::size_t> places;   // in that order
  std::vector<double> predicted_us;  // on the first rank's GPU; NaN: no model knows it
  std::string gpu;                   // that GPU's name
};

// A device of a rank.
struct RankDevice {
  std::string file;
  std::string host;
  std::optional<std::int64_t> rank;
  std::int64_t device_id = 0;
  std::int64_t local_device = 0;  // the process's number on its host where it has one device only
  bool is_named_twice = false;    // another file has the same host, rank and device
};

// An iteration of a rank that sends to other stages of a pipeline or receives from them: sums of
// medians, each less what its event pair adds.
struct StageTimes {
  std::optional<double> iteration_us;
  double computing_us = 0.0;
  double collectives_us = 0.0;
  double sends_us = 0.0;
  double receives_us = 0.0;
  double exchanges_us = 0.0;           // sends and receives at once
  std::optional<double> predicted_us;  // of all three, if a model knows each of them
  double unmeasured_part = 0.0;        // of the events: none of their time is above
};

// One sample may be late by chance: of fewer than these, none says which device is.
inline constexpr std::size_t kLeastRankSamples = 3;

// The part of one file that is kept: a number for each event, so that a hundred thousand ranks fit
// into memory.
struct RankSummary {
  FileFacts facts;
  struct Device {
    RankDevice device;
    std::shared_ptr<const RankEvents> events;
    std::string gpu;
    std::string numbering;  // devices of another one number iterations otherwise
    // The sum over its streams of each event; NaN: not measured.  A run that was watched has its
    // newest times here.
    std::vector<double> median_us;
    std::vector<bool>
        has_few_samples;  // of each event: fewer than kLeastRankSamples on some stream
    OfRankEvent<std::map<std::int64_t, double>> of_iteration_us;  // collectives only
    OfRankEvent<double> predicted_us;                             // collectives only
  };
  std::string file;
  std::string incomplete;                    // why the file is; empty if it is not
  bool is_simulated = false;                 // the GPU was
  std::string phase;                         // the one that is compared; empty if the file has one
  std::shared_ptr<const RankEvents> events;  // of the devices, too
  std::unordered_set<RankEvent, SharedHash> collectives;
  std::unordered_set<RankEvent, SharedHash> exchanges;  // those that are sends or receives
  OfRankEvent<std::string> communicators;               // "COMM SEQUENCE", of those that say it
  std::vector<Device> devices;
  std::optional<WatchedFile> watched;
  std::optional<StageTimes> stage;  // of a rank that sends or receives
};

// Predicts an operation on a device, in microseconds; empty if no model knows it.  `device` is null
// where the file does not say what it is.
using PredictOperation =
    std::function<std::optional<double>(const read::Op& op, const read::Device* device)>;

[[nodiscard]] RankSummary summarise_rank(const read::Profile& profile,
                                         const PredictOperation& predict);

// A device that needs longer for an event, or for everything, than the others do.
struct Straggler {
  RankDevice device;
  std::string layer;
  std::string event;  // empty: the device as a whole
  std::int64_t occurrence = 0;
  double time_us = 0.0;    // of the device as a whole: 0
  double median_us = 0.0;  // of all devices, or of those at its position if these form a pattern
  double ratio = 1.0;      // time over that median; as a whole: its median over the time
  // Time over prediction, as a whole of all events that have one; of the device, and the median of
  // the others.
  std::optional<double> of_predicted{};
  std::optional<double> others_of_predicted{};
};

// The time that all devices at one position need longer than the others: one cause, not many.
struct RankPattern {
  std::string dimension;  // "local device", "host", "rack", or an axis of the layout
  std::string value;
  std::size_t devices = 0;      // at the position
  std::optional<double> ratio;  // as a whole; empty: not slow as a whole
  struct Event {
    std::string layer;
    std::string event;
    std::int64_t occurrence = 0;
    std::size_t devices = 0;       // at the position, that measured it
    std::size_t slow_devices = 0;  // of them
    double time_us = 0.0;          // median at the position
    double median_us = 0.0;        // of the devices elsewhere
    double ratio = 1.0;
  };
  std::vector<Event> events;  // those that lose most time first
};

// A collective, split where iterations are known in which all devices took part: what a device
// takes above the one that takes least is waiting for the last one to arrive, the least is
// transfer.
struct CollectiveSplit {
  std::string layer;
  std::string event;
  std::int64_t occurrence = 0;
  std::size_t iterations = 0;          // that all devices have measured; 0: medians of others
  double transfer_us = 0.0;            // median over iterations
  double wait_us = 0.0;                // mean over devices, median over iterations
  std::optional<double> predicted_us;  // of the transfer, where a model knows it
  std::optional<double> ratio;         // transfer / predicted
  // Waits least, as a median: the one the others wait for.  Empty: fewer than kLeastRankSamples.
  std::optional<RankDevice> last{};
  std::vector<std::int64_t> ranks{};  // that take part, if these are known and not all
};

// Ranks that run the same part of the model.
struct PipelineStage {
  std::vector<std::int64_t> ranks;
  StageTimes times;  // medians over its ranks
};

struct RankComparison {
  std::string phase;          // of the first rank: "phase 2 of 3: ..."; empty where it has one
  bool is_simulated = false;  // a rank's GPU was
  std::size_t devices = 0;
  std::size_t events = 0;
  std::size_t events_of_few_samples = 0;     // on some device: whether one is slow cannot be told
  std::vector<PipelineStage> stages;         // first to last; empty where all ranks run the same
  std::vector<RankPattern> patterns;         // those that lose most time first
  std::vector<Straggler> slow_devices;       // slowest first
  std::vector<Straggler> stragglers;         // those that lose most time first
  std::vector<CollectiveSplit> collectives;  // those that wait longest first
  std::vector<std::string> unsplit;          // collectives, with the reason
  std::vector<std::string> warnings;         // what is odd about the files
  std::optional<WatchedRun> watched;         // if a file has histories
};

// A device stands out if it is further above the median of all devices than five times their median
// deviation (base/median.hpp), and by `least_ratio` at least.
struct RankOptions {
  double least_ratio = 1.05;
  RankLayout layout;  // empty: not known
};

// Ranks that ran different lists of events are compared within their stage of a pipeline, which the
// communicators of their sends and receives tell.  Throws std::invalid_argument, naming files, if
// others did, since such times are not of the same work; and where the layout does not fit.
[[nodiscard]] RankComparison compare_ranks(std::vector<RankSummary> ranks,
                                           const RankOptions& options);

}  // namespace inline_prof::join
