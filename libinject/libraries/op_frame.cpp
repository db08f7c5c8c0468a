#include "libraries/op_frame.hpp"

#include "hook/observer.hpp"
#include "sys/thread_memory.hpp"

#include <array>

namespace inline_prof::libraries {
namespace {

struct OpenOps {
  OpFrame frame;  // of the outermost call
  const OpScope* scope = nullptr;
  std::uint64_t mark = 0;
  int depth = 0;  // of calls that are open; 0: none
  alignas(std::max_align_t) std::array<unsigned char, kLongestCall> call{};
};

[[gnu::tls_model("initial-exec")]] constinit thread_local sys::PerThread<OpenOps> open_ops;

void close_part(OpPart& part) {
  if (part.pair == nullptr) return;
  auto* pair = std::exchange(part.pair, nullptr);
  hook::Observer* session = hook::observer();
  if (session != nullptr) session->end_pair(*pair, part.stream, part.pair_of);
}

void close_parts(OpFrame& frame) noexcept {
  hook::fenced(frame.event_name, [&] {
    close_part(frame.first);
    if (frame.more == nullptr) return;
    for (OpPart& part : *frame.more)
      close_part(part);
  });
}

// Where the stack stands: everything that is still open lies above.
[[gnu::noinline]] std::uintptr_t stack_now() noexcept {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

// The outermost call was left without a word, by a jump.
bool was_left(const OpenOps& open) noexcept {
  return reinterpret_cast<std::uintptr_t>(open.scope) <= stack_now() ||
         open.scope->mark() != open.mark;
}

void abandon(OpPart& part) noexcept {
  if (part.pair != nullptr && hook::observer() != nullptr) part.pair->timer->abandon(*part.pair);
}

// A pair that was not closed in the call would hold everything since.
void forget(OpenOps& open) noexcept {
  abandon(open.frame.first);
  if (open.frame.more != nullptr) {
    for (OpPart& part : *open.frame.more)
      abandon(part);
  }
  open.frame = {};
  open.depth = 0;
}

void close_outermost(OpenOps& open) noexcept {
  if (open.frame.first.pair != nullptr || open.frame.more != nullptr) close_parts(open.frame);
  open.frame = {};
  open.depth = 0;
}

}  // namespace

void* OpScope::open(const char* event_name, DescribeOp describe) noexcept {
  OpenOps* const open = open_ops.make();
  if (open == nullptr) return nullptr;
  if (open->depth > 0 && was_left(*open)) forget(*open);
  if (++open->depth > 1) return nullptr;
  open->frame.event_name = event_name;
  open->frame.describe = describe;
  open->frame.call = open->call.data();
  open->scope = this;
  mark_ = ++open->mark;
  return open->call.data();
}

void OpScope::close() noexcept {
  OpenOps* const open = open_ops.get();
  if (open == nullptr || open->depth == 0) return;
  if (open->scope == this && mark_ == open->mark) return close_outermost(*open);
  if (open->depth > 1) --open->depth;
}

void close_innermost_op() noexcept {
  OpenOps* const open = open_ops.get();
  if (open == nullptr || open->depth == 0) return;
  if (--open->depth == 0) close_outermost(*open);
}

OpFrame* outermost_op() noexcept {
  OpenOps* const open = open_ops.get();
  if (open == nullptr || open->depth == 0) return nullptr;
  if (!was_left(*open)) return &open->frame;
  forget(*open);
  return nullptr;
}

OpPart& part_on(OpFrame& frame, const void* stream) {
  if (frame.first.stream == nullptr) frame.first.stream = stream;
  if (frame.first.stream == stream) return frame.first;
  if (frame.more == nullptr) frame.more = std::make_unique<std::vector<OpPart>>();
  for (OpPart& part : *frame.more) {
    if (part.stream == stream) return part;
  }
  OpPart part;
  part.stream = stream;
  return frame.more->emplace_back(std::move(part));
}

}  // namespace inline_prof::libraries
