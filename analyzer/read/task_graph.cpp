#include "read/task_graph.hpp"

#include "read/json_tree.hpp"

#include <map>
#include <utility>

namespace inline_prof::read {
namespace {

Wait read_wait(const TreeNode& node, std::size_t task_count) {
  Wait wait;
  const TreeNode task = node.member("task");
  wait.task = static_cast<std::size_t>(task.count());
  if (wait.task >= task_count) {
    task.fail(
        fmt::format("expected the index of one of {} tasks, found {}", task_count, wait.task));
  }
  if (node.has("delay_us")) wait.delay_us = duration_us(node.member("delay_us"));
  return wait;
}

Task read_task(const TreeNode& node, std::size_t task_count) {
  Task task;
  task.name = node.member("name").text();
  task.time_us = duration_us(node.member("time_us"));
  if (node.has("predicted_us") && !node.member("predicted_us").is_null()) {
    task.predicted_us = duration_us(node.member("predicted_us"));
  }
  if (node.has("not_before_us")) task.not_before_us = duration_us(node.member("not_before_us"));
  if (node.has("waits")) {
    node.member("waits").each_element(
        [&](const TreeNode& wait) { task.waits.push_back(read_wait(wait, task_count)); });
  }
  return task;
}

}  // namespace

TaskGraph task_graph_from(const TreeNode& node) {
  const TreeNode schema = node.member("schema");
  if (schema.text() != kTaskGraphSchema) {
    schema.fail(fmt::format("expected \"{}\", found \"{}\"", kTaskGraphSchema, schema.text()));
  }
  const TreeNode tasks = node.member("tasks");
  std::size_t task_count = 0;
  tasks.each_element([&](const TreeNode&) { ++task_count; });
  TaskGraph graph;
  std::map<std::string, std::vector<std::size_t>> meetings;
  tasks.each_element([&](const TreeNode& task) {
    if (task.has("meeting")) {
      meetings[task.member("meeting").text()].push_back(graph.tasks.size());
    }
    graph.tasks.push_back(read_task(task, task_count));
  });
  for (auto& [name, members] : meetings)
    graph.meetings.push_back(std::move(members));
  return graph;
}

}  // namespace inline_prof::read
