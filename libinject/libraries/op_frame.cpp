#include "libraries/op_frame.hpp"

#include "entry/guard.hpp"
#include "session/armed_event.hpp"
#include "session/state.hpp"

namespace inline_prof::hook {
namespace {

struct OpenOps {
  OpFrame* innermost;
  OpFrame* outermost;
};

[[gnu::tls_model("initial-exec")]] constinit thread_local OpenOps open_ops{};

void close_part(OpPart& part) {
  if (part.pair == nullptr) return;
  State* run = state();
  auto* pair = std::exchange(part.pair, nullptr);
  if (run == nullptr) return;  // a forked child
  if (part.armed == nullptr) {
    static_cast<void>(
        pair->timer->end(static_cast<CUstream>(const_cast<void*>(part.stream)), *pair));
    return;
  }
  end_pair(*run, *part.armed, part.stream, *pair, true);
}

void close_parts(OpFrame& frame) noexcept {
  fenced(frame.event_name, [&] {
    close_part(frame.first);
    if (frame.more == nullptr) return;
    for (OpPart& part : *frame.more)
      close_part(part);
    delete frame.more;
    frame.more = nullptr;
  });
}

}  // namespace

void open_op(OpFrame& frame) noexcept {
  frame.outer = open_ops.innermost;
  open_ops.innermost = &frame;
  if (open_ops.outermost == nullptr) open_ops.outermost = &frame;
}

void close_op(OpFrame& frame) noexcept {
  open_ops.innermost = frame.outer;
  if (open_ops.outermost != &frame) return;
  open_ops.outermost = nullptr;
  if (frame.first.pair != nullptr || frame.more != nullptr) close_parts(frame);
}

void close_innermost_op() noexcept {
  if (open_ops.innermost != nullptr) close_op(*open_ops.innermost);
}

OpFrame* outermost_op() noexcept {
  return open_ops.outermost;
}

OpPart& part_on(OpFrame& frame, const void* stream) {
  if (frame.first.stream == nullptr) frame.first.stream = stream;
  if (frame.first.stream == stream) return frame.first;
  if (frame.more == nullptr) frame.more = new std::vector<OpPart>;
  for (OpPart& part : *frame.more) {
    if (part.stream == stream) return part;
  }
  OpPart part;
  part.stream = stream;
  return frame.more->emplace_back(std::move(part));
}

}  // namespace inline_prof::hook
