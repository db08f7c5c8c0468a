#include "libraries/op_frame.hpp"

#include "hook/observer.hpp"
#include "sys/thread_memory.hpp"

#include <array>

namespace inline_prof::libraries {
namespace {

struct OpenOps {
  OpFrame frame;  // of the outermost call
  const OpScope* scope = nullptr;
  std::uint64_t number = 0;  // of the outermost scope so far
  int depth = 0;             // of calls that are open; 0: none
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

// Returns the stack's end: everything that is still open lies above.
[[gnu::noinline]] std::uintptr_t stack_now() noexcept {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

// Returns true if a jump left the outermost call without its destructor.
bool was_left(const OpenOps& open) noexcept {
  return reinterpret_cast<std::uintptr_t>(open.scope) <= stack_now() ||
         open.scope->number() != open.number;
}

void abandon(OpPart& part) noexcept {
  if (part.pair != nullptr && hook::observer() != nullptr) part.pair->timer->abandon(*part.pair);
}

// Gives up the pairs of a call that was left: they would time everything since.
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
  number_ = ++open->number;
  return open->call.data();
}

void OpScope::close() noexcept {
  OpenOps* const open = open_ops.get();
  if (open == nullptr || open->depth == 0) return;
  if (open->scope == this && number_ == open->number) return close_outermost(*open);
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

// A personality routine (Itanium C++ ABI: Exception Handling, 1.6.2) of the wrappers.  It is called
// twice for each frame: to search for a handler, of which there is none, and to clean up.
extern "C" [[gnu::visibility("hidden")]] int inline_prof_close_unwound(int, int actions,
                                                                       std::uint64_t,
                                                                       void* unwinding,
                                                                       void*) noexcept;
int inline_prof_close_unwound(int, int actions, std::uint64_t, void*, void*) noexcept {
  constexpr int clean_up = 2;         // _UA_CLEANUP_PHASE
  constexpr int continue_unwind = 8;  // _URC_CONTINUE_UNWIND
  if ((actions & clean_up) != 0) close_innermost_op();
  return continue_unwind;
}

}  // namespace inline_prof::libraries
