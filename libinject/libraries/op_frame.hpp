// A library call (a GEMM, a convolution, a collective) and the launches inside it.
#pragma once

#include "hook/launch.hpp"
#include "record/event_record.hpp"
#include "timer/context_timer.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace inline_prof::graphs {
struct NodeNotes;
}

namespace inline_prof::libraries {

// The launches of one frame on one stream are one event.  A group of collectives may use several
// streams.
struct OpPart {
  const void* stream = nullptr;
  record::EventRecord* event = nullptr;             // while events are discovered
  hook::PairOf pair_of = hook::PairOf::kAnyLaunch;
  timer::ContextTimer::Pair* pair = nullptr;        // null: not open
  std::shared_ptr<const graphs::NodeNotes> captured;  // while the launches become nodes of a graph
  bool is_learned = false;  // while operators are: its first launch was noted
};

// The operation of the launches on `stream`; an empty kind where it is not known.  Asked for once
// per new event, while events are discovered.
using DescribeOp = record::Op (*)(const void* call, const void* stream);

// Kept by the thread and not on the wrapper's stack: a signal handler of the application's may
// leave the vendor's function by siglongjmp(), and no wrapper would say that its frame is gone.
struct OpFrame {
  const char* event_name = nullptr;  // "gemm", "conv.forward", "all_reduce"
  DescribeOp describe = nullptr;
  const void* call = nullptr;  // a copy of the wrapper's arguments, for `describe`

  // Filled in by the launches inside.
  OpPart first{};
  std::unique_ptr<std::vector<OpPart>> more{};  // further streams
};

// Bytes of the longest list of arguments: a matrix product's with its two scales.
inline constexpr std::size_t kLongestCall = 320;

// While it lives, this thread is in a vendor call.  Nested ones belong to the outermost: one
// library's call into another is part of the application's call.  Nothing is described unless a
// launch inside asks.
class OpScope {
 public:
  template <typename Call>
  OpScope(const char* event_name, DescribeOp describe, const Call& call) noexcept {
    static_assert(std::is_trivially_destructible_v<Call> && sizeof(Call) <= kLongestCall);
    if (void* const place = open(event_name, describe)) new (place) Call(call);
  }
  ~OpScope() {
    close();  // ends pairs that are still open
    mark_ = 0;
  }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

  [[nodiscard]] std::uint64_t mark() const noexcept { return mark_; }

 private:
  // Where the arguments go; null in a nested call.
  void* open(const char* event_name, DescribeOp describe) noexcept;
  void close() noexcept;

  // Tells this object from what stands in its place once it was left without its destructor.
  volatile std::uint64_t mark_ = 0;
};

// Of a wrapper that is being unwound.
void close_innermost_op() noexcept;

// Null where this thread is in no vendor call.
[[nodiscard]] OpFrame* outermost_op() noexcept;

// The frame's part on `stream`, created if missing.
[[nodiscard]] OpPart& part_on(OpFrame& frame, const void* stream);

}  // namespace inline_prof::libraries
