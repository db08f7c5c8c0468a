#include "read/iteration_input.hpp"

#include "read/file_text.hpp"
#include "read/iteration_graph.hpp"
#include "read/json_tree.hpp"
#include "read/profile.hpp"
#include "read/torch_trace/torch_trace.hpp"

#include <simdjson.h>

#include <string>
#include <utility>

namespace inline_prof::read {
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
