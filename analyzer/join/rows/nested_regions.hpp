#pragma once

#include "join/rows/row.hpp"
#include "read/profile.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace inline_prof::join {

// The time that an event pair adds, found from regions that were timed together with what they
// enclose.
struct NestedRegions {
  double bias_us = 0.0;
  std::size_t regions = 0;  // that it is the median of
};

// A region of n >= 2 timed children that follow each other without gaps takes T + b where they take
// T + n b together, b being what a pair adds.  So each region gives
//
//   b = (sum of its children - region) / (n - 1)
//
// on medians over the samples; the result is the median over all regions (layers, devices, forward
// and backward).  Gaps between children make it smaller, so it is a lower bound: b less the mean
// gap. Regions whose children do not cover them, which shows in a sum below the region, are left
// out.
//
// `rows` are those of `events`, one each, nested.  Empty without such a region.
[[nodiscard]] std::optional<NestedRegions> nested_region_bias(std::span<const read::Event> events,
                                                              const std::vector<Row>& rows);

}  // namespace inline_prof::join
