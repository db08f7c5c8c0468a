#include "export/formats.hpp"
#include "export/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace inline_prof::exports {
namespace {

// Sums from front to back like the original: another order would differ in the last bits.
Json mean_or_null(const std::vector<double>& values) {
  double sum = 0.0;
  std::size_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;  // an offset that is not known
    sum += value;
    ++count;
  }
  return count == 0 ? Json() : Json(sum / static_cast<double>(count));
}

Json timeline(const read::Profile& profile) {
  std::vector<const read::Event*> events;
  for (const read::Event& event : profile.events) {
    if (!event.measured_ms.empty()) events.push_back(&event);
  }
  std::ranges::stable_sort(
      events, [](const auto* a, const auto* b) { return a->start_index < b->start_index; });

  std::map<std::string, std::size_t> stream_numbers;
  Json devices = Json::object();
  for (const read::Event* event : events) {
    const std::size_t number =
        stream_numbers.try_emplace(event->stream, stream_numbers.size()).first->second;
    Json entry;
    entry["name"] = event->name;
    entry["start_index"] = event->start_index;
    entry["end_index"] = event->end_index;
    entry["label"] = event->layer + "." + event->name;
    entry["avg_measured_time_ms"] = mean_or_null(event->measured_ms);
    entry["avg_iter_start_to_event_start_time_ms"] = mean_or_null(event->offsets_ms);
    devices[fmt::format("device_{}", event->device_id)][fmt::format("stream_{}", number)].push_back(
        std::move(entry));
  }
  return devices;
}

}  // namespace

std::string original_report(std::span<const read::Profile> profiles) {
  Json results = Json::array();
  for (const read::Profile& profile : profiles) {
    results.push_back({{"host_name", profile.host_name},
                       {"avg_iter_time_ms", mean_or_null(profile.iter_time_ms)},
                       {"timeline", timeline(profile)}});
  }
  return results.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

namespace {

Json prediction_json(const join::Row& row, double duration_us) {
  Json json;
  if (row.predicted_us) {
    json["predicted_us"] = *row.predicted_us;
    if (row.predicted_ci90_us) {
      json["predicted_lower_us"] = row.predicted_ci90_us->lower;
      json["predicted_upper_us"] = row.predicted_ci90_us->upper;
    }
    // This launch against the prediction; the verdict is of the median over the steps.
    if (*row.predicted_us > 0) json["ratio"] = duration_us / *row.predicted_us;
    json["limit"] = row.bound;
    json["model"] = row.model;
  }
  const std::string verdict = join::verdict_text(row);
  json["verdict"] = verdict.substr(0, verdict.find(": "));  // the reason has a key of its own
  if (row.attainable_us) json["attainable_us"] = *row.attainable_us;
  const std::string& reason = row.predicted_us ? row.remedy.str() : row.reason.str();
  if (!reason.empty()) json["reason"] = reason;
  return json;
}

}  // namespace

std::string augmented_trace(const read::torch_trace::TracedWorks& trace,
                            const join::Analysis& analysis) {
  constexpr std::size_t usual_bytes = 200;  // of what a work gets
  std::string out;
  out.reserve(trace.text.size() + usual_bytes * trace.works.size());
  std::size_t written = 0;
  for (const read::torch_trace::TracedWork& work : trace.works) {
    const Json json = work.event && *work.event < analysis.rows.size()
                          ? prediction_json(analysis.rows[*work.event], work.duration_us)
                          : Json{{"verdict", "no prediction"},
                                 {"reason", "outside of the steps, or in less than half of them"}};
    out.append(trace.text, written, work.args_end - written);
    written = work.args_end;
    const std::string members = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (work.has_args) out += ", ";
    out.append(members, 1, members.size() - 2);  // without braces
  }
  out.append(trace.text, written);
  return out;
}

}  // namespace inline_prof::exports
