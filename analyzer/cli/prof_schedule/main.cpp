// prof-schedule: says what a schedule amounts to, and turns a schedule.json or an earlier run's
// prof.json into a prof.schedule.
//
// Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong.
#include "base/command_line.hpp"
#include "base/median.hpp"
#include "cli/common/program.hpp"
#include "cli/common/result_file.hpp"
#include "read/input_error.hpp"
#include "read/read_profile.hpp"
#include "read/text_lines.hpp"
#include "schedule/adaptive.hpp"
#include "schedule/classes.hpp"
#include "schedule/error.hpp"
#include "schedule/read_request.hpp"
#include "schedule/request.hpp"
#include "schedule/schedule_json.hpp"
#include "schedule/select.hpp"
#include "schedule/settings.hpp"

#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace inline_prof::cli {
namespace {

// Summaries of a schedule, for people and for programs.
struct ScheduledEvent {
  schedule::EventKey key{};
  std::int64_t sample_count = 0;
  std::int64_t first_iteration = 0;
  std::int64_t last_iteration = 0;
};

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

double seconds(std::int64_t iterations, double iteration_ms) {
  return static_cast<double>(iterations) * iteration_ms * 1e-3;
}

std::string json_text(const nlohmann::ordered_json& json) {
  // A prof.schedule may hold bytes that are not UTF-8; JSON may not.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
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
  const auto [least, most] = std::ranges::minmax_element(events, {}, &ScheduledEvent::sample_count);
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

// Returns the events in order of their first iteration.
std::vector<ScheduledEvent> events_of(const schedule::SampleList& list) {
  std::vector<ScheduledEvent> events;
  std::map<schedule::EventKey, std::size_t> index_of;
  for (const schedule::Sample& sample : list.samples) {
    const auto [entry, is_new] = index_of.try_emplace(sample.key, events.size());
    if (is_new) events.push_back({.key = sample.key, .first_iteration = sample.iteration});
    ScheduledEvent& event = events[entry->second];
    ++event.sample_count;
    event.last_iteration = sample.iteration;
  }
  return events;
}

std::string summary_table(const schedule::SampleList& list, std::optional<double> iteration_ms,
                          bool with_events) {
  const std::vector<ScheduledEvent> events = events_of(list);
  const std::int64_t last = list.samples.back().iteration;
  std::string text = fmt::format(
      "events      {}\n"
      "samples     {} ({} of each event)\n"
      "iterations  {} ({} of warm-up, measuring from {})\n",
      events.size(), list.samples.size(), samples_text(events), last, list.warmup,
      list.samples.front().iteration);
  if (iteration_ms)
    text += fmt::format("time        {} at {:.4g} ms an iteration\n",
                        duration_text(seconds(last, *iteration_ms)), *iteration_ms);
  if (!with_events) return text;

  std::size_t layer_width = 5;
  for (const ScheduledEvent& event : events)
    layer_width = std::max(layer_width, event.key.layer.size());
  text += fmt::format("\n{:>7} {:>9} {:>9} {:>10}  {:<{}}  event\n", "samples", "first", "last",
                      "occurrence", "layer", layer_width);
  for (const ScheduledEvent& event : events)
    text +=
        fmt::format("{:>7} {:>9} {:>9} {:>10}  {:<{}}  {}\n", event.sample_count,
                    event.first_iteration, event.last_iteration, event.key.occurrence,
                    event.key.layer.empty() ? "-" : event.key.layer, layer_width, event.key.event);
  return text;
}

std::string summary_json(const schedule::SampleList& list, std::optional<double> iteration_ms) {
  using Json = nlohmann::ordered_json;
  const std::int64_t last = list.samples.back().iteration;
  Json json{{"warmup", list.warmup},
            {"samples", list.samples.size()},
            {"iterations", last},
            {"first_measured_iteration", list.samples.front().iteration},
            {"iteration_time_ms", iteration_ms ? Json(*iteration_ms) : Json()},
            {"total_time_s", iteration_ms ? Json(seconds(last, *iteration_ms)) : Json()},
            {"events", Json::array()}};
  for (const ScheduledEvent& event : events_of(list)) {
    json["events"].push_back(Json{{"event", event.key.event},
                                  {"layer", event.key.layer},
                                  {"occurrence", event.key.occurrence},
                                  {"samples", event.sample_count},
                                  {"first_iteration", event.first_iteration},
                                  {"last_iteration", event.last_iteration}});
  }
  return json_text(json);
}

// `kernels` are the events' kernels in an earlier run.  Grids and shapes are only known in a run.
AdaptiveSummary summarise(const std::vector<schedule::EventKey>& keys,
                          const std::vector<std::string>& kernels,
                          const schedule::Settings& settings, std::optional<double> iteration_ms) {
  std::vector<schedule::ClassMember> members;
  members.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    members.push_back({.event = keys[i].event,
                       .layer = keys[i].layer,
                       .kernel = kernels.empty() ? "" : kernels[i]});
  AdaptiveSummary summary{
      .warmup = settings.warmup,
      .budget_percent = settings.budget_percent.value_or(schedule::kDefaultBudgetPercent),
      .target_ci = settings.target_ci.value_or(schedule::kDefaultTargetCi),
      .iteration_ms = iteration_ms,
      .classes = schedule::make_classes(members)};
  for (const schedule::EventClass& one : summary.classes)
    summary.event_count += one.members.size();
  if (iteration_ms)
    summary.rate = schedule::pair_rate(
        summary.budget_percent, {.iteration_ms = *iteration_ms, .pair_ms = kUsualPairMs}, false);
  summary.most_samples = static_cast<std::int64_t>(summary.event_count) * settings.repeat;
  summary.fewest_samples =
      std::min(static_cast<std::int64_t>(summary.classes.size() * base::kFewestForInterval),
               summary.most_samples);
  summary.iterations = schedule::adaptive_bounds(summary.event_count, summary.classes.size(),
                                                 settings, summary.rate);
  return summary;
}

std::string summary_table(const AdaptiveSummary& summary, bool with_classes) {
  std::string text = fmt::format(
      "events      {} in {} classes\n"
      "samples     {} to {}, until medians are known to {:.3g} %\n"
      "pairs       {}",
      summary.event_count, summary.classes.size(), summary.fewest_samples, summary.most_samples,
      summary.target_ci * 100, rate_text(summary.rate));
  text += summary.iteration_ms
              ? fmt::format(" ({:.3g} % of it, at {:.3g} us a pair)\n", summary.budget_percent,
                            kUsualPairMs * 1e3)
              : fmt::format(" (assumed: {:.3g} % of an iteration may be more, or less)\n",
                            summary.budget_percent);
  text += fmt::format("iterations  {} to {} ({} of warm-up, measuring from {})\n",
                      summary.iterations.least, summary.iterations.most, summary.warmup,
                      summary.warmup + 1);
  if (summary.iteration_ms)
    text += fmt::format("time        {} to {} at {:.4g} ms an iteration\n",
                        duration_text(seconds(summary.iterations.least, *summary.iteration_ms)),
                        duration_text(seconds(summary.iterations.most, *summary.iteration_ms)),
                        *summary.iteration_ms);
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
  return json_text(json);
}

using schedule::EventKey;
using schedule::EventNames;
using schedule::MetEvent;
using schedule::Pattern;
using schedule::Policy;
using schedule::Request;
using schedule::SampleList;
using schedule::ScheduleError;
using schedule::Selection;
using schedule::Settings;
using schedule::Spec;

constexpr ProgramTexts kTexts{
    .name = "prof-schedule",
    .description = "Checks a schedule of inline_prof, says how long it takes, and writes it out.",
    .examples =
        "prof-schedule schedule.json                      check it and say how long it takes\n"
        "prof-schedule schedule.json -o prof.schedule     write every iteration's event down\n"
        "prof-schedule --from prof.json -o prof.schedule  propose what an earlier run has met\n"
        "prof-schedule schedule.json --from prof.json     resolve patterns, name what was not met\n"
        "prof-schedule prof.schedule --iteration-time 4.1 --list",
    .end =
        "-o writes the format that the name ends in: .json, .events, otherwise a prof.schedule.\n"
        "Exit status: 0 done, 1 the input cannot be used, 2 the command line is wrong."};

struct Options {
  std::string input;   // empty: everything in `from`
  std::string from;    // empty: no earlier run
  std::string output;  // empty: none
  std::string format = "table";
  bool list = false;
  bool force = false;
  schedule::Choices choices;
  std::optional<double> iteration_ms;
};

// The events of an earlier run, for --from: what can be asked for, and how long an iteration takes.
struct PriorRun {
  std::vector<schedule::MetEvent> met;   // in order of first appearance, over all devices
  std::optional<double> iteration_ms;    // median
  std::size_t not_measurable_count = 0;  // events that the run could not time: not among `met`
};

// A real file of 512 events with 50 samples each has 1.2 MB.
constexpr std::size_t kMaxProfBytes = std::size_t{512} << 20U;

// Takes a prof.json of every generation.  Throws schedule::ScheduleError if it cannot be opened,
// read::InputError if it is no profile.
PriorRun read_prior_run(const std::string& path) {
  read::Profile profile =
      read::read_profile(schedule::read_text(path, schedule::Accept::kAnyStream, kMaxProfBytes),
                         path, read::Wanted::kWithoutOffsets);
  PriorRun run;
  if (!profile.iter_time_ms.empty())
    run.iteration_ms = base::median(std::move(profile.iter_time_ms));
  std::ranges::stable_sort(profile.events, {}, &read::Event::start_index);
  std::set<std::tuple<std::string, std::string, std::int64_t>> seen;  // other devices repeat it
  for (const read::Event& event : profile.events) {
    if (event.occurrence > std::numeric_limits<int>::max())
      throw read::InputError(
          fmt::format("{}: {}: expected an occurrence that fits into 32 bits, "
                      "found {}",
                      path, event.name, event.occurrence));
    if (event.has_flag(format::kFlagNotMeasurable)) {
      ++run.not_measurable_count;
    } else if (seen.emplace(event.name, event.layer, event.occurrence).second) {
      run.met.push_back({.event = event.name,
                         .layer = event.layer,
                         .occurrence = static_cast<int>(event.occurrence),
                         .kernel = event.kernel_name});
    }
  }
  return run;
}

void say(const std::string& words) {
  fmt::print(stderr, "prof-schedule: {}\n", words);
}

void say_all(const std::vector<std::string>& sentences) {
  std::ranges::for_each(sentences, say);
}

// Returns the listed events of a schedule.json if no run is known.  Only patterns that switch off,
// and by name, can be applied to them.
std::vector<EventKey> events_without_a_run(const Spec& spec, const std::string& file) {
  std::vector<MetEvent> listed;
  for (const EventKey& key : schedule::listed_events(spec))
    listed.push_back({.event = key.event, .layer = key.layer, .occurrence = key.occurrence});
  if (listed.empty())
    throw ScheduleError(file, "layers",
                        "no event is named, and what patterns find and what a run meets is only "
                        "known after a run, expected --from prof.json");
  Spec applicable = spec;
  const auto left_out = std::erase_if(applicable.patterns, [](const Pattern& pattern) {
    return pattern.enabled || !pattern.kernel.empty();
  });
  if (left_out != 0)
    say(
        fmt::format("{}: {} of the patterns left out: what they find is only known after a run, "
                    "see --from",
                    file, left_out));
  std::vector<EventKey> keys;
  const Selection selection = schedule::select(applicable, listed);
  for (const std::size_t index : selection.chosen)
    keys.push_back({listed[index].event, listed[index].layer, listed[index].occurrence});
  return keys;
}

// Returns the requested events that an earlier run has, and puts their kernels' names into
// `kernels`.
std::vector<EventKey> events_of_a_run(const Request& request, const PriorRun& run,
                                      std::vector<std::string>& kernels) {
  const Selection selection = schedule::select(request, run.met);
  say_all(selection.warnings);
  for (const std::string& phrase : selection.never_met)
    say("not met: " + phrase);
  std::vector<EventKey> keys;
  for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
    const MetEvent& met = run.met[selection.chosen[i]];
    keys.push_back({met.event, selection.layers[i], met.occurrence});
    kernels.push_back(met.kernel);
  }
  return keys;
}

// Makes a schedule.json that asks for `keys`, layer by layer.
Spec spec_of(const std::vector<EventKey>& keys, const Settings& settings) {
  Spec spec;
  spec.warmup = settings.warmup;
  spec.repeat = settings.repeat;
  spec.mode = settings.mode;
  spec.policy = settings.policy;
  spec.seed = settings.seed;
  spec.budget_percent = settings.budget_percent;
  spec.target_ci = settings.target_ci;
  std::map<std::string, std::size_t> index_of;
  for (const EventKey& key : keys) {
    const auto [entry, is_new] = index_of.try_emplace(key.layer, spec.layers.size());
    if (is_new) spec.layers.push_back({.layer = key.layer});
    spec.layers[entry->second].events.push_back({key.event, key.occurrence});
  }
  return spec;
}

EventNames names_of(const std::vector<EventKey>& keys) {
  EventNames events;
  std::set<std::string> seen;
  for (const EventKey& key : keys) {
    if (seen.insert(key.event).second) events.names.push_back(key.event);
  }
  return events;
}

// A request with everything resolved that can be.
struct Resolved {
  std::vector<EventKey> keys;      // empty for a prof.schedule, whose samples stand as they are
  std::optional<SampleList> list;  // empty for a prof.events without a run, and for adaptive
  std::optional<AdaptiveSummary> adaptive;
  std::size_t name_count = 0;  // of that prof.events
  Settings settings;
  std::optional<double> iteration_ms;
};

Resolved resolve(const Options& options) {
  Request request;
  if (!options.input.empty())
    request = schedule::read_request(options.input, schedule::Accept::kAnyStream);
  const auto* const spec = std::get_if<Spec>(&request);
  if (spec != nullptr) say_all(spec->warnings);

  Resolved resolved;
  resolved.settings = schedule::settle(options.choices, request);
  const bool is_policy_asked = options.choices.policy || (spec != nullptr && spec->policy);
  // A prof.schedule stays as the original wrote it.
  const bool to_schedule = !options.output.empty() && !options.output.ends_with(".json") &&
                           !options.output.ends_with(".events");
  if (!is_policy_asked && to_schedule) resolved.settings.policy = Policy::kInOrder;
  say_all(resolved.settings.warnings);
  resolved.iteration_ms = options.iteration_ms;

  std::vector<std::string> kernels;
  if (!options.from.empty()) {
    const PriorRun run = read_prior_run(options.from);
    if (run.not_measurable_count != 0)
      say(fmt::format("{}: {} events left out that could not be measured", options.from,
                      run.not_measurable_count));
    if (!resolved.iteration_ms) resolved.iteration_ms = run.iteration_ms;
    resolved.keys = events_of_a_run(request, run, kernels);
    if (resolved.keys.empty())
      throw ScheduleError(options.from, "events",
                          "none that was asked for, expected at least one to measure");
  } else if (spec != nullptr) {
    resolved.keys = events_without_a_run(*spec, options.input);
  }

  if (const auto* list = std::get_if<SampleList>(&request)) {
    resolved.list = *list;
    resolved.keys.clear();
  } else if (!resolved.keys.empty() && resolved.settings.policy == Policy::kAdaptive) {
    resolved.adaptive = summarise(resolved.keys, kernels, resolved.settings, resolved.iteration_ms);
  } else if (!resolved.keys.empty()) {
    resolved.list = schedule::expand(resolved.keys, resolved.settings);
  } else if (const auto* events = std::get_if<EventNames>(&request)) {
    resolved.name_count = events->names.size();
  } else {
    throw ScheduleError(options.input, "patterns",
                        "every event is switched off, expected at least one to measure");
  }
  return resolved;
}

std::string schedule_text(const Options& options, const Resolved& resolved) {
  const bool to_json = options.output.ends_with(".json");
  const bool to_events = options.output.ends_with(".events");
  if (resolved.adaptive && !to_json && !to_events)
    throw UsageError(
        "policy adaptive chooses as it measures and cannot stand in a prof.schedule: give -o a "
        "name that ends in .json");
  if (!resolved.list && !resolved.adaptive)
    throw UsageError("a prof.events alone names no occurrences: -o also needs --from prof.json");
  if ((to_json || to_events) && resolved.keys.empty())
    throw UsageError("a prof.schedule can only be written as a prof.schedule");
  if (to_json) return schedule::write_schedule_json(spec_of(resolved.keys, resolved.settings));
  if (to_events) return schedule::write_prof_events(names_of(resolved.keys));
  return schedule::write_prof_schedule(*resolved.list);
}

std::string summary_text(const Options& options, const Resolved& resolved) {
  const bool as_json = options.format == "json";
  if (resolved.adaptive)
    return as_json ? summary_json(*resolved.adaptive)
                   : summary_table(*resolved.adaptive, options.list);
  if (!resolved.list)
    return as_json ? fmt::format("{{\n  \"names\": {}\n}}\n", resolved.name_count)
                   : fmt::format("names       {}\n", resolved.name_count);
  return as_json ? summary_json(*resolved.list, resolved.iteration_ms)
                 : summary_table(*resolved.list, resolved.iteration_ms, options.list);
}

void run(const Options& options) {
  const Resolved resolved = resolve(options);
  const std::string summary = summary_text(options, resolved);
  if (!options.output.empty())
    write_result(options.output, schedule_text(options, resolved), options.force);
  if (options.output == "-") {
    std::fputs(summary.c_str(), stderr);  // standard output holds the schedule
  } else {
    write_result("-", summary, false);
  }
}

// CLI11 2.1 takes -1 for the largest unsigned number.
std::uint64_t seed_of(const std::string& text) {
  const auto seed = read::number_of<std::uint64_t>(text);
  if (!seed)
    throw UsageError("--seed: \"" + text + "\", expected an integer from 0 to " +
                     std::to_string(std::numeric_limits<std::uint64_t>::max()));
  return *seed;
}

void add_options(Command& app, Options& options) {
  app.add_option("INPUT", options.input,
                 "schedule.json, prof.schedule or prof.events; - reads standard input");
  app.add_option("--from", options.from,
                 "prof.json of an earlier run: the events that can be asked for");
  app.add_option("-o,--output", options.output, "write the schedule here; - is standard output");
  app.add_flag("--force", options.force, "replace an existing file");
  app.add_option("--warmup", options.choices.warmup, "iterations before the first sample [10]")
      .check(between(std::int64_t{0}, schedule::kMaxWarmup));
  app.add_option("--repeat", options.choices.repeat, "samples of each event [50]")
      .check(between(std::int64_t{1}, schedule::kMaxRepeat));
  app.add_text(
         "--policy",
         [&options](const std::string& name) {
           options.choices.policy = schedule::policy_from_name(name);
         },
         "in_order, interleaved or adaptive [interleaved; in_order in a prof.schedule]")
      .check(one_of({"in_order", "interleaved", "adaptive"}));
  app.add_text(
      "--budget",
      [&options](const std::string& text) {
        options.choices.budget_percent = schedule::budget_percent_from(text);
        if (!options.choices.budget_percent)
          throw UsageError("--budget: \"" + text + "\", expected 0.1% or 0.001, up to 100%");
      },
      "of an iteration's time, for adaptive: 0.1% or 0.001 [0.1%]");
  app.add_option("--target-ci", options.choices.target_ci,
                 "half width of a class's 95 % interval over its median, for adaptive [0.03]")
      .check(between(1e-6, 1.0 - 1e-6));
  app.add_text(
      "--seed", [&options](const std::string& text) { options.choices.seed = seed_of(text); },
      "of a shuffled order, an integer from 0 [1]");
  app.add_option("--iteration-time", options.iteration_ms,
                 "milliseconds an iteration takes [median of --from]")
      .check(positive_number());
  app.add_option("--format", options.format, "of the summary: table or json")
      .check(one_of({"table", "json"}));
  app.add_flag("--list", options.list, "one line for each event, or class, in the table");
}

void declare(Command& program) {
  const auto options = std::make_shared<Options>();
  add_options(program, *options);
  program.on_end([options] {
    if (options->input.empty() && options->from.empty())
      throw UsageError("no input: give a schedule, --from prof.json, or both");
    if (options->input == "-" && options->from == "-")
      throw UsageError("only one of INPUT and --from can be standard input");
    run(*options);
  });
}

}  // namespace
}  // namespace inline_prof::cli

int main(int argc, char** argv) {
  using namespace inline_prof::cli;
  return run_program(kTexts, {}, argc, argv, declare);
}
