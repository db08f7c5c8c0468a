// Detects launches of other threads on the stream of an open pair: their time would be part of the
// pair's.
//
// A launch is under way from before it looks for open pairs until the driver has returned.  A pair
// claims exclusive use of its stream from before its start event until after its stop event, and
// looks for launches under way there.  Each side announces itself before it looks for the other, so
// the later one sees the earlier one, and the pair is spoiled.  An announcement costs an
// instruction that locks the bus (5 ns).  A program whose threads have a stream each makes none
// while it measures: threads_meet_on() tells.
#pragma once

#include <atomic>
#include <cstddef>

namespace inline_prof::timer {

// The claim of a pair to be alone on its stream.
struct ExclusiveUse {
  std::atomic<const void*> thread{nullptr};  // null: free
  std::atomic<const void*> stream{nullptr};
  std::atomic<bool> is_spoiled{false};
};

// Pairs that may claim a stream at once; any further one counts as spoiled.
inline constexpr std::size_t kMostExclusiveUses = 64;

// The number of pairs that claim a stream.
extern constinit std::atomic<int> exclusive_uses;

// Called before the start event.  Null for the per-thread default stream, on which no other thread
// launches.
[[nodiscard]] ExclusiveUse* begin_exclusive_use(const void* stream) noexcept;
// Called after the stop event.  Returns true if another thread has launched meanwhile.
bool end_exclusive_use(ExclusiveUse& use) noexcept;

// One launch, on its way into the driver and back.
struct alignas(64) LaunchUnderWay {
  std::atomic<const void*> stream{nullptr};  // null: free
  std::atomic<const void*> thread{nullptr};
};
[[nodiscard]] LaunchUnderWay* begin_launch(const void* stream) noexcept;
void end_launch(LaunchUnderWay* launch) noexcept;
// Called when the ends of launches under way will not be reported.
void forget_launches() noexcept;

class LaunchScope {
 public:
  explicit LaunchScope(const void* stream) noexcept : launch_(begin_launch(stream)) {}
  ~LaunchScope() { end_launch(launch_); }
  LaunchScope(const LaunchScope&) = delete;
  LaunchScope& operator=(const LaunchScope&) = delete;

 private:
  LaunchUnderWay* launch_;
};

// Notes that this thread launches on the stream.
void note_thread_on(const void* stream) noexcept;
// Returns true if several threads have, or if that is not known.
[[nodiscard]] bool threads_meet_on(const void* stream) noexcept;

}  // namespace inline_prof::timer
