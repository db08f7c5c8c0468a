#include "export/formats.hpp"
#include "export/values.hpp"
#include "read/input_error.hpp"
#include "read/iteration_graph.hpp"

#include <fmt/format.h>

#include <utility>

namespace inline_prof::exports {

std::string tasks_report(const join::Analysis& analysis) {
  if (!analysis.longest_path_us) {
    throw read::InputError(fmt::format("no tasks to write: {}", analysis.longest_path_reason));
  }
  const read::TaskGraph& graph = analysis.tasks;
  Json json{{"schema", read::kTaskGraphSchema}, {"tasks", Json::array()}};
  for (const read::Task& task : graph.tasks) {
    Json own{{"name", task.name}, {"time_us", task.time_us}};
    if (task.predicted_us) own["predicted_us"] = *task.predicted_us;
    if (task.not_before_us > 0) own["not_before_us"] = task.not_before_us;
    for (const read::Wait& wait : task.waits) {
      own["waits"].push_back({{"task", wait.task}, {"delay_us", wait.delay_us}});
    }
    json["tasks"].push_back(std::move(own));
  }
  for (std::size_t meeting = 0; meeting < graph.meetings.size(); ++meeting) {
    for (const std::size_t member : graph.meetings[meeting])
      json["tasks"][member]["meeting"] = fmt::format("{}", meeting);
  }
  return document(json);
}

}  // namespace inline_prof::exports
