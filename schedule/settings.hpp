// How a request is measured, once every source has had its say.
#pragma once

#include "schedule/request.hpp"

#include <string>
#include <vector>

namespace inline_prof::schedule {

// The defaults are the original profiler's.
struct Settings {
  std::int64_t warmup = 10;
  std::int64_t repeat = 50;
  Mode mode = Mode::kFineGrained;
  Policy policy = Policy::kInOrder;
  std::uint64_t seed = 1;
  std::optional<double> budget_percent{};
  std::optional<double> target_ci{};
  std::vector<std::string> warnings{};  // what was said and has no effect
};

// `environment` (or a command line) beats the request's file, which beats the default.  A
// prof.schedule says itself which iteration measures what: it keeps its own warm-up, and repeat,
// policy and seed have no effect on it.
//
// Throws what check() throws.
[[nodiscard]] Settings settle(const Choices& environment, const Request& request);

// Throws ScheduleError, a sentence, for a value out of range and for a policy that this version
// cannot carry out.
void check(const Settings& settings);

}  // namespace inline_prof::schedule
