#include "join/place/lanes.hpp"

#include <algorithm>

namespace inline_prof::join {
namespace {

// A smaller part of the shorter row is no overlap: medians are off by as much.
constexpr double kLeastOverlap = 0.5;
// Grids that a GPU runs at a time (CUDA C++ Programming Guide 13, technical specifications per
// compute capability), so that no file takes quadratic time.
constexpr std::size_t kMostAtATime = 128;

}  // namespace

// The lane that was in use last, and is free by now; a graph's kernel gets a new one where none is,
// or the next one to be free.
Lanes::Lane& Lanes::lane_for(std::vector<Lane>& lanes, const Row& row,
                             const std::optional<double>& offset_us) {
  const bool may_be_beside = row.is_graph_node && offset_us;
  Lane* found = nullptr;
  for (Lane& lane : lanes) {
    const double slack_us = kLeastOverlap * std::min(lane.last_us, *row.in_iteration_us);
    if (may_be_beside && lane.seen_end_us > *offset_us + slack_us) continue;
    if (found == nullptr || lane.seen_end_us > found->seen_end_us) found = &lane;
  }
  if (found != nullptr) return *found;
  if (lanes.size() == kMostAtATime) {
    return *std::min_element(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) {
      return a.seen_end_us < b.seen_end_us;
    });
  }
  lanes.push_back({.number = count_++});
  return lanes.back();
}

Lanes::LaneStart Lanes::place(const Row& row, const std::optional<double>& offset_us) {
  Lane& lane = lane_for(lanes_of_[row.stream_index], row, offset_us);
  const double start_us = std::max(offset_us.value_or(lane.end_us), lane.end_us);
  lane.last_us = *row.in_iteration_us;
  lane.end_us = start_us + lane.last_us;
  lane.seen_end_us = offset_us.value_or(start_us) + lane.last_us;
  return {.lane = lane.number, .start_us = start_us};
}

}  // namespace inline_prof::join
