// The events of an earlier run, for prof-schedule --from: what can be asked for, and how long an
// iteration takes.
#pragma once

#include "schedule/select.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::cli {

struct PriorRun {
  std::vector<schedule::MetEvent> met;   // in order of first appearance, over all devices
  std::optional<double> iteration_ms;    // median
  std::size_t not_measurable_count = 0;  // events that the run could not time: not among `met`
};

// Takes a prof.json of every generation.  Throws schedule::ScheduleError if it cannot be opened,
// read::InputError if it is no profile.
[[nodiscard]] PriorRun read_prior_run(const std::string& path);

}  // namespace inline_prof::cli
