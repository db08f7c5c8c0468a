// Selects the events of a run that are measured.
#pragma once

#include "schedule/plan.hpp"
#include "schedule/request.hpp"
#include "schedule/settings.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace inline_prof::schedule {

// An event of the warm-up, in the order of first appearance. (event, layer, occurrence) is unique:
// the same event on several devices is one.
struct MetEvent {
  std::string event{};
  std::string layer{};  // from the scopes around it; may be empty
  int occurrence = 0;
  std::string kernel{};  // may be empty
};

struct Selection {
  std::vector<std::size_t> chosen{};     // indices into the run's events, in measuring order
  std::vector<std::string> layers{};     // of each chosen event: the request's word, else the run's
  std::vector<Turn> turns{};             // a prof.schedule's iterations; empty for other requests
  std::vector<std::string> never_met{};  // requested events that did not occur, a phrase each
  std::vector<std::string> warnings{};   // whole sentences
};

// Selects. An event belongs to the entry of the request with its event, occurrence and layer; else
// to the first with its event, its occurrence and no layer; else to the first with its event and
// occurrence, whose layer it then gets.
[[nodiscard]] Selection select(const Request& request, const std::vector<MetEvent>& met);

// Returns the plan for a selection from `request`; `sizes` as for Plan. Throws as Plan does.
[[nodiscard]] Plan make_plan(const Request& request, const Selection& selection,
                             const Settings& settings, const std::vector<double>& sizes = {});

// Returns the prof.schedule for `keys`: settings.repeat samples of each, from iteration
// settings.warmup + 1 on, in the order of settings.policy. Throws ScheduleError if there is nothing
// to measure, and as Plan does.
[[nodiscard]] SampleList expand(const std::vector<EventKey>& keys, const Settings& settings);

}  // namespace inline_prof::schedule
