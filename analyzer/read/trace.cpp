#include "read/trace.hpp"

#include "read/file_text.hpp"
#include "read/trace_tree.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <utility>

namespace inline_prof::read {
namespace {

// Python writes a tuple of one element with a comma, and nothing for what is not known.
constexpr const char* kUnknownShapes = "((-1,),)";

std::string lower(std::string text) {
  for (char& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

TraceKind kind_of(const std::string& category) {
  static constexpr std::array<std::pair<std::string_view, TraceKind>, 12> kinds{{
      {"cpu_op", TraceKind::kOperator},
      {"operator", TraceKind::kOperator},
      {"cuda_runtime", TraceKind::kRuntime},
      {"cuda_driver", TraceKind::kRuntime},
      {"runtime", TraceKind::kRuntime},
      {"kernel", TraceKind::kGpu},
      {"gpu_memcpy", TraceKind::kGpu},
      {"gpu_memset", TraceKind::kGpu},
      {"memcpy", TraceKind::kGpu},
      {"memset", TraceKind::kGpu},
      {"user_annotation", TraceKind::kAnnotation},
  }};
  const std::string word = lower(category);
  for (const auto& [name, kind] : kinds) {
    if (word == name) return kind;
  }
  return TraceKind::kOther;
}

// Processes and threads are numbers or words.
std::string id_text(const TreeNode& node) {
  return node.is_integer() ? fmt::format("{}", node.integer()) : node.text();
}

// Numbers may be written as words: "1000.5".
Shape integers(const TreeNode& node) {
  Shape values;
  node.each_element([&](const TreeNode& value) { values.push_back(value.integer()); });
  return values;
}

// Nested lists as nested tuples.
std::string tuple(const TreeNode& node) {
  if (!node.is_array()) return node.is_integer() ? fmt::format("{}", node.integer()) : "-1";
  std::string text = "(";
  std::size_t count = 0;
  node.each_element(
      [&](const TreeNode& element) { text += (count++ > 0 ? ", " : "") + tuple(element); });
  return text + (count == 1 ? ",)" : ")");
}

bool is_empty_list(const TreeNode& node) {
  bool is_empty = true;
  node.each_element([&](const TreeNode&) { is_empty = false; });
  return is_empty;
}

// The member that newer and older writers spell in two ways.
const char* spelling(const TreeNode& arguments, const char* now, const char* before) {
  return arguments.has(now) ? now : before;
}

std::string shapes_of(const TreeNode& arguments, const char* member) {
  if (!arguments.has(member)) return kUnknownShapes;
  const TreeNode shapes = arguments.member(member);
  return is_empty_list(shapes) ? kUnknownShapes : tuple(shapes);
}

void read_arguments(const TreeNode& arguments, TraceEvent& event) {
  const char* inputs = spelling(arguments, "Input Dims", "Input dims");
  const char* outputs = spelling(arguments, "Output Dims", "Output dims");
  if (event.kind == TraceKind::kOperator || event.kind == TraceKind::kAnnotation) {
    event.shapes =
        fmt::format("({}, {})", shapes_of(arguments, inputs), shapes_of(arguments, outputs));
  }
  if (arguments.has(inputs)) {
    arguments.member(inputs).each_element([&](const TreeNode& input) {
      Shape shape;
      if (input.is_array()) {  // a list of tensors is a list of lists, and has no shape of its own
        input.each_element([&](const TreeNode& size) {
          if (size.is_integer()) shape.push_back(size.integer());
        });
      }
      event.inputs.push_back(std::move(shape));
    });
  }
  if (arguments.has("correlation") && arguments.member("correlation").is_integer()) {
    event.correlation = arguments.member("correlation").integer();
  }
  if (arguments.has("stream") && arguments.member("stream").is_integer()) {
    event.stream = arguments.member("stream").integer();
  }
  if (arguments.has("block")) event.block = integers(arguments.member("block"));
}

// 1e16 us are three hundred years: sums of such times are still finite.
double time_us(const TreeNode& node) {
  constexpr double longest_us = 1e16;
  const double time = node.number();
  if (time < -longest_us || time > longest_us) {
    node.fail("expected microseconds, not more than 1e16");
  }
  return time;
}

TraceEvent read_event(const TreeNode& node) {
  TraceEvent event;
  event.name = node.member("name").text();
  if (node.has("cat")) event.kind = kind_of(node.member("cat").text());
  event.start_us = time_us(node.member("ts"));
  event.duration_us = time_us(node.member("dur"));
  if (event.duration_us < 0) node.member("dur").fail("expected a duration >= 0");
  if (node.has("pid")) event.process = id_text(node.member("pid"));
  if (node.has("tid")) event.thread = id_text(node.member("tid"));
  event.shapes = fmt::format("({}, {})", kUnknownShapes, kUnknownShapes);
  if (node.has("args")) read_arguments(node.member("args"), event);
  return event;
}

}  // namespace

Trace trace_from(const TreeNode& node, const std::string& label) {
  Trace trace;
  trace.label = label;
  node.each_element([&](const TreeNode& element) {
    if (element.has("dur")) trace.events.push_back(read_event(element));
  });
  if (trace.events.empty()) node.fail("no event with a duration (\"dur\")");
  return trace;
}

Trace parse_trace(std::string_view text, const std::string& label) {
  const base::JsonValue document = parse_json(text, label);
  const TreeNode root(document, label);
  return trace_from(root.is_array() ? root : root.member("traceEvents"), label);
}

Trace read_trace(const std::filesystem::path& file) {
  return parse_trace(read_text(file), file.string());
}

}  // namespace inline_prof::read
