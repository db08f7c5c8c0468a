#include "report/iteration_report.hpp"

#include "report/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace inline_prof::report {
namespace {

// The effect of a change, beside the iteration as it was.

// All tasks of one name on the longest path.
struct PathPart {
  std::string name;
  double time_us = 0.0;
  std::size_t tasks = 0;
};

struct WhatIfTimes {
  model::Timetable table;
  std::optional<double> changed_us;  // the iteration, if the tasks took the other times
  std::optional<double> saved_us;
  std::vector<PathPart> path;  // those that take most first
  double path_us = 0.0;        // of its tasks; the rest is waiting
};

// `others` is what was asked; empty: nothing was.
WhatIfTimes what_if_times(const model::LongestPath& path,
                          std::optional<std::span<const model::OtherTime>> others) {
  WhatIfTimes times;
  times.table = path.timetable();
  if (others) {
    times.changed_us = path.iteration_us(*others);
    times.saved_us = times.table.iteration_us - *times.changed_us;
  }
  std::map<std::string, PathPart> parts;
  for (const std::size_t i : times.table.longest_path) {
    const read::Task& task = path.graph().tasks[i];
    PathPart& part = parts[task.name];
    part.name = task.name;
    part.time_us += task.time_us;
    ++part.tasks;
    times.path_us += task.time_us;
  }
  for (const auto& [name, part] : parts)
    times.path.push_back(part);
  std::ranges::stable_sort(times.path, std::greater(), &PathPart::time_us);
  return times;
}

using Json = nlohmann::ordered_json;
using model::LongestPath;
using model::OtherTime;
using model::TraceIteration;
using model::WalkResult;

constexpr std::size_t kMostNames = 20;  // of the longest path, for a person

std::string dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

Json spread(const model::Spread& spread) {
  return Json::array({spread.mean, spread.std, spread.count});
}

Json by_shape(const model::ByShape& spreads) {
  Json json = Json::object();
  for (const auto& [name, shapes] : spreads) {
    for (const auto& [shape, value] : shapes)
      json[name][shape] = spread(value);
  }
  return json;
}

Json walk_object(const WalkResult& walk) {
  if (!walk.error.empty()) return {{"error", walk.error}, {"reason", walk.reason}};
  return {{"e2e_time", walk.end_to_end},
          {"gpu_active_time", walk.gpu_active},
          {"baseline_e2e_time", walk.busiest_stream},
          {"eg_comm", walk.exposed_collective_share},
          {"idle_time", walk.idle()},
          {"final",
           {{"cpu_time", walk.host},
            {"unoverlapped_comm", walk.exposed_collective},
            {"prediction_compute", walk.compute_stream},
            {"prediction_comm", walk.collective_stream},
            {"baseline_compute", walk.compute_busy},
            {"baseline_comm", walk.collective_busy},
            {"active", walk.gpu_active}}}};
}

Json operators(const TraceIteration& iteration) {
  Json list = Json::array();
  for (std::size_t i = 0; i < iteration.predicted.size(); ++i) {
    const model::OperatorKernels& kernels = iteration.predicted[i];
    if (!kernels.is_known) continue;
    Json json{{"op", iteration.tree.event(iteration.tree.operators[i]).name},
              {"kernels_us", kernels.times_us}};
    if (!kernels.error.empty()) json["error"] = kernels.error;
    if (!kernels.reason.empty()) json["reason"] = kernels.reason;
    list.push_back(std::move(json));
  }
  return list;
}

Json stream_times(const model::StreamTimes& times) {
  Json json = Json::object();
  for (const auto& [stream, busy_us] : times.busy_us)
    json[fmt::format("{}", stream)] = busy_us;
  json["total"] = times.total_us;
  return json;
}

}  // namespace

std::string walk_json(const WalkResult& walk) {
  return dump(walk_object(walk));
}

