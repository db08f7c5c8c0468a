// Macro labels: "X.start" and "X.stop" are the two ends of event X.
#pragma once

#include <inline_prof/abi.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace inline_prof::hook {

// One event name.  Lives for ever: call sites keep pointers to it.
struct Label {
  std::string name;
  // What the call sites read: 0 where a call would do nothing.
  std::uint32_t gate = 1;

  void open_gate(bool open) noexcept { __atomic_store_n(&gate, open ? 1U : 0U, __ATOMIC_RELAXED); }
};

// One end of it, behind inline_prof_site::label.
struct LabelEnd {
  Label* label = nullptr;
  bool is_start = false;
};

// Opens or shuts the gates of all labels, also of those met later.
void open_all_gates(bool open);

// Every event name met so far, for messages.
[[nodiscard]] std::string met_label_names();

// The innermost label that this thread has open on `stream`, while labels are being discovered;
// null where there is none.
struct OpenLabel;
[[nodiscard]] const OpenLabel* innermost_label(const void* stream) noexcept;
void add_kernel_to(const OpenLabel& label, const std::string& kernel_name);

// The layer path of this thread's enclosing PROFILE_SCOPEs, joined with '.'.
[[nodiscard]] std::string current_layer();

}  // namespace inline_prof::hook
