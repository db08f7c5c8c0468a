// Traces with few words.
#pragma once

#include "read/torch_trace/event_list.hpp"

#include <fmt/format.h>

#include <string>

namespace inline_prof::test {

class TraceBuilder {
 public:
  TraceBuilder& on_thread(int thread) {
    thread_ = thread;
    return *this;
  }
  TraceBuilder& mark(double start, double duration, const std::string& name = "## Forward ##") {
    return add(name, "user_annotation", start, duration, "");
  }
  // `inputs` as JSON: "[[64, 13]]".
  TraceBuilder& op(const std::string& name, double start, double duration,
                   const std::string& inputs = "[]") {
    return add(name, "cpu_op", start, duration, "\"Input Dims\": " + inputs);
  }
  TraceBuilder& call(const std::string& name, double start, double duration, int correlation) {
    return add(name, "cuda_runtime", start, duration,
               fmt::format("\"correlation\": {}", correlation));
  }
  TraceBuilder& kernel(const std::string& name, double start, double duration, int correlation,
                       const std::string& block = "[32, 4, 1]") {
    return add(
        name, "kernel", start, duration,
        fmt::format("\"correlation\": {}, \"stream\": 7, \"block\": {}", correlation, block));
  }

  // With an event behind all others, since the last one is dropped.
  [[nodiscard]] read::Trace trace() const {
    std::string text = events_;
    if (!text.empty()) text += ",";
    return read::parse_trace("[" + text + R"({"name": "end", "ts": 1e9, "dur": 1})" + "]",
                             "t.json");
  }

 private:
  TraceBuilder& add(const std::string& name, const char* category, double start, double duration,
                    const std::string& arguments) {
    events_ += fmt::format(
        R"({}{{"ph": "X", "name": "{}", "cat": "{}", "ts": {}, "dur": {}, "pid": 1, "tid": {}, "args": {{{}}}}})",
        events_.empty() ? "" : ",", name, category, start, duration, thread_, arguments);
    return *this;
  }

  std::string events_;
  int thread_ = 1;
};

}  // namespace inline_prof::test
