#include "read/torch_trace/event_list.hpp"

#include "read/torch_trace/raw_events.hpp"

#include <fmt/format.h>

#include <utility>

namespace inline_prof::read {
namespace {

using simdjson::ondemand::json_type;
using torch_trace::Category;
using torch_trace::RawEvent;

// Python writes a tuple of one element with a comma, and this for what is not known.
constexpr const char* kUnknownShapes = "((-1,),)";

TraceKind kind_of(Category category) {
  if (category == Category::kOperator) return TraceKind::kOperator;
  if (category == Category::kCall) return TraceKind::kRuntime;
  if (category == Category::kAnnotation) return TraceKind::kAnnotation;
  const bool is_work =
      category == Category::kKernel || category == Category::kCopy || category == Category::kFill;
  return is_work ? TraceKind::kGpu : TraceKind::kOther;
}

// Words without the quotes around them.
std::string plain(std::string_view token) {
  if (token.size() >= 2 && token.front() == '"') token = token.substr(1, token.size() - 2);
  return std::string(token);
}

// Nested lists as nested tuples.  `depth` is 0 for the list of an operator's tensors, whose sizes
// go to `tensors`.
std::string tuple(simdjson::ondemand::value value, int depth, std::vector<Shape>& tensors) {
  if (depth == 1) tensors.emplace_back();
  if (value.type() != json_type::array) {
    const auto number = torch_trace::number_in<std::int64_t>(value);
    if (number && depth == 2) tensors.back().push_back(*number);
    return number ? fmt::format("{}", *number) : "-1";
  }
  std::string text = "(";
  std::size_t count = 0;
  for (auto element : value.get_array()) {
    text += count++ > 0 ? ", " : "";
    text += tuple(element.value(), depth + 1, tensors);
  }
  if (depth == 0 && count == 0) return kUnknownShapes;
  return text + (count == 1 ? ",)" : ")");
}

class ListReader : public torch_trace::EventReader {
 public:
  explicit ListReader(Trace& trace) : trace_(trace) {}

 private:
  void take(const RawEvent& raw) override {
    if (!raw.duration_us) return;
    TraceEvent event;
    event.name = raw.name;
    event.kind = kind_of(raw.category);
    event.start_us = *raw.start_us;
    event.duration_us = *raw.duration_us;
    event.process = plain(raw.process);
    event.thread = plain(raw.thread);
    read_arguments(raw.args, event);
    trace_.events.push_back(std::move(event));
  }

  static void read_arguments(std::string_view args, TraceEvent& event) {
    std::string inputs = kUnknownShapes, outputs = kUnknownShapes;
    std::vector<Shape> results;
    torch_trace::each_argument(args, [&](const std::string& key, simdjson::ondemand::value value) {
      if (key == "Input Dims" || key == "Input dims") {
        inputs = tuple(value, 0, event.inputs);
      } else if (key == "Output Dims" || key == "Output dims") {
        outputs = tuple(value, 0, results);
      } else if (key == "correlation") {
        event.correlation = torch_trace::number_in<std::int64_t>(value);
      } else if (key == "stream") {
        event.stream = torch_trace::number_in<std::int64_t>(value);
      } else if (key == "block") {
        for (auto side : value.get_array())
          event.block.push_back(side.get_int64());
      }
    });
    event.shapes = fmt::format("({}, {})", inputs, outputs);
  }

  Trace& trace_;
};

}  // namespace

Trace parse_trace(std::string text, const std::string& label) {
  Trace trace;
  trace.label = label;
  ListReader(trace).read(text, label, trace.warnings);
  return trace;
}

}  // namespace inline_prof::read
