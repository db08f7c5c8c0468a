#include "read/iteration_input.hpp"

#include "read/file_text.hpp"
#include "read/iteration_graph_tree.hpp"
#include "read/json_tree.hpp"
#include "read/task_graph_tree.hpp"
#include "read/trace_tree.hpp"

#include <string>

namespace inline_prof::read {
namespace {

bool holds_events(const base::JsonValue& list) {
  if (list.members.empty()) return true;
  const base::JsonValue& first = list.members.front().value;
  return first.find("nodes") == nullptr && first.find("trace") == nullptr &&
         first.find("tasks") == nullptr;
}

std::variant<Trace, IterationGraph, TaskGraph> read_one(const TreeNode& node,
                                                        const std::string& label) {
  if (node.has("tasks")) return task_graph_from(node);
  if (node.has("nodes")) return graph_from(node, label);
  if (node.has("trace")) return trace_from(node.member("trace"), label);
  return trace_from(node.member("traceEvents"), label);
}

}  // namespace

IterationFile read_iteration_file(const std::filesystem::path& file) {
  const std::string label = file.string();
  const base::JsonValue document = parse_json(read_text(file), label);
  const TreeNode root(document, label);
  IterationFile result;
  if (!root.is_array()) {
    result.inputs.push_back(read_one(root, label));
  } else if (holds_events(document)) {
    result.inputs.emplace_back(trace_from(root, label));
  } else {
    result.is_list = true;
    root.each_element(
        [&](const TreeNode& node) { result.inputs.push_back(read_one(node, label)); });
  }
  return result;
}

}  // namespace inline_prof::read
