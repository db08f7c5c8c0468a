// Summaries of a schedule, for people and for programs.
#pragma once

#include "schedule/adaptive.hpp"
#include "schedule/classes.hpp"
#include "schedule/request.hpp"
#include "schedule/settings.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::cli {

struct ScheduledEvent {
  schedule::EventKey key{};
  std::int64_t sample_count = 0;
  std::int64_t first_iteration = 0;
  std::int64_t last_iteration = 0;
};

struct ScheduleSummary {
  std::int64_t warmup = 0;
  std::int64_t sample_count = 0;
  std::int64_t first_iteration = 0;  // the first one that measures
  std::int64_t last_iteration = 0;
  std::optional<double> iteration_ms{};
  std::vector<ScheduledEvent> events{};  // in order of their first iteration
};

// Summarises a list of at least one sample.
[[nodiscard]] ScheduleSummary summarise(const schedule::SampleList& list,
                                        std::optional<double> iteration_ms);

// Aligned text; `with_events` adds a line for each event.
[[nodiscard]] std::string summary_table(const ScheduleSummary& summary, bool with_events);
[[nodiscard]] std::string summary_json(const ScheduleSummary& summary);

// The summary for policy adaptive, for which only bounds are known beforehand.
struct AdaptiveSummary {
  std::int64_t warmup = 0;
  double budget_percent = 0;
  double target_ci = 0;
  std::int64_t fewest_samples = 0;
  std::int64_t most_samples = 0;
  schedule::PairRate rate{};  // one pair an iteration where its time is not known
  schedule::IterationBounds iterations{};
  std::optional<double> iteration_ms{};
  std::size_t event_count = 0;
  std::vector<schedule::EventClass> classes{};
};

[[nodiscard]] AdaptiveSummary summarise(std::vector<schedule::EventClass> classes,
                                        const schedule::Settings& settings,
                                        std::optional<double> iteration_ms);
[[nodiscard]] std::string summary_table(const AdaptiveSummary& summary, bool with_classes);
[[nodiscard]] std::string summary_json(const AdaptiveSummary& summary);

}  // namespace inline_prof::cli
