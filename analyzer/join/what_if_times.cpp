#include "join/what_if_times.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace inline_prof::join {

WhatIfTimes what_if_times(const model::LongestPath& path,
                          std::optional<std::span<const model::OtherTime>> others) {
  WhatIfTimes times;
  times.table = path.timetable();
  if (others) {
    times.changed_us = path.iteration_us(*others);
    times.saved_us = times.table.iteration_us - *times.changed_us;
  }
  std::map<std::string, PathPart> parts;
  for (const std::size_t i : times.table.longest_path) {
    const read::Task& task = path.graph().tasks[i];
    PathPart& part = parts[task.name];
    part.name = task.name;
    part.time_us += task.time_us;
    ++part.tasks;
    times.path_us += task.time_us;
  }
  for (const auto& [name, part] : parts)
    times.path.push_back(part);
  std::ranges::stable_sort(times.path, std::greater(), &PathPart::time_us);
  return times;
}

}  // namespace inline_prof::join
