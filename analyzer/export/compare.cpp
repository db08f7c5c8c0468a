#include "export/compare.hpp"

#include "base/csv.hpp"
#include "export/csv.hpp"
#include "export/json_values.hpp"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace inline_prof::exports {
namespace {

Json time_json(const join::ComparedTime& time) {
  Json json;
  json["layer"] = time.layer;
  json["event"] = or_null(time.event);
  json["occurrence"] = time.occurrence;
  json["share_percent"] = or_null(time.share_percent);
  json["before_us"] = time.before_us.value;
  json["before_ci95_us"] = or_null(time.before_us.ci95);
  json["after_us"] = time.after_us.value;
  json["after_ci95_us"] = or_null(time.after_us.ci95);
  json["ratio"] = or_null(time.ratio);
  json["ratio_ci95"] = or_null(time.ratio_ci95);
  json["change"] = change_name(time.change);
  json["reason"] = or_null(time.reason);
  return json;
}

Json times_json(const std::vector<join::ComparedTime>& times) {
  Json json = Json::array();
  for (const join::ComparedTime& time : times)
    json.push_back(time_json(time));
  return json;
}

void add_csv(std::string& out, std::string_view kind, const join::ComparedTime& time) {
  fmt::format_to(
      std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{},{}\n", kind,
      base::csv_cell(time.layer), base::csv_cell(time.event), time.occurrence,
      csv_number(time.share_percent), time.before_us.value, csv_interval(time.before_us.ci95),
      time.after_us.value, csv_interval(time.after_us.ci95), csv_number(time.ratio),
      csv_interval(time.ratio_ci95), change_name(time.change), base::csv_cell(time.reason));
}

}  // namespace

std::string compare_json(const join::Comparison& comparison) {
  Json json;
  json["schema"] = "inline_prof_compare/1";
  json["margin"] = comparison.margin;
  json["phase_before"] = or_null(comparison.phase_before);
  json["phase_after"] = or_null(comparison.phase_after);
  json["differences"] = Json::array();
  for (const join::Difference& difference : comparison.differences)
    json["differences"].push_back({{"what", difference.what}, {"text", difference.text}});
  json["only_before"] = comparison.only_before;
  json["only_after"] = comparison.only_after;
  json["iteration"] = comparison.iteration ? time_json(*comparison.iteration) : Json();
  json["layers"] = times_json(comparison.layers);
  json["events"] = times_json(comparison.events);
  return document(json);
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

}  // namespace inline_prof::exports
