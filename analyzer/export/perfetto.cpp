#include "base/text.hpp"
#include "export/formats.hpp"
#include "export/values.hpp"
#include "join/timeline_layout.hpp"
#include "read/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::exports {
namespace {

std::string device_title(const join::Run& run, std::int64_t device_id) {
  std::string name = run.profile.host_name.empty() ? run.profile.file : run.profile.host_name;
  if (run.profile.rank) name += fmt::format(", rank {}", *run.profile.rank);
  name += fmt::format(", device {}", device_id);
  const std::string phase = read::phase_name(run.profile);
  return phase.empty() ? name : name + ", " + phase;
}

// Lanes count from 0.
std::string lane_title(std::int64_t stream_index, std::int64_t lane) {
  return lane == 0 ? fmt::format("stream {}", stream_index)
                   : fmt::format("stream {}, level {}", stream_index, lane + 1);
}

Json name_json(const char* what, std::int64_t process, std::int64_t thread,
               const std::string& name) {
  return {
      {"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

Json bar_json(const join::Row& row, double start_us, double length_us, std::int64_t process,
              std::int64_t thread) {
  Json json;
  json["name"] = base::readable_name(row.event.str());
  json["cat"] = row.layer.empty() ? "event" : row.layer.str();
  json["ph"] = "X";
  json["ts"] = start_us;
  json["dur"] = length_us;
  json["pid"] = process;
  json["tid"] = thread;
  return json;
}

class TraceWriter {
 public:
  explicit TraceWriter(const join::Analysis& analysis) : analysis_(analysis) {}

  void add(const join::TimelineTrack& track) {
    const auto [it, is_new] = process_of_.try_emplace(
        std::pair(track.run, track.device_id), static_cast<std::int64_t>(process_of_.size()));
    process_ = it->second;
    if (is_new)
      events_.push_back(name_json("process_name", process_, 0,
                                  device_title(analysis_.runs[track.run], track.device_id)));
    const std::int64_t first = next_thread_;
    const auto lanes = static_cast<std::int64_t>(track.lanes);
    next_thread_ += 2 * lanes;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::string name = lane_title(track.stream_index, lane);
      events_.push_back(name_json("thread_name", process_, first + lane, name));
      events_.push_back(
          name_json("thread_name", process_, first + lanes + lane, name + ", predicted"));
    }
    for (const join::TimelineBar& bar : track.bars) {
      const join::Row& row = analysis_.rows[bar.row];
      const std::int64_t thread = first + static_cast<std::int64_t>(bar.lane);
      Json measured = bar_json(row, bar.start_us, bar.length_us, process_, thread);
      measured["args"] = {{"layer", row.layer},
                          {"verdict", join::verdict_text(row)},
                          {"calls", row.calls},
                          {"samples", row.samples},
                          {"start_measured", bar.has_place}};
      const std::string phase = read::phase_name(analysis_.runs[track.run].profile);
      if (!phase.empty()) measured["args"]["phase"] = phase;
      events_.push_back(std::move(measured));
      if (!row.predicted_us) continue;
      Json predicted = bar_json(row, bar.start_us, *row.predicted_us, process_, thread + lanes);
      predicted["args"] = {{"layer", row.layer}, {"model", row.model}, {"bound", row.bound}};
      events_.push_back(std::move(predicted));
    }
  }

  [[nodiscard]] std::string text() && {
    Json json;
    json["traceEvents"] = std::move(events_);
    json["displayTimeUnit"] = "ns";
    json["otherData"] = {{"what", "a mean iteration, put together from medians"}};
    for (const join::Run& run : analysis_.runs) {
      if (run.profile.phases.size() < 2) continue;
      json["otherData"]["phase"] = read::shown_phase(run.profile);
      break;
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  const join::Analysis& analysis_;
  Json events_ = Json::array();
  std::map<std::pair<std::size_t, std::int64_t>, std::int64_t> process_of_;
  std::int64_t process_ = 0;
  std::int64_t next_thread_ = 1;
};

}  // namespace

std::string perfetto_report(const join::Analysis& analysis) {
  TraceWriter writer(analysis);
  for (const join::TimelineTrack& track : join::timeline_layout(analysis))
    writer.add(track);
  return std::move(writer).text();
}

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
  for (const read::Profile& profile : profiles)
    results.push_back({{"host_name", profile.host_name},
                       {"avg_iter_time_ms", mean_or_null(profile.iter_time_ms)},
                       {"timeline", timeline(profile)}});
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
