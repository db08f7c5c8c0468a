// The effect of a change, beside the iteration as it was.
#pragma once

#include "model/iteration/timetable.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::join {

// All tasks of one name on the longest path.
struct PathPart {
  std::string name;
  double time_us = 0.0;
  std::size_t tasks = 0;
};

struct WhatIfTimes {
  model::Timetable table;
  std::optional<double> changed_us;  // the iteration, if the tasks took the other times
  std::optional<double> saved_us;
  std::vector<PathPart> path;  // those that take most first
  double path_us = 0.0;        // of its tasks; the rest is waiting
};

// `others` is what was asked; empty: nothing was.
[[nodiscard]] WhatIfTimes what_if_times(const model::LongestPath& path,
                                        std::optional<std::span<const model::OtherTime>> others);

}  // namespace inline_prof::join
