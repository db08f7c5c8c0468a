// Settles how a request is measured, from all sources.
#pragma once

#include "schedule/request.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::schedule {

// The defaults of policy adaptive.
inline constexpr double kDefaultBudgetPercent = 0.1;
inline constexpr double kDefaultTargetCi = 0.03;

// The defaults are the original profiler's but for the policy: its order, in_order, leaves most
// events without a sample where a run ends early.
struct Settings {
  std::int64_t warmup = 10;
  std::int64_t repeat = 50;
  Mode mode = Mode::kFineGrained;
  Policy policy = Policy::kInterleaved;
  std::uint64_t seed = 1;
  std::optional<double> budget_percent{};
  std::optional<double> target_ci{};
  std::vector<std::string> warnings{};  // settings that have no effect
};

// Settles the settings. `environment` (or a command line) comes before the request's file, which
// comes before the default. A prof.schedule says itself which iteration measures what: it keeps its
// own warm-up, and repeat, policy and seed have no effect on it.
//
// Throws what check() throws.
[[nodiscard]] Settings settle(const Choices& environment, const Request& request);

// Throws ScheduleError, a sentence, for a value out of range.
void check(const Settings& settings);

// Reads "0.1%" or "0.001": both are 0.1 percent. Returns nothing for another text and for a share
// that is not above 0 % and up to 100 %.
[[nodiscard]] std::optional<double> budget_percent_from(std::string_view text);

}  // namespace inline_prof::schedule
