#pragma once

#include "join/place/merge.hpp"
#include "join/place/placement.hpp"
#include "join/rows/row.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::join {

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
