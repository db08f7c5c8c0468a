#include "read/iteration_input.hpp"

#include "read/file_text.hpp"
#include "read/profile.hpp"
#include "read/torch_trace/torch_trace.hpp"

#include <simdjson.h>

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
      kind != "cpuonly")
    node.fail(
        fmt::format("expected label, compute, memcpy, nolaunch, cpuonly, a2a, allreduce or wait, "
                    "found \"{}\"",
                    kind));
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
  if (node.has("depends_on_comm"))
    result.uses_collective = node.member("depends_on_comm").boolean();
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
  if (wait.task >= task_count)
    task.fail(
        fmt::format("expected the index of one of {} tasks, found {}", task_count, wait.task));
  if (node.has("delay_us")) wait.delay_us = duration_us(node.member("delay_us"));
  return wait;
}

Task read_task(const TreeNode& node, std::size_t task_count) {
  Task task;
  task.name = node.member("name").text();
  task.time_us = duration_us(node.member("time_us"));
  if (node.has("predicted_us") && !node.member("predicted_us").is_null())
    task.predicted_us = duration_us(node.member("predicted_us"));
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
  if (schema.text() != kTaskGraphSchema)
    schema.fail(fmt::format("expected \"{}\", found \"{}\"", kTaskGraphSchema, schema.text()));
  const TreeNode tasks = node.member("tasks");
  std::size_t task_count = 0;
  tasks.each_element([&](const TreeNode&) { ++task_count; });
  TaskGraph graph;
  std::map<std::string, std::vector<std::size_t>> meetings;
  tasks.each_element([&](const TreeNode& task) {
    if (task.has("meeting")) meetings[task.member("meeting").text()].push_back(graph.tasks.size());
    graph.tasks.push_back(read_task(task, task_count));
  });
  for (auto& [name, members] : meetings)
    graph.meetings.push_back(std::move(members));
  return graph;
}

namespace {

using simdjson::ondemand::json_type;

// The member "trace" of an object, or of each object in a list, as it is written; empty texts where
// there is none.
std::vector<std::string> inner_traces(const std::string& text) {
  std::vector<std::string> traces;
  const auto add = [&](simdjson::ondemand::object object) {
    simdjson::ondemand::array trace;
    const auto error = object["trace"].get_array().get(trace);
    traces.emplace_back(error == simdjson::SUCCESS ? std::string_view(trace.raw_json())
                                                   : std::string_view());
  };
  simdjson::ondemand::parser parser;
  try {
    simdjson::ondemand::document document =
        parser.iterate(simdjson::padded_string_view(text.data(), text.size(), text.capacity()));
    if (document.type() == json_type::object) {
      add(document.get_object());
    } else {
      for (auto element : document.get_array())
        add(element.get_object());
    }
  } catch (const simdjson::simdjson_error&) {
    return traces;  // the tree says what is wrong with the next one
  }
  return traces;
}

bool holds_events(const base::JsonValue& list) {
  if (list.members.empty()) return true;
  const base::JsonValue& first = list.members.front().value;
  return first.find("nodes") == nullptr && first.find("trace") == nullptr &&
         first.find("tasks") == nullptr;
}

// Kineto's traces are objects, may be too large for a tree, and may be cut off.
bool is_trace(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         torch_trace::recognises(text.substr(0, kBeginning));
}

}  // namespace

IterationFile read_iteration_file(const std::filesystem::path& file) {
  const std::string label = file.string();
  std::string text = read_text(file);
  if (is_gzip(text)) text = gunzip(text, label, kMaxFileBytes);
  IterationFile result;
  const auto add_whole = [&] {
    result.inputs.emplace_back(parse_trace(std::move(text), label));
    return std::move(result);
  };
  if (is_trace(text)) return add_whole();
  const base::JsonValue document = parse_json(text, label);
  const TreeNode root(document, label);
  if (root.is_array() && holds_events(document)) return add_whole();
  const std::vector<std::string> traces = inner_traces(text);
  const auto add = [&](const TreeNode& node) {
    if (node.has("tasks")) {
      result.inputs.emplace_back(task_graph_from(node));
    } else if (node.has("nodes")) {
      result.inputs.emplace_back(graph_from(node, label));
    } else if (node.has("trace") && result.inputs.size() < traces.size()) {
      result.inputs.emplace_back(parse_trace(traces[result.inputs.size()], label));
    } else {
      static_cast<void>(node.member("traceEvents"));  // has to be there
      result.inputs.emplace_back(parse_trace(text, label));
    }
  };
  result.is_list = root.is_array();
  if (result.is_list) {
    root.each_element(add);
  } else {
    add(root);
  }
  return result;
}

}  // namespace inline_prof::read
