#include "cli/prof_schedule/schedule_summary.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace inline_prof::cli {
namespace {

double seconds(std::int64_t iterations, double iteration_ms) {
  return static_cast<double>(iterations) * iteration_ms * 1e-3;
}

double total_seconds(const ScheduleSummary& summary) {
  return seconds(summary.last_iteration, *summary.iteration_ms);
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.3g} s", seconds);
  const double minutes = std::floor(seconds / 60);
  if (minutes < 60) return fmt::format("{:.0f} min {:.0f} s", minutes, seconds - minutes * 60);
  const double hours = std::floor(minutes / 60);
  return fmt::format("{:.0f} h {:.0f} min", hours, minutes - hours * 60);
}

// Returns "50", or "10 to 50" if events differ.
std::string samples_text(const std::vector<ScheduledEvent>& events) {
  const auto [least, most] = std::minmax_element(
      events.begin(), events.end(),
      [](const auto& a, const auto& b) { return a.sample_count < b.sample_count; });
  if (least->sample_count == most->sample_count) return fmt::format("{}", least->sample_count);
  return fmt::format("{} to {}", least->sample_count, most->sample_count);
}

// GPU time of a pair of events: 5.9 us in a published profile of an A100
// (docs/reading_a_report.md). In a run the injected library measures it.
constexpr double kUsualPairMs = 0.006;

std::string rate_text(const schedule::PairRate& rate) {
  if (rate.every > 1) return fmt::format("one every {} iterations", rate.every);
  return rate.pairs == 1 ? "one an iteration" : fmt::format("{} an iteration", rate.pairs);
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

AdaptiveSummary summarise(std::vector<schedule::EventClass> classes,
                          const schedule::Settings& settings, std::optional<double> iteration_ms) {
  AdaptiveSummary summary{
      .warmup = settings.warmup,
      .budget_percent = settings.budget_percent.value_or(schedule::kDefaultBudgetPercent),
      .target_ci = settings.target_ci.value_or(schedule::kDefaultTargetCi),
      .iteration_ms = iteration_ms,
      .classes = std::move(classes)};
  for (const schedule::EventClass& one : summary.classes)
    summary.event_count += one.members.size();
  if (iteration_ms) {
    summary.rate = schedule::pair_rate(
        summary.budget_percent, {.iteration_ms = *iteration_ms, .pair_ms = kUsualPairMs}, false);
  }
  summary.most_samples = static_cast<std::int64_t>(summary.event_count) * settings.repeat;
  summary.fewest_samples =
      std::min(static_cast<std::int64_t>(summary.classes.size() * base::kFewestForInterval),
               summary.most_samples);
  summary.iterations = schedule::adaptive_bounds(summary.event_count, summary.classes.size(),
                                                 settings, summary.rate);
  return summary;
}

std::string summary_table(const AdaptiveSummary& summary, bool with_classes) {
  std::string text;
  text +=
      fmt::format("events      {} in {} classes\n", summary.event_count, summary.classes.size());
  text += fmt::format("samples     {} to {}, until medians are known to {:.3g} %\n",
                      summary.fewest_samples, summary.most_samples, summary.target_ci * 100);
  text += fmt::format("pairs       {}", rate_text(summary.rate));
  text += summary.iteration_ms
              ? fmt::format(" ({:.3g} % of it, at {:.3g} us a pair)\n", summary.budget_percent,
                            kUsualPairMs * 1e3)
              : fmt::format(" (assumed: {:.3g} % of an iteration may be more, or less)\n",
                            summary.budget_percent);
  text += fmt::format("iterations  {} to {} ({} of warm-up, measuring from {})\n",
                      summary.iterations.least, summary.iterations.most, summary.warmup,
                      summary.warmup + 1);
  if (summary.iteration_ms) {
    text += fmt::format("time        {} to {} at {:.4g} ms an iteration\n",
                        duration_text(seconds(summary.iterations.least, *summary.iteration_ms)),
                        duration_text(seconds(summary.iterations.most, *summary.iteration_ms)),
                        *summary.iteration_ms);
  }
  if (!with_classes) return text;

  text += "\n events  class\n";
  for (const schedule::EventClass& one : summary.classes)
    text += fmt::format("{:>7}  {}\n", one.members.size(), one.name);
  return text;
}

std::string summary_json(const AdaptiveSummary& summary) {
  using Json = nlohmann::ordered_json;
  Json json{{"policy", "adaptive"},
            {"warmup", summary.warmup},
            {"budget_percent", summary.budget_percent},
            {"target_ci", summary.target_ci},
            {"samples", {summary.fewest_samples, summary.most_samples}},
            {"pairs", summary.rate.pairs},
            {"every_iterations", summary.rate.every},
            {"iterations", {summary.iterations.least, summary.iterations.most}},
            {"first_measured_iteration", summary.warmup + 1},
            {"iteration_time_ms", nullptr},
            {"total_time_s", nullptr},
            {"classes", Json::array()}};
  if (summary.iteration_ms) {
    json["iteration_time_ms"] = *summary.iteration_ms;
    json["total_time_s"] = {seconds(summary.iterations.least, *summary.iteration_ms),
                            seconds(summary.iterations.most, *summary.iteration_ms)};
  }
  for (const schedule::EventClass& one : summary.classes)
    json["classes"].push_back(Json{{"class", one.name}, {"events", one.members.size()}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace inline_prof::cli