std::string iteration_json(const TraceIteration& iteration) {
  Json names = Json::array();
  for (const model::NodeId op : iteration.tree.operators)
    names.push_back(iteration.tree.event(op).name);
  Json streams = Json::array();
  for (const auto& [stream, busy_us] : iteration.streams.busy_us)
    streams.push_back(stream);
  Json launch = Json::object();
  for (const auto& [name, value] : iteration.costs.launch)
    launch[name] = spread(value);
  Json json{{"n_roots", iteration.tree.operators.size()},
            {"ops", std::move(names)},
            {"streams", std::move(streams)},
            {"corrected_start", iteration.tree.start_us},
            {"corrected_end", iteration.tree.end_us},
            {"t1", spread(iteration.costs.between)},
            {"t2", by_shape(iteration.costs.before)},
            {"t3", by_shape(iteration.costs.after)},
            {"t4", std::move(launch)},
            {"t5", by_shape(iteration.costs.among)},
            {"launches", iteration.costs.launches},
            {"gpu_time", stream_times(iteration.streams)},
            {"iterations", iteration.walks.size()},
            {"total_time", iteration.total_us},
            {"predicted", operators(iteration)}};
  json.update(walk_object(iteration.mean));
  return dump(json);
}

std::string walk_text(const WalkResult& walk) {
  if (!walk.error.empty()) return fmt::format("no end-to-end time: {}\n", walk.reason);
  return fmt::format(
      "end to end          {:12.2f} us\n"
      "GPU active          {:12.2f} us\n"
      "idle                {:12.2f} us\n"
      "busiest stream      {:12.2f} us\n"
      "exposed collectives {:12.2f} %\n",
      walk.end_to_end, walk.gpu_active, walk.idle(), walk.busiest_stream,
      100 * walk.exposed_collective_share);
}

std::string iteration_text(const TraceIteration& iteration) {
  std::size_t known = 0;
  std::size_t failed = 0;
  for (const model::OperatorKernels& kernels : iteration.predicted) {
    if (kernels.is_known) ++known;
    if (!kernels.reason.empty()) ++failed;
  }
  return fmt::format(
             "iterations          {:9}\n"
             "operators           {:9}, with a model {}, of these without a time {}\n"
             "kernels, predicted  {:12.2f} us in all iterations\n"
             "GPU busy, traced    {:12.2f} us in all iterations\n"
             "between operators   {:12.2f} us (T1)\n"
             "\nan iteration:\n",
             iteration.walks.size(), iteration.tree.operators.size(), known, failed,
             iteration.total_us, iteration.streams.total_us, iteration.costs.between.mean) +
         walk_text(iteration.mean);
}

std::string what_if_json(const LongestPath& path,
                         std::optional<std::span<const OtherTime>> others) {
  const WhatIfTimes times = what_if_times(path, others);
  const model::Timetable& table = times.table;
  Json json{{"iteration_us", table.iteration_us}};
  if (others) {
    json["changed_tasks"] = others->size();
    json["changed_iteration_us"] = *times.changed_us;
    json["saved_us"] = *times.saved_us;
  }
  json["longest_path"] = table.longest_path;
  json["tasks"] = Json::array();
  for (std::size_t i = 0; i < table.start_us.size(); ++i) {
    const read::Task& task = path.graph().tasks[i];
    Json own{{"name", task.name},
             {"time_us", task.time_us},
             {"start_us", table.start_us[i]},
             {"end_us", table.end_us[i]},
             {"slack_us", table.slack_us[i]}};
    if (task.predicted_us) own["predicted_us"] = *task.predicted_us;
    json["tasks"].push_back(std::move(own));
  }
  return dump(json);
}

std::string what_if_text(const LongestPath& path,
                         std::optional<std::span<const OtherTime>> others) {
  const WhatIfTimes times = what_if_times(path, others);
  std::string out = fmt::format("iteration           {:12.2f} us\n", times.table.iteration_us);
  if (others)
    out += fmt::format(
        "with the change     {:12.2f} us, {} tasks take another time\n"
        "saved               {:12.2f} us\n",
        *times.changed_us, others->size(), *times.saved_us);
  out += fmt::format("\nlongest path: {} of {} tasks, {:.2f} us; the rest of it is waiting\n",
                     times.table.longest_path.size(), path.graph().tasks.size(), times.path_us);
  for (std::size_t i = 0; i < std::min(kMostNames, times.path.size()); ++i) {
    const PathPart& part = times.path[i];
    out += fmt::format("{:12.2f} us {:5} x  {}\n", part.time_us, part.tasks, printable(part.name));
  }
  if (times.path.size() > kMostNames)
    out += fmt::format("and {} names more\n", times.path.size() - kMostNames);
  return out;
}

}  // namespace inline_prof::report
