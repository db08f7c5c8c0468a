// A library call (a GEMM, a convolution, a collective) and the launches inside it.
#pragma once

#include "record/event_record.hpp"
#include "timer/context_timer.hpp"

#include <memory>
#include <vector>

namespace inline_prof::hook {

struct ArmedEvent;
struct NodeNotes;

// The launches of one frame on one stream are one event.  A group of collectives may use several
// streams.
struct OpPart {
  const void* stream = nullptr;
  record::EventRecord* event = nullptr;       // while events are discovered
  ArmedEvent* armed = nullptr;                // while the pair is open
  timer::ContextTimer::Pair* pair = nullptr;  // null: not open
  std::shared_ptr<const NodeNotes> captured;  // while the launches become nodes of a graph
};

// Lives on the wrapper's stack.  The operation is described only if a launch inside needs it.
struct OpFrame {
  const char* event_name;  // "gemm", "conv.forward", "all_reduce"
  // The operation of the launches on `stream`; its kind is empty if it is unknown.  Called once per
  // new event, during discovery.
  record::Op (*describe)(const void* call, const void* stream);
  const void* call;  // the wrapper's arguments, for `describe`

  // Filled in by the launches inside.
  OpFrame* outer = nullptr;
  OpPart first{};
  std::vector<OpPart>* more = nullptr;  // further streams
};

// Open and close a frame of this thread.  Nested frames belong to the outermost one: what a library
// calls in another library is part of the application's call.
void open_op(OpFrame& frame) noexcept;
void close_op(OpFrame& frame) noexcept;  // ends pairs that are still open
void close_innermost_op() noexcept;      // for a wrapper that is being unwound

class OpScope {
 public:
  explicit OpScope(OpFrame& frame) noexcept : frame_(frame) { open_op(frame); }
  ~OpScope() { close_op(frame_); }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  OpFrame& frame_;
};

// Null if this thread is in no library call.
[[nodiscard]] OpFrame* outermost_op() noexcept;

// The frame's part on `stream`, created if missing.
[[nodiscard]] OpPart& part_on(OpFrame& frame, const void* stream);

}  // namespace inline_prof::hook
