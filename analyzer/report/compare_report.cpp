#include "report/compare_report.hpp"

#include "report/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace inline_prof::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNameWidth = 46;

std::string name_of(const join::ComparedTime& time) {
  std::string name = time.layer;
  if (!time.event.empty()) name += (name.empty() ? "" : " ") + readable_name(time.event);
  if (time.occurrence > 0) name += fmt::format(" #{}", time.occurrence);
  return name.empty() ? "(no layer)" : printable(name);
}

void add_line(std::string& out, const std::string& name, const join::ComparedTime& time) {
  const std::string ratio = time.ratio ? fmt::format("{:.3f}", *time.ratio) : "-";
  const std::string interval =
      time.ratio_ci95
          ? fmt::format("[{:.3f}, {:.3f}]", time.ratio_ci95->lower, time.ratio_ci95->upper)
          : "-";
  const std::string shown = shortened(name, kNameWidth);
  fmt::format_to(std::back_inserter(out), "{}{:{}} {:>11.2f} {:>11.2f} {:>7} {:>16}  {}{}\n", shown,
                 "", kNameWidth - columns(shown), time.before_us.value, time.after_us.value, ratio,
                 interval, change_name(time.change),
                 time.reason.empty() ? "" : fmt::format(" ({})", time.reason));
}

void add_heading(std::string& out, std::string_view what) {
  fmt::format_to(std::back_inserter(out), "\n{:{}} {:>11} {:>11} {:>7} {:>16}\n", what, kNameWidth,
                 "before us", "after us", "ratio", "95 % interval");
}

void add_table(std::string& out, std::string_view what,
               const std::vector<join::ComparedTime>& times, std::size_t top) {
  if (times.empty()) return;
  add_heading(out, what);
  const std::size_t shown = top == 0 ? times.size() : std::min(top, times.size());
  for (std::size_t i = 0; i < shown; ++i)
    add_line(out, name_of(times[i]), times[i]);
  if (shown < times.size()) {
    fmt::format_to(std::back_inserter(out), "{} of {}, the largest first\n", shown, times.size());
  }
}

void add_missing(std::string& out, std::string_view where, const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  if (names.empty()) return;
  fmt::format_to(std::back_inserter(out), "only {:7} {} event{}: ", where, names.size(),
                 names.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    fmt::format_to(std::back_inserter(out), "{}{}", i > 0 ? ", " : "", printable(names[i]));
  out += names.size() > most ? ", ...\n" : "\n";
}

Json interval_json(const std::optional<join::Interval>& interval) {
  return interval ? Json::array({interval->lower, interval->upper}) : Json();
}

Json time_json(const join::ComparedTime& time) {
  Json json;
  json["layer"] = time.layer;
  json["event"] = time.event.empty() ? Json() : Json(time.event);
  json["occurrence"] = time.occurrence;
  json["share_percent"] = time.share_percent ? Json(*time.share_percent) : Json();
  json["before_us"] = time.before_us.value;
  json["before_ci95_us"] = interval_json(time.before_us.ci95);
  json["after_us"] = time.after_us.value;
  json["after_ci95_us"] = interval_json(time.after_us.ci95);
  json["ratio"] = time.ratio ? Json(*time.ratio) : Json();
  json["ratio_ci95"] = interval_json(time.ratio_ci95);
  json["change"] = change_name(time.change);
  json["reason"] = time.reason.empty() ? Json() : Json(time.reason);
  return json;
}

Json times_json(const std::vector<join::ComparedTime>& times) {
  Json json = Json::array();
  for (const join::ComparedTime& time : times)
    json.push_back(time_json(time));
  return json;
}

std::string csv_field(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_interval(const std::optional<join::Interval>& interval) {
  return interval ? fmt::format("{},{}", interval->lower, interval->upper) : ",";
}

void add_csv(std::string& out, std::string_view kind, const join::ComparedTime& time) {
  fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{},{}\n", kind,
                 csv_field(time.layer), csv_field(time.event), time.occurrence,
                 time.share_percent ? fmt::format("{}", *time.share_percent) : "",
                 time.before_us.value, csv_interval(time.before_us.ci95), time.after_us.value,
                 csv_interval(time.after_us.ci95), time.ratio ? fmt::format("{}", *time.ratio) : "",
                 csv_interval(time.ratio_ci95), change_name(time.change), csv_field(time.reason));
}

}  // namespace

std::string compare_table(const join::Comparison& comparison, std::size_t top) {
  std::string out;
  for (const join::Difference& difference : comparison.differences)
    fmt::format_to(std::back_inserter(out), "differ       {}\n", printable(difference.text));
  add_missing(out, "before", comparison.only_before);
  add_missing(out, "after", comparison.only_after);
  fmt::format_to(std::back_inserter(out),
                 "margin       ratios from {:.3f} to {:.3f} are the same\n",
                 1.0 / (1.0 + comparison.margin), 1.0 + comparison.margin);
  if (comparison.iteration) {
    add_heading(out, "");
    add_line(out, "iteration", *comparison.iteration);
  }
  add_table(out, "layers", comparison.layers, top);
  add_table(out, "events", comparison.events, top);
  return out;
}

std::string compare_json(const join::Comparison& comparison) {
  Json json;
  json["schema"] = "inline_prof_compare/1";
  json["margin"] = comparison.margin;
  json["differences"] = Json::array();
  for (const join::Difference& difference : comparison.differences)
    json["differences"].push_back({{"what", difference.what}, {"text", difference.text}});
  json["only_before"] = comparison.only_before;
  json["only_after"] = comparison.only_after;
  json["iteration"] = comparison.iteration ? time_json(*comparison.iteration) : Json();
  json["layers"] = times_json(comparison.layers);
  json["events"] = times_json(comparison.events);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string compare_csv(const join::Comparison& comparison) {
  std::string out =
      "kind,layer,event,occurrence,share_percent,before_us,before_ci95_lower_us,"
      "before_ci95_upper_us,after_us,after_ci95_lower_us,after_ci95_upper_us,ratio,"
      "ratio_ci95_lower,ratio_ci95_upper,change,reason\n";
  if (comparison.iteration) add_csv(out, "iteration", *comparison.iteration);
  for (const join::ComparedTime& time : comparison.layers)
    add_csv(out, "layer", time);
  for (const join::ComparedTime& time : comparison.events)
    add_csv(out, "event", time);
  return out;
}

}  // namespace inline_prof::report
