// The lanes of a device: rows of one lane follow each other.
#pragma once

#include "join/rows/row.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace inline_prof::join {

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

}  // namespace inline_prof::join
