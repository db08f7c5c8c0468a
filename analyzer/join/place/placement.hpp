// The places of a device's rows in an iteration, the same for everything that asks.
#pragma once

#include "join/place/merge.hpp"
#include "join/rows/row.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::join {

struct Place {
  std::size_t lane = 0;  // Lanes
  double start_us = 0.0;
  double end_us = 0.0;  // start_us and the time of all its calls
  // The start as it was seen; empty if it is not known: the row then follows the one before it.
  std::optional<double> seen_us;
  bool is_inside_replay = false;  // a graph's node that does not begin its replay
};

struct DevicePlacement {
  // The outermost rows that have a time (a region without one is transparent), in the order of
  // their launches.
  std::vector<std::size_t> rows;
  std::size_t lanes = 0;
  bool has_others = false;  // other streams or ranks, which something may wait for
};

struct Placement {
  std::map<DeviceKey, DevicePlacement> devices;  // that have any event
  std::map<std::size_t, Place> places;           // of the devices' rows
};

// `rows` have their time in the iteration.  Starts were measured in different iterations, each with
// an error: they are put in order where the times of the samples' own
// iterations are known; else the rows' medians stand, for those of iterations that do not take
// equally long need not add up.
[[nodiscard]] Placement placement_of(const std::vector<Run>& runs, const std::vector<Row>& rows);

// The lanes of a device: rows of one lane follow each other.

// A stream is one lane, in which works follow each other: one that seems to start before the one
// before it ended (medians of different iterations) starts where that ended.  Kernels of a CUDA
// graph may run beside each other, and then have lanes of their own.
class Lanes {
 public:
  struct LaneStart {
    std::size_t lane = 0;  // from 0, over all streams
    double start_us = 0.0;
  };

  // Places the next row of one device that has a time in the iteration, each stream in its order.
  // `offset_us` is where it was seen to start.
  LaneStart place(const Row& row, const std::optional<double>& offset_us);

  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  struct Lane {
    std::size_t number = 0;
    double end_us = 0.0;
    double seen_end_us = 0.0;  // without what the works before it pushed it back
    double last_us = 0.0;      // length of the last work
  };
  Lane& lane_for(std::vector<Lane>& lanes, const Row& row, const std::optional<double>& offset_us);

  std::map<std::int64_t, std::vector<Lane>> lanes_of_;  // by stream
  std::size_t count_ = 0;
};

// A replay of a graph is one launch: what begins it may have come late, the nodes behind it wait
// for each other.
class Replays {
 public:
  // Rows of one device in the order of their launches.  True for a node that does not begin its
  // replay; the writer has numbered those of a replay in a row.
  [[nodiscard]] bool is_inside(const Row& row) {
    if (!row.is_graph_node) return false;
    auto& next_index = next_index_of_[row.stream_index];
    const bool is_inside = next_index == row.start_index;
    next_index = row.end_index + 1;
    return is_inside;
  }

 private:
  std::map<std::int64_t, std::int64_t> next_index_of_;  // by stream; 0: no node yet
};

// The starts of a device's rows in an iteration.  Their offsets were measured in different
// iterations, each with an error: here no row begins before those before it on its stream have
// ended.

// The device takes so long at most to begin a kernel that stands in the queue behind another one.
// 2 us is the least time of a kernel in the machines' files, 3 us half of the 5.9 us that a pair of
// events adds in a published profile of an A100 (tests/data/hugectr).
inline constexpr double kLongestStartUs = 3.0;

// Returns the offsets, by row, of those of a device's outermost rows whose offsets are known, and
// that cannot run beside others of their stream.  `others`: there are other streams or ranks.
[[nodiscard]] std::map<std::size_t, double> offsets_in_order(const std::vector<Row>& rows,
                                                             std::span<const std::size_t> outermost,
                                                             bool others);

// When a device works, for what runs beside a row and what does not.
class DeviceTime {
 public:
  // `placement` has to stay.
  DeviceTime(const Placement& placement, const DevicePlacement& device);

  // Returns how much of the row's first `us` nothing else runs in; all of them where it lies inside
  // another row.
  [[nodiscard]] double exposed_us(std::size_t row, double us) const;

 private:
  struct Span {
    double start_us = 0.0;
    double end_us = 0.0;
  };

  const Placement& placement_;
  std::vector<std::vector<Span>> spans_;  // by lane, in which none overlap
};

// Rows that were seen but not measured.
struct UnmeasuredRows {
  std::size_t unmeasured_events = 0;
  std::size_t unmeasured_without_time = 0;  // of these, those of unknown duration: in `idle`
  std::map<std::string, std::size_t> unmeasured_reasons;  // of these, where the file says why
};

struct TimedRows {
  std::vector<Row> rows;
  UnmeasuredRows unmeasured;
};

// Returns predicted rows with the in_iteration_us of each that has a time.  An unmeasured row is
// taken to last as long as rows that launch the same kernel on the same device, else as long as
// predicted.
[[nodiscard]] TimedRows timed_rows(const std::vector<Run>& runs, std::vector<Row> rows);

// How one iteration divides up.  Each number as a mean over devices.
struct Shares {
  double predicted = 0.0;
  double measured = 0.0;  // without a prediction
  double seen = 0.0;      // but not measured
  double idle = 0.0;      // or not seen
};

struct IterationShares {
  Iteration iteration;  // mean over devices
  std::optional<Shares> shares_percent;
  std::optional<Shares> shares_us;
  std::string shares_reason;  // why there are none
};

struct DividedIteration {
  IterationShares shares;
  std::map<DeviceKey, double> idle_us;   // Shares::idle of each device
  std::vector<double> credited_percent;  // of the iteration, by row
  std::vector<std::string> warnings;
};

// The beginning of the warning that events take much more than the iteration.
inline constexpr std::string_view kDoubtfulShares = "doubtful: the shares of ";

// Divides every device's iteration up (docs/reading_a_report.md):
//
//  * a region counts once; its children share its time: all they took if that is less (what is left
//    is measured without prediction), else each its part of it;
//  * rows of one stream follow each other; where rows of several streams of a device run at the
//    same moment, that moment is split evenly between them;
//  * a sum above the iteration is scaled down to it, with a warning.
[[nodiscard]] DividedIteration divide_iteration(const std::vector<Run>& runs,
                                                const std::vector<Row>& rows,
                                                const Placement& placement);

// Returns `merged` with the share_percent of each.
[[nodiscard]] std::vector<MergedRow> with_shares(std::vector<MergedRow> merged,
                                                 const DividedIteration& divided);

// Work of one lane of a device, in order.  Times from the start of the iteration,
// microseconds.
struct Piece {
  std::size_t lane = 0;
  double start_us = 0.0;  // not before the piece before it on its lane ended: see busy_time
  double length_us = 0.0;
};

// How much of the device's time each piece may claim: a moment at which n pieces run counts 1/n for
// each, so that the sum is the length of the union.  Lanes are in order, so a piece that seems to
// start before the one before it ended (medians of different iterations) starts where that ended.
[[nodiscard]] std::vector<double> busy_time(std::vector<Piece> pieces);

}  // namespace inline_prof::join
