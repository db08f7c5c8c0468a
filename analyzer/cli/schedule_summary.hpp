// What a schedule amounts to, for people and for programs.
#pragma once

#include "schedule/request.hpp"

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
  std::int64_t first_iteration = 0;  // of those that measure
  std::int64_t last_iteration = 0;
  std::optional<double> iteration_ms{};
  std::vector<ScheduledEvent> events{};  // in order of their first iteration
};

// `list` has at least one sample.
[[nodiscard]] ScheduleSummary summarise(const schedule::SampleList& list,
                                        std::optional<double> iteration_ms);

// Aligned text; `with_events` adds a line for each event.
[[nodiscard]] std::string summary_table(const ScheduleSummary& summary, bool with_events);
[[nodiscard]] std::string summary_json(const ScheduleSummary& summary);

}  // namespace inline_prof::cli
