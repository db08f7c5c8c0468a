// A trace as a plain list of its events, for models that make a tree of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::read {

enum class TraceKind {
  kOperator,    // cpu_op, Operator
  kRuntime,     // cuda_runtime, cuda_driver, Runtime
  kGpu,         // kernel, gpu_memcpy, gpu_memset
  kAnnotation,  // user_annotation
  kOther
};

using Shape = std::vector<std::int64_t>;

struct TraceEvent {
  std::string name;
  TraceKind kind = TraceKind::kOther;
  double start_us = 0.0;
  double duration_us = 0.0;
  // Not every writer numbers them: "GPU 0".
  std::string process;
  std::string thread;
  std::optional<std::int64_t> correlation;  // the same for a launch and its kernel
  std::optional<std::int64_t> stream;
  std::vector<Shape> inputs;  // of the operator's tensors; {} for what is none
  std::string shapes;         // inputs and outputs as Python's nested tuples, -1 where not known
  Shape block;                // of the kernel: x, y, z

  [[nodiscard]] double end_us() const { return start_us + duration_us; }
};

struct Trace {
  std::string label;               // the file, for complaints
  std::vector<TraceEvent> events;  // those with a duration, in the order of the file
  std::vector<std::string> warnings;
};

// Throws InputError.
[[nodiscard]] Trace parse_trace(std::string text, const std::string& label);

}  // namespace inline_prof::read
