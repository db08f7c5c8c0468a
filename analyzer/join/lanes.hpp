// Where the works of a device lie in an iteration.
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace inline_prof::join {

// A stream is one lane, in which works follow each other: one that seems to start before the one
// before it ended (medians of different iterations) starts where that ended.  Kernels of a CUDA
// graph may run beside each other, and then have lanes of their own.
class Lanes {
 public:
  struct Place {
    std::size_t lane = 0;  // from 0, over all streams
    double start_us = 0.0;
  };

  // Rows of one device with a time in the iteration, each stream in its order.
  Place place(const Row& row);

  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  struct Lane {
    std::size_t number = 0;
    double end_us = 0.0;
    double seen_end_us = 0.0;  // without what the works before it pushed it back
    double last_us = 0.0;      // length of the last work
  };
  Lane& lane_for(std::vector<Lane>& lanes, const Row& row);

  std::map<std::int64_t, std::vector<Lane>> lanes_of_;  // by stream
  std::size_t count_ = 0;
};

}  // namespace inline_prof::join
