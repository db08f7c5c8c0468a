#pragma once

#include <cstddef>
#include <vector>

namespace inline_prof::join {

// Work of one lane of a device (lanes.hpp), in order.  Times from the start of the iteration,
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
