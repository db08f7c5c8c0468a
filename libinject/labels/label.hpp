// Macro labels: "X.start" and "X.stop" are the two ends of event X.
#pragma once

#include <inline_prof/abi.h>

#include <cstdint>
#include <string>

namespace inline_prof::labels {

struct Label;

// One end of a label, behind inline_prof_site::label.
struct LabelEnd {
  Label* label = nullptr;
  bool is_start = false;
};

// One event name.  Never moved or destroyed, since call sites keep pointers to its ends.
struct Label {
  std::string name;
  // Read by the call sites: 0 if a call would have no effect.
  std::uint32_t gate = 1;
  bool was_unmatched = false;  // stopped without a start; with the session's mutex held

  const LabelEnd start{.label = this, .is_start = true};
  const LabelEnd stop{.label = this, .is_start = false};

  void open_gate(bool open) noexcept { __atomic_store_n(&gate, open ? 1U : 0U, __ATOMIC_RELAXED); }
};

// Opens or shuts the gates of all labels, including those met later.
void open_all_gates(bool open);

// Every event name met so far, for messages.
[[nodiscard]] std::string met_label_names();

// True if there were more names than there is room for.
[[nodiscard]] bool had_no_room();

// Null if there is no room.
[[nodiscard]] Label* label_named(const std::string& name);

// The end that a call site stands for; `site` may be null, and is bound to it.  Null if `text` ends
// in neither ".start" nor ".stop", or there is no room: then the site's gate is shut.
[[nodiscard]] const LabelEnd* end_at(inline_prof_site* site, const char* text);

// Shuts the gate of a call site that is not needed any more.
void shut(inline_prof_site* site) noexcept;

}  // namespace inline_prof::labels
