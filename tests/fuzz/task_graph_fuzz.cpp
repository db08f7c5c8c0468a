// Task graphs: what is accepted has a longest path, and finite times that bound each other.
#include "model/iteration/timetable.hpp"
#include "property.hpp"
#include "read/iteration_input.hpp"
#include "read/json_tree.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace {

using namespace inline_prof;

void require_times(const model::Timetable& table, std::size_t tasks) {
  fuzz::require(table.start_us.size() == tasks && table.end_us.size() == tasks &&
                    table.slack_us.size() == tasks,
                "every task has its times");
  fuzz::require(std::isfinite(table.iteration_us) && table.iteration_us >= 0,
                "an iteration takes a finite time");
  for (std::size_t i = 0; i < tasks; ++i) {
    fuzz::require(table.start_us[i] >= 0 && table.end_us[i] >= table.start_us[i],
                  "a task begins before it ends");
    fuzz::require(table.end_us[i] <= table.iteration_us, "no task ends after the iteration");
  }
  fuzz::require(tasks == 0 || !table.longest_path.empty(), "tasks have a longest path");
}

}  // namespace

void fuzz::check(const std::string& text) {
  const base::JsonValue document = read::parse_json(text, "fuzz");
  try {
    const model::LongestPath path(read::task_graph_from(read::TreeNode(document, "fuzz")));
    require_times(path.timetable(), path.graph().tasks.size());
  } catch (const std::invalid_argument&) {  // tasks that wait for each other in a circle
  }
}
