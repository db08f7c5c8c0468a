#include "read/iteration_graph.hpp"

#include "read/json_tree.hpp"

#include <map>
#include <utility>

namespace inline_prof::read {

namespace {

std::map<std::string, double> times(const TreeNode& node) {
  std::map<std::string, double> result;
  node.each_member([&](std::string_view name, const TreeNode& time) {
    result.emplace(name, duration_us(time));
  });
  return result;
}

void set_kind(const TreeNode& node, IterationOperator& target) {
  const std::string kind = node.text();
  target.is_mark = kind == "label";
  target.has_collective = kind == "a2a" || kind == "allreduce";
  target.is_wait = kind == "wait";
  target.is_modelled = kind == "compute" || kind == "memcpy" || target.has_collective;
  if (!target.is_mark && !target.is_modelled && !target.is_wait && kind != "nolaunch" &&
      kind != "cpuonly") {
    node.fail(
        fmt::format("expected label, compute, memcpy, nolaunch, cpuonly, a2a, allreduce or wait, "
                    "found \"{}\"",
                    kind));
  }
}

IterationOperator read_operator(const TreeNode& node) {
  IterationOperator result;
  result.name = node.member("name").text();
  set_kind(node.member("kind"), result);
  if (node.has("kernels_us")) {
    node.member("kernels_us").each_element([&](const TreeNode& kernel) {
      result.kernels_us.push_back(duration_us(kernel));
    });
  }
  if (node.has("depends_on_comm")) {
    result.uses_collective = node.member("depends_on_comm").boolean();
  }
  if (node.has("kids")) result.has_children = node.member("kids").count() > 0;
  return result;
}

}  // namespace

IterationGraph graph_from(const TreeNode& node, const std::string& label) {
  IterationGraph graph;
  graph.label = label;
  graph.costs.between = duration_us(node.member("t1"));
  graph.costs.before = times(node.member("t2"));
  graph.costs.after = times(node.member("t3"));
  graph.costs.launch = times(node.member("t4"));
  graph.costs.among = times(node.member("t5"));
  node.member("launches").each_member([&](std::string_view name, const TreeNode& calls) {
    std::vector<std::string>& own = graph.costs.launches[std::string(name)];
    calls.each_element([&](const TreeNode& call) { own.push_back(call.text()); });
  });
  node.member("nodes").each_element(
      [&](const TreeNode& element) { graph.operators.push_back(read_operator(element)); });
  return graph;
}

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
