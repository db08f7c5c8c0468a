// An iteration as pieces of work and what each of them waits for
// (docs/models/longest_path.md).
#pragma once

#include "read/input_error.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::read {

// For the end of another piece of work, and then a while.
struct Wait {
  std::size_t work = 0;  // index into WorkGraph::works
  double delay_us = 0.0;
};

// A kernel, a layer, or what the host does; it runs without a break.
struct Work {
  std::string name;
  double time_us = 0.0;
  std::optional<double> predicted_us;  // what it should take
  double not_before_us = 0.0;          // from the start of the iteration
  std::vector<Wait> waits;
};

struct WorkGraph {
  std::vector<Work> works;
  // Collectives: the works of one meeting, one of each rank, start together, as soon as all could.
  std::vector<std::vector<std::size_t>> meetings;
};

}  // namespace inline_prof::read
