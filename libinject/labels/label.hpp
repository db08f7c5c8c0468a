// Macro labels: "X.start" and "X.stop" are the two ends of event X.
#pragma once

#include "record/event_record.hpp"

#include <inline_prof/abi.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace inline_prof::hook {

// One event name.  Never destroyed, since call sites keep pointers to it.
struct Label {
  std::string name;
  // Read by the call sites: 0 if a call would have no effect.
  std::uint32_t gate = 1;
  bool was_unmatched = false;  // stopped without a start; with the state's mutex held

  void open_gate(bool open) noexcept { __atomic_store_n(&gate, open ? 1U : 0U, __ATOMIC_RELAXED); }
};

// One end of it, behind inline_prof_site::label.
struct LabelEnd {
  Label* label = nullptr;
  bool is_start = false;
};

// Opens or shuts the gates of all labels, including those met later.
void open_all_gates(bool open);

// Every event name met so far, for messages.
[[nodiscard]] std::string met_label_names();

struct LaunchSite;

// A label that this thread has started, while events are being discovered.  Any thread may stop it.
struct OpenLabel {
  const void* stream;
  record::EventRecord* event;
  const LaunchSite* site;
  int occurrence;
  int discovery;  // State::discovery, then
};

// The innermost one on `stream` of this discovery that was not stopped; null if there is none.
// With the state's mutex held.
[[nodiscard]] const OpenLabel* innermost_label(const void* stream, int discovery) noexcept;
void add_kernel_name(record::EventRecord& event, const std::string& kernel_name);

}  // namespace inline_prof::hook
