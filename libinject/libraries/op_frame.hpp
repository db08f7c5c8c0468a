// What a vendor call (a GEMM, a convolution, a collective) says of the launches inside it.
#pragma once

#include "record/event_record.hpp"
#include "timer/context_timer.hpp"

#include <memory>
#include <vector>

namespace inline_prof::hook {

struct ArmedEvent;
struct NodeNotes;

// The launches of one frame on one stream: one event.  A group of collectives launches on several.
struct OpPart {
  const void* stream = nullptr;
  record::EventRecord* event = nullptr;       // while events are discovered
  ArmedEvent* armed = nullptr;                // while the pair is open
  timer::ContextTimer::Pair* pair = nullptr;  // null: not open
  std::shared_ptr<const NodeNotes> captured;  // while the launches become nodes of a graph
};

// Lives on the stack of the wrapper.  Nothing is described unless a launch inside asks.
struct OpFrame {
  const char* event_name;  // "gemm", "conv.forward", "all_reduce"
  // The operation of the launches on `stream`; an empty kind where it is not known.  Asked for once
  // per new event, while events are discovered.
  record::Op (*describe)(const void* call, const void* stream);
  const void* call;  // the wrapper's arguments, for `describe`

  // Filled in by the launches inside.
  OpFrame* outer = nullptr;
  OpPart first{};
  std::vector<OpPart>* more = nullptr;  // further streams
};

// Opens and closes a frame of this thread.  Nested frames belong to the outermost: one library's
// call into another is part of the application's call.
void open_op(OpFrame& frame) noexcept;
void close_op(OpFrame& frame) noexcept;  // ends pairs that are still open
void close_innermost_op() noexcept;      // of a wrapper that is being unwound

class OpScope {
 public:
  explicit OpScope(OpFrame& frame) noexcept : frame_(frame) { open_op(frame); }
  ~OpScope() { close_op(frame_); }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  OpFrame& frame_;
};

// Null where this thread is in no vendor call.
[[nodiscard]] OpFrame* outermost_op() noexcept;

// The frame's part on `stream`; made if it is not there.
[[nodiscard]] OpPart& part_on(OpFrame& frame, const void* stream);

}  // namespace inline_prof::hook
