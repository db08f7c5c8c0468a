// Histories as JSON, which the page shows, too, and as counters for Perfetto.
#include "base/median.hpp"
#include "export/formats.hpp"
#include "export/values.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace inline_prof::exports {
namespace {

// Five digits: a bin's median is known to 1 %.
Json number(double value) {
  if (!std::isfinite(value)) return {};
  return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
}

Json series_json(const join::Series& series) {
  return list_of(series, number);
}

// Returns the newest reading of each column: the page's lines need no more.
Json readings_json(const join::WatchedRun& run,
                   const std::vector<watch::MachineReading>& readings) {
  Json json = Json::object();
  for (const watch::MachineColumn& facts : watch::kMachineColumns) {
    Json values = Json::array();
    bool is_known = false;
    auto reading = readings.begin();
    for (const join::TimeColumn& time : run.columns) {
      double newest = watch::kUnknown;
      for (; reading != readings.end() && reading->time_s <= time.end_s; ++reading) {
        const double value = (*reading).*facts.value;
        if (!std::isnan(value)) newest = value;
      }
      is_known = is_known || !std::isnan(newest);
      values.push_back(number(newest));
    }
    if (is_known) json[facts.key] = std::move(values);
  }
  return json;
}

Json change_json(const join::WatchedRun& run, const join::RunChange& change) {
  return {{"text", report::change_words(run, change)},
          {"began_s", change.began_s},
          {"began_iteration", change.began_iteration},
          {"layers", change.layers},
          {"ranks", change.ranks},
          {"waiting", change.waiting},
          {"before_us", change.before_us},
          {"after_us", change.after_us},
          {"ratio", change.ratio},
          {"ratio_ci95", {change.ratio_ci95.lower, change.ratio_ci95.upper}},
          {"reason", or_null(change.reason)}};
}

Json counter_json(const std::string& name, std::size_t process, double time_us, double value) {
  return {{"name", name}, {"ph", "C"},     {"pid", process},
          {"tid", 0},     {"ts", time_us}, {"args", {{"value", value}}}};
}

}  // namespace

void add_watched(Json& json, const std::optional<join::WatchedRun>& run) {
  static const join::WatchedRun not_watched;
  const join::WatchedRun& of = run ? *run : not_watched;
  json["changes"] =
      list_of(of.changes, [&](const join::RunChange& change) { return change_json(of, change); });
  json["recurrences"] = list_of(of.recurrences, [](const join::Recurrence& one) -> Json {
    return {{"cause", one.cause},
            {"what", one.what},
            {"evidence", one.evidence},
            {"ranks", one.ranks},
            {"ratio", one.ratio}};
  });
}

std::string history_json(const join::WatchedRun& run) {
  Json json;
  json["schema"] = "inline_prof_history/1";
  json["watched"] = report::watched_words(run);
  json["until_s"] = run.until_s;
  json["budget"] = run.budget;
  json["pairs"] = run.pairs;
  json["cost_share"] = or_null(run.cost_share);
  add_watched(json, run);
  const auto column = [&](auto member) {
    return list_of(run.columns, [&](const join::TimeColumn& time) { return time.*member; });
  };
  json["columns"] = {{"start_s", column(&join::TimeColumn::start_s)},
                     {"end_s", column(&join::TimeColumn::end_s)},
                     {"first_iteration", column(&join::TimeColumn::first_iteration)},
                     {"last_iteration", column(&join::TimeColumn::last_iteration)}};
  json["layers"] = list_of(run.layers, [](const join::WatchedLayer& layer) -> Json {
    return {{"layer", layer.name.str()}, {"us", series_json(layer.us)}};
  });
  json["ranks"] = list_of(run.ranks, [&](const join::WatchedRank& rank) -> Json {
    const auto i = static_cast<std::size_t>(&rank - run.ranks.data());
    return {{"name", join::name_of(run, i)},
            {"host", rank.host},
            {"rank", or_null(rank.rank)},
            {"device_id", rank.device_id},
            {"file", rank.file},
            {"event_list", rank.event_list},
            {"processes", rank.processes},
            {"iteration_us", series_json(rank.iteration_us)},
            {"own_us", series_json(rank.own_us)},
            {"machine", readings_json(run, rank.machine)}};
  });
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string history_perfetto(const join::WatchedRun& run) {
  Json events = Json::array();
  const double start_s = run.columns.empty() ? 0.0 : run.columns.front().start_s;
  const auto time_us = [&](double seconds) { return (seconds - start_s) * 1e6; };
  const auto name_process = [&](std::size_t process, const std::string& name) {
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", process},
                      {"tid", 0},
                      {"args", {{"name", name}}}});
  };
  const auto add = [&](const std::string& name, std::size_t process, const join::Series& series) {
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (!std::isnan(series[i]))
        events.push_back(
            counter_json(name, process, time_us(run.columns[i].start_s), double{series[i]}));
    }
  };
  name_process(0, "layers, us in an iteration, median over ranks");
  for (const join::WatchedLayer& layer : run.layers)
    add(layer.name.str(), 0, layer.us);
  for (const join::RunChange& change : run.changes)
    events.push_back({{"name", report::change_words(run, change)},
                      {"ph", "i"},
                      {"s", "g"},
                      {"pid", 0},
                      {"tid", 0},
                      {"ts", time_us(change.began_s)}});
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const join::WatchedRank& rank = run.ranks[i];
    name_process(i + 1, fmt::format("{}, {}", join::name_of(run, i), rank.host));
    add("iteration_us", i + 1, rank.iteration_us);
    add("own_us", i + 1, rank.own_us);
    for (const watch::MachineReading& reading : rank.machine) {
      for (const watch::MachineColumn& facts : watch::kMachineColumns) {
        const double value = reading.*facts.value;
        if (!std::isnan(value))
          events.push_back(counter_json(facts.key, i + 1, time_us(reading.time_s), value));
      }
    }
  }
  const Json json{{"traceEvents", std::move(events)},
                  {"displayTimeUnit", "ms"},
                  {"otherData", {{"what", report::watched_words(run)}}}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace inline_prof::exports
