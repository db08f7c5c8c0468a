#pragma once

#include "join/place/merge.hpp"
#include "join/place/placement.hpp"
#include "join/rows/row.hpp"

#include <map>
#include <optional>
#include <string>
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

}  // namespace inline_prof::join
