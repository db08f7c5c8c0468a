// Where launches come from: kernels, labels and graphs, each on one stream.
#pragma once

#include "labels/label.hpp"
#include "record/event_record.hpp"
#include "timer/context_timer.hpp"
#include "timer/launch_table.hpp"

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

namespace inline_prof::hook {

struct ExecutableGraph;

struct StreamInfo {
  CUstream handle = nullptr;
  timer::ContextTimer* timer = nullptr;
  int index = 0;  // in order of first appearance
  std::uint64_t launches = 0;
  bool is_alive = true;
  // Not alive because nothing was launched there (rebinding.hpp): it may be again.
  bool is_silent = false;
  bool is_heard = false;  // while it is looked at: something that is not known is launched there
  int silences = 0;       // in a row, each ended by another stream
};

struct KernelInfo {
  std::string name;        // as the driver gives it
  std::string event_name;  // readable, without blanks
  int static_shared_bytes = 0;
  int registers = 0;
  bool is_copy = false;  // a copy counts as a launch of a kernel of its kind
};

// One kernel on one stream: its events, whichever of its handles is launched.
struct KernelOnStream {
  std::string event_name;
  int handles = 0;
  int next_occurrence = 0;
};

// What a slot of the launch table refers to: a kernel, a label or a graph on one stream.
struct LaunchSite {
  timer::LaunchSlot* slot = nullptr;
  StreamInfo* stream = nullptr;
  // The handle, the label or the graph; null once the kernel's module has gone (rebinding.hpp).
  const void* function = nullptr;
  // One of these is not null.
  const KernelInfo* kernel = nullptr;
  Label* label = nullptr;
  ExecutableGraph* graph = nullptr;
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
  std::uint32_t usual_shapes = 0;  // LaunchTable::shapes_of() in the first watched iterations ...
  int shape_votes = 0;             // ... in so many; below 0: they differ
};

[[nodiscard]] inline bool is_copy(const LaunchSite& site) noexcept {
  return site.kernel != nullptr && site.kernel->is_copy;
}
// False for a label, a graph and a copy.
[[nodiscard]] inline bool is_kernel(const LaunchSite& site) noexcept {
  return site.kernel != nullptr && !is_copy(site);
}

// What was launched inside a label, beside further labels.
struct LabelInside {
  std::vector<record::EventRecord*> ops;  // library calls
  int other_launches = 0;
};

}  // namespace inline_prof::hook
