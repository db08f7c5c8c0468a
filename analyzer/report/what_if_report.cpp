#include "report/what_if_report.hpp"

#include "report/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace inline_prof::report {
namespace {

using Json = nlohmann::ordered_json;
using model::LongestPath;
using model::OtherTime;
using model::Timetable;

constexpr std::size_t kMostNames = 20;  // of the longest path, for a person

}  // namespace

std::string what_if_json(const LongestPath& path,
                         std::optional<std::span<const OtherTime>> others) {
  const Timetable table = path.timetable();
  Json json{{"iteration_us", table.iteration_us}};
  if (others) {
    const double changed_us = path.iteration_us(*others);
    json["changed_works"] = others->size();
    json["changed_iteration_us"] = changed_us;
    json["saved_us"] = table.iteration_us - changed_us;
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
  const Timetable table = path.timetable();
  std::string out = fmt::format("iteration           {:12.2f} us\n", table.iteration_us);
  if (others) {
    const double changed_us = path.iteration_us(*others);
    fmt::format_to(std::back_inserter(out),
                   "with the change     {:12.2f} us, {} works take another time\n"
                   "saved               {:12.2f} us\n",
                   changed_us, others->size(), table.iteration_us - changed_us);
  }

  std::map<std::string, std::pair<double, std::size_t>> on_path;  // time and number, by name
  double work_us = 0.0;
  for (const std::size_t i : table.longest_path) {
    const read::Work& work = path.graph().works[i];
    auto& [time_us, count] = on_path[work.name];
    time_us += work.time_us;
    ++count;
    work_us += work.time_us;
  }
  std::vector<std::pair<std::string, std::pair<double, std::size_t>>> largest(on_path.begin(),
                                                                              on_path.end());
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  fmt::format_to(std::back_inserter(out),
                 "\nlongest path: {} of {} works, {:.2f} us; the rest of it is waiting\n",
                 table.longest_path.size(), path.graph().works.size(), work_us);
  for (std::size_t i = 0; i < std::min(kMostNames, largest.size()); ++i) {
    const auto& [time_us, count] = largest[i].second;
    fmt::format_to(std::back_inserter(out), "{:12.2f} us {:5} x  {}\n", time_us, count,
                   printable(largest[i].first));
  }
  if (largest.size() > kMostNames) {
    fmt::format_to(std::back_inserter(out), "and {} names more\n", largest.size() - kMostNames);
  }
  return out;
}

}  // namespace inline_prof::report
