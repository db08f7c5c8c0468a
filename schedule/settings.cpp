#include "schedule/settings.hpp"

#include "schedule/error.hpp"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace inline_prof::schedule {
namespace {

void override_with(Settings& settings, const Choices& choices) {
  if (choices.warmup) settings.warmup = *choices.warmup;
  if (choices.repeat) settings.repeat = *choices.repeat;
  if (choices.mode) settings.mode = *choices.mode;
  if (choices.policy) settings.policy = *choices.policy;
  if (choices.seed) settings.seed = *choices.seed;
  if (choices.budget_percent) settings.budget_percent = choices.budget_percent;
  if (choices.target_ci) settings.target_ci = choices.target_ci;
}

// Warns of settings in `environment` that have no effect on a prof.schedule.
void warn_of_no_effect(const Choices& environment, const SampleList& list, Settings& settings) {
  const auto warn = [&](std::string_view what) {
    settings.warnings.push_back(std::string(what) +
                                " has no effect: a prof.schedule says itself which iteration "
                                "measures what");
  };
  if (environment.warmup && *environment.warmup != list.warmup)
    warn("the number of warm-up iterations");
  if (environment.repeat) warn("the number of repeats");
  if (environment.policy) warn("the policy");
  if (environment.seed) warn("the seed");
}

}  // namespace

Settings settle(const Choices& environment, const Request& request) {
  Settings settings;
  if (const auto* spec = std::get_if<Spec>(&request)) override_with(settings, *spec);
  override_with(settings, environment);
  if (const auto* list = std::get_if<SampleList>(&request)) {
    settings.warmup = list->warmup;
    settings.policy = Policy::kInOrder;
    warn_of_no_effect(environment, *list, settings);
  }
  check(settings);
  return settings;
}

void check(const Settings& settings) {
  if (settings.warmup < 0 || settings.warmup > kMaxWarmup) {
    throw ScheduleError("a warm-up of " + std::to_string(settings.warmup) +
                        " iterations, expected 0 to " + std::to_string(kMaxWarmup));
  }
  if (settings.repeat < 1 || settings.repeat > kMaxRepeat) {
    throw ScheduleError(std::to_string(settings.repeat) + " repeats of an event, expected 1 to " +
                        std::to_string(kMaxRepeat));
  }
  if (settings.target_ci && !(*settings.target_ci > 0 && *settings.target_ci < 1)) {
    throw ScheduleError("a target_ci of " + std::to_string(*settings.target_ci) +
                        ", expected a number between 0 and 1");
  }
  if (settings.budget_percent &&
      !(*settings.budget_percent > 0 && *settings.budget_percent <= 100)) {
    throw ScheduleError("a budget of " + std::to_string(*settings.budget_percent) +
                        "%, expected one above 0% and up to 100%");
  }
}

std::optional<double> budget_percent_from(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (result.ec != std::errc()) return std::nullopt;
  const std::string_view unit(result.ptr, static_cast<std::size_t>(end - result.ptr));
  if (unit.empty()) value *= 100;
  if ((!unit.empty() && unit != "%") || !(value > 0 && value <= 100)) return std::nullopt;
  return value;
}

}  // namespace inline_prof::schedule
