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
  record::EventRecord* event = nullptr;  // while events are discovered
  hook::PairOf pair_of = hook::PairOf::kAnyLaunch;
  timer::ContextTimer::Pair* pair = nullptr;          // null: not open
  std::shared_ptr<const graphs::NodeNotes> captured;  // while the launches become nodes of a graph
  bool is_learned = false;  // while operators are learned: its first launch was noted
};

// Returns the operation of the launches on `stream`; an empty kind if it is not known. Called once
// per new event, while events are discovered.
using DescribeOp = record::Op (*)(const void* call, const void* stream);

// The open call of a thread. Not on the wrapper's stack: a signal handler of the application's may
// leave the vendor's function by siglongjmp(), and no wrapper would report that its frame is gone.
struct OpFrame {
  const char* event_name = nullptr;  // "gemm", "conv.forward", "all_reduce"
  DescribeOp describe = nullptr;
  const void* call = nullptr;  // a copy of the wrapper's arguments, for `describe`

  // The launches inside fill in these.
  OpPart first{};
  std::unique_ptr<std::vector<OpPart>> more{};  // further streams
};

// The size of the longest list of arguments: a matrix product's with its two scales.
inline constexpr std::size_t kLongestCall = 320;

// The scope of a vendor call on this thread. Nested calls belong to the outermost: one library's
// call into another is part of the application's call. Nothing is described unless a launch inside
// asks.
class OpScope {
 public:
  template <typename Call>
  OpScope(const char* event_name, DescribeOp describe, const Call& call) noexcept {
    // A call may be a pointer to its description.  NOLINTNEXTLINE(bugprone-sizeof-expression)
    static_assert(std::is_trivially_destructible_v<Call> && sizeof(Call) <= kLongestCall);
    if (void* const place = open(event_name, describe)) new (place) Call(call);
  }
  ~OpScope() {
    close();  // ends pairs that are still open
    number_ = 0;
  }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  // Returns the place for the arguments; null in a nested call.
  void* open(const char* event_name, DescribeOp describe) noexcept;
  void close() noexcept;

  // Distinguishes this object from what takes its place once it was left without its destructor.
  volatile std::uint64_t number_ = 0;
};

// Called when a wrapper is unwound.
void close_innermost_op() noexcept;

// Returns null if this thread is in no vendor call.
[[nodiscard]] OpFrame* outermost_op() noexcept;

// Returns the frame's part on `stream`, created if missing.
[[nodiscard]] OpPart& part_on(OpFrame& frame, const void* stream);

}  // namespace inline_prof::libraries
