// What is asked of an iteration: which pieces of its work would take another time.
#pragma once

#include "model/iteration/timetable.hpp"

#include <span>
#include <string>
#include <vector>

namespace inline_prof::model {

struct Scale {
  std::string match;  // glob on the names of works
  double factor = 1.0;
};

struct WhatIf {
  bool is_prediction_met = false;  // works that have a prediction take it
  std::vector<Scale> scales;       // after that; factors of several that fit multiply
};

// Throws std::invalid_argument where a glob fits no work, or nothing has a prediction to meet.
[[nodiscard]] std::vector<OtherTime> other_times(const read::WorkGraph& graph,
                                                 const WhatIf& what_if);

}  // namespace inline_prof::model
