// Launch sites: kernels, labels and graphs, each on one stream.
#pragma once

#include "graphs/graph_registry.hpp"
#include "hook/launch.hpp"
#include "labels/label.hpp"
#include "record/event_record.hpp"
#include "session/contexts.hpp"
#include "timer/launch_table.hpp"

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

namespace inline_prof::session {

struct KernelInfo {
  std::string name;        // as the driver gives it
  std::string event_name;  // readable, without blanks
  int static_shared_bytes = 0;
  int registers = 0;
  bool is_copy = false;  // a copy counts as a launch of a kernel of its kind
};

// A launched kernel, label or graph: one member is set.
struct Launched {
  CUfunction function = nullptr;
  labels::Label* label = nullptr;
  graphs::ExecutableGraph* graph = nullptr;

  // The key of its slots in the launch table.
  [[nodiscard]] const void* key() const noexcept {
    if (label != nullptr) return label;
    if (graph != nullptr) return graph;
    return function;
  }
};
[[nodiscard]] inline Launched launched_by(const hook::Launch& launch) noexcept {
  if (launch.graph != nullptr) return {.graph = launch.graph};
  return {.function = launch.function};
}

// A kernel, a label or a graph on one stream: a slot of the launch table, and what is known of it.
struct LaunchSite {
  timer::LaunchSlot* slot = nullptr;
  StreamInfo* stream = nullptr;
  // The handle, the label or the graph; null once the kernel's module has gone (rebinding.hpp).
  const void* function = nullptr;
  // One of these is not null.
  const KernelInfo* kernel = nullptr;
  labels::Label* label = nullptr;
  graphs::ExecutableGraph* graph = nullptr;
  record::LaunchShape first_shape;  // of a kernel
  bool may_overlap = false;         // Launch::may_overlap of its first launch
  std::string event_name;           // of a kernel, once it has one
  // By occurrence; null if the launch was part of a label.  For a graph: its launches as a whole.
  std::vector<record::EventRecord*> events;
  record::EventRecord* sampled = nullptr;          // in a run without iterations
  timer::ContextTimer::Pair* open_pair = nullptr;  // of a label, in mode one_shot
  int open_occurrence = -1;                        // of a label that has started and not stopped
  std::uint32_t usual_count = 0;                   // launches in most iterations of the warm-up
  int usual_votes = 0;
  bool count_varies = false;       // from one iteration of the warm-up to another
  std::uint32_t usual_shapes = 0;  // LaunchTable::shapes_of() in the first compared iterations ...
  int shape_votes = 0;             // ... in so many; below 0: they differ
};

[[nodiscard]] inline bool is_copy(const LaunchSite& site) noexcept {
  return site.kernel != nullptr && site.kernel->is_copy;
}
// False for a label, a graph and a copy.
[[nodiscard]] inline bool is_kernel(const LaunchSite& site) noexcept {
  return site.kernel != nullptr && !is_copy(site);
}
// False if the handles of what is measured there have gone, and nothing has taken their place.
[[nodiscard]] inline bool has_handles(const LaunchSite& site) noexcept {
  return site.function != nullptr && site.stream->is_alive;
}
// Kernels that one launch runs.
[[nodiscard]] inline std::uint32_t kernels_in(const graphs::ExecutableGraph* graph) noexcept {
  if (graph == nullptr) return 1;
  const auto kernels = graph->kernels.load(std::memory_order_relaxed);
  return kernels == 0 ? 1 : kernels;
}

// The launches of an iteration that lie inside a label, if its own thread made them all: from the
// first one, counted at its site, to the last one.
struct LaunchRange {
  LaunchSite* first = nullptr;  // null: not known
  std::uint32_t first_occurrence = 0;
  LaunchSite* last = nullptr;
  std::uint32_t last_occurrence = 0;
};

}  // namespace inline_prof::session
