#include "export/formats.hpp"
#include "export/values.hpp"
#include "read/input_error.hpp"
#include "read/work_graph_tree.hpp"

#include <fmt/format.h>

#include <utility>

namespace inline_prof::exports {

std::string tasks_report(const join::Analysis& analysis) {
  if (!analysis.longest_path_us) {
    throw read::InputError(fmt::format("no tasks to write: {}", analysis.longest_path_reason));
  }
  const read::WorkGraph& graph = analysis.works;
  Json json{{"schema", read::kWorkGraphSchema}, {"works", Json::array()}};
  for (const read::Work& work : graph.works) {
    Json own{{"name", work.name}, {"time_us", work.time_us}};
    if (work.predicted_us) own["predicted_us"] = *work.predicted_us;
    if (work.not_before_us > 0) own["not_before_us"] = work.not_before_us;
    for (const read::Wait& wait : work.waits) {
      own["waits"].push_back({{"work", wait.work}, {"delay_us", wait.delay_us}});
    }
    json["works"].push_back(std::move(own));
  }
  for (std::size_t meeting = 0; meeting < graph.meetings.size(); ++meeting) {
    for (const std::size_t member : graph.meetings[meeting])
      json["works"][member]["meeting"] = fmt::format("{}", meeting);
  }
  return document(json);
}

}  // namespace inline_prof::exports
