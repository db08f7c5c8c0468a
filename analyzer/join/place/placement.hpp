// The places of a device's rows in an iteration, the same for everything that asks.
#pragma once

#include "join/rows/row.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace inline_prof::join {

struct Place {
  std::size_t lane = 0;  // lanes.hpp
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
// an error: they are put in order (offsets_in_order.hpp) where the times of the samples' own
// iterations are known; else the rows' medians stand, for those of iterations that do not take
// equally long need not add up.
[[nodiscard]] Placement placement_of(const std::vector<Run>& runs, const std::vector<Row>& rows);

}  // namespace inline_prof::join
