// The mean iteration as bars on tracks: what timelines and traces draw.
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace inline_prof::join {

struct TimelineBar {
  std::size_t row = 0;  // index into Analysis::rows
  double start_us = 0.0;
  double length_us = 0.0;
  std::size_t lane = 0;    // from 0; bars of a lane do not overlap
  bool has_place = false;  // its start was measured; else it follows what was launched before it
};

// One stream of one device of one run.
struct TimelineTrack {
  std::size_t run = 0;  // index into Analysis::runs
  std::int64_t device_id = 0;
  std::int64_t stream_index = 0;
  std::size_t lanes = 1;
  std::vector<TimelineBar> bars;  // in order of their launch
};

// Rows that have a time, each as long as one of its calls.  What a region encloses lies in lanes
// below it.  A row begins at its median start, or, where that is not known, when the row launched
// before it ends.  Starts and lengths are medians of different iterations, so neighbours may seem
// to overlap by a little: an overlap of less than a tenth of the shorter bar moves the later one;
// a longer one is true, and gets a lane of its own.
[[nodiscard]] std::vector<TimelineTrack> timeline_layout(const Analysis& analysis);

}  // namespace inline_prof::join
