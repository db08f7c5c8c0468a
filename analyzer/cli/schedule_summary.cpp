#include "cli/schedule_summary.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace inline_prof::cli {
namespace {

double total_seconds(const ScheduleSummary& summary) {
  return static_cast<double>(summary.last_iteration) * *summary.iteration_ms * 1e-3;
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.3g} s", seconds);
  const double minutes = std::floor(seconds / 60);
  if (minutes < 60) return fmt::format("{:.0f} min {:.0f} s", minutes, seconds - minutes * 60);
  const double hours = std::floor(minutes / 60);
  return fmt::format("{:.0f} h {:.0f} min", hours, minutes - hours * 60);
}

// "50", or "10 to 50" where events differ.
std::string samples_text(const std::vector<ScheduledEvent>& events) {
  const auto [least, most] = std::minmax_element(
      events.begin(), events.end(),
      [](const auto& a, const auto& b) { return a.sample_count < b.sample_count; });
  if (least->sample_count == most->sample_count) return fmt::format("{}", least->sample_count);
  return fmt::format("{} to {}", least->sample_count, most->sample_count);
}

}  // namespace

ScheduleSummary summarise(const schedule::SampleList& list, std::optional<double> iteration_ms) {
  ScheduleSummary summary;
  summary.warmup = list.warmup;
  summary.sample_count = static_cast<std::int64_t>(list.samples.size());
  summary.first_iteration = list.samples.front().iteration;
  summary.last_iteration = list.samples.back().iteration;
  summary.iteration_ms = iteration_ms;

  std::map<schedule::EventKey, std::size_t> index_of;
  for (const schedule::Sample& sample : list.samples) {
    const auto [entry, is_new] = index_of.try_emplace(sample.key, summary.events.size());
    if (is_new) {
      summary.events.push_back({.key = sample.key, .first_iteration = sample.iteration});
    }
    ScheduledEvent& event = summary.events[entry->second];
    ++event.sample_count;
    event.last_iteration = sample.iteration;
  }
  return summary;
}

std::string summary_table(const ScheduleSummary& summary, bool with_events) {
  std::string text;
  text += fmt::format("events      {}\n", summary.events.size());
  text += fmt::format("samples     {} ({} of each event)\n", summary.sample_count,
                      samples_text(summary.events));
  text += fmt::format("iterations  {} ({} of warm-up, measuring from {})\n", summary.last_iteration,
                      summary.warmup, summary.first_iteration);
  if (summary.iteration_ms) {
    text += fmt::format("time        {} at {:.4g} ms an iteration\n",
                        duration_text(total_seconds(summary)), *summary.iteration_ms);
  }
  if (!with_events) return text;

  std::size_t layer_width = 5;
  for (const ScheduledEvent& event : summary.events) {
    layer_width = std::max(layer_width, event.key.layer.size());
  }
  text += fmt::format("\n{:>7} {:>9} {:>9} {:>10}  {:<{}}  event\n", "samples", "first", "last",
                      "occurrence", "layer", layer_width);
  for (const ScheduledEvent& event : summary.events) {
    text +=
        fmt::format("{:>7} {:>9} {:>9} {:>10}  {:<{}}  {}\n", event.sample_count,
                    event.first_iteration, event.last_iteration, event.key.occurrence,
                    event.key.layer.empty() ? "-" : event.key.layer, layer_width, event.key.event);
  }
  return text;
}

std::string summary_json(const ScheduleSummary& summary) {
  using Json = nlohmann::ordered_json;
  Json json{{"warmup", summary.warmup},
            {"samples", summary.sample_count},
            {"iterations", summary.last_iteration},
            {"first_measured_iteration", summary.first_iteration},
            {"iteration_time_ms", nullptr},
            {"total_time_s", nullptr},
            {"events", Json::array()}};
  if (summary.iteration_ms) {
    json["iteration_time_ms"] = *summary.iteration_ms;
    json["total_time_s"] = total_seconds(summary);
  }
  for (const ScheduledEvent& event : summary.events) {
    json["events"].push_back(Json{{"event", event.key.event},
                                  {"layer", event.key.layer},
                                  {"occurrence", event.key.occurrence},
                                  {"samples", event.sample_count},
                                  {"first_iteration", event.first_iteration},
                                  {"last_iteration", event.last_iteration}});
  }
  // A prof.schedule may hold bytes that are not UTF-8; JSON may not.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace inline_prof::cli
