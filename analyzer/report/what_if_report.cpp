#include "report/what_if_report.hpp"

#include "join/what_if_times.hpp"
#include "report/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace inline_prof::report {
namespace {

using Json = nlohmann::ordered_json;
using model::LongestPath;
using model::OtherTime;

constexpr std::size_t kMostNames = 20;  // of the longest path, for a person

}  // namespace

std::string what_if_json(const LongestPath& path,
                         std::optional<std::span<const OtherTime>> others) {
  const join::WhatIfTimes times = join::what_if_times(path, others);
  const model::Timetable& table = times.table;
  Json json{{"iteration_us", table.iteration_us}};
  if (others) {
    json["changed_works"] = others->size();
    json["changed_iteration_us"] = *times.changed_us;
    json["saved_us"] = *times.saved_us;
  }
  json["longest_path"] = table.longest_path;
  json["works"] = Json::array();
  for (std::size_t i = 0; i < table.start_us.size(); ++i) {
    const read::Work& work = path.graph().works[i];
    Json own{{"name", work.name},
             {"time_us", work.time_us},
             {"start_us", table.start_us[i]},
             {"end_us", table.end_us[i]},
             {"slack_us", table.slack_us[i]}};
    if (work.predicted_us) own["predicted_us"] = *work.predicted_us;
    json["works"].push_back(std::move(own));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::string what_if_text(const LongestPath& path,
                         std::optional<std::span<const OtherTime>> others) {
  const join::WhatIfTimes times = join::what_if_times(path, others);
  std::string out = fmt::format("iteration           {:12.2f} us\n", times.table.iteration_us);
  if (others) {
    fmt::format_to(std::back_inserter(out),
                   "with the change     {:12.2f} us, {} works take another time\n"
                   "saved               {:12.2f} us\n",
                   *times.changed_us, others->size(), *times.saved_us);
  }
  fmt::format_to(std::back_inserter(out),
                 "\nlongest path: {} of {} works, {:.2f} us; the rest of it is waiting\n",
                 times.table.longest_path.size(), path.graph().works.size(), times.path_us);
  for (std::size_t i = 0; i < std::min(kMostNames, times.path.size()); ++i) {
    const join::PathPart& part = times.path[i];
    fmt::format_to(std::back_inserter(out), "{:12.2f} us {:5} x  {}\n", part.time_us, part.works,
                   printable(part.name));
  }
  if (times.path.size() > kMostNames) {
    fmt::format_to(std::back_inserter(out), "and {} names more\n", times.path.size() - kMostNames);
  }
  return out;
}

}  // namespace inline_prof::report
