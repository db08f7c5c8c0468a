#pragma once

#include "read/iteration_graph.hpp"
#include "read/torch_trace/event_list.hpp"

#include <filesystem>
#include <variant>
#include <vector>

namespace inline_prof::read {

// A file for `prof-model iteration`: a trace, an iteration graph, a task graph, or a list of
// objects each of which holds a trace (as "trace") or is a graph.
struct IterationFile {
  bool is_list = false;
  std::vector<std::variant<Trace, IterationGraph, TaskGraph>> inputs;
};

// Throws InputError.
[[nodiscard]] IterationFile read_iteration_file(const std::filesystem::path& file);

}  // namespace inline_prof::read
