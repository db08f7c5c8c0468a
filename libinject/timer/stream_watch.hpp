// Launches of other threads on the stream of an open pair: what they run would be timed with the
// pair's own.
//
// Both sides say first what they do and then look for the other: a launch is marked from before it
// is looked at until the driver has returned, and looks for pairs that are open on its stream; a
// pair is open from before its start event until after its stop event, and looks for launches that
// are marked there.  Whoever comes second sees the first, and the pair is spoiled.  A mark costs
// an instruction that locks the bus (5 ns), so that a program whose threads have a stream each
// makes none while it measures: threads_meet_on() tells.
#pragma once

#include <atomic>
#include <cstddef>

namespace inline_prof::timer {

struct StreamWatch {
  std::atomic<const void*> thread{nullptr};  // null: nobody's
  std::atomic<const void*> stream{nullptr};
  std::atomic<bool> is_spoiled{false};
};

// So many pairs are open at once that are watched; any further one counts as spoiled.
inline constexpr std::size_t kMostWatches = 64;

// Number of pairs that are watched.
extern constinit std::atomic<int> open_watches;

// Before the start event, and after the stop event.  Null for the per-thread default stream, on
// which no other thread launches.
[[nodiscard]] StreamWatch* open_watch(const void* stream) noexcept;
// True if another thread has launched meanwhile.
bool close_watch(StreamWatch& watch) noexcept;

// One launch, on its way into the driver and back.
struct alignas(64) LaunchMark {
  std::atomic<const void*> stream{nullptr};  // null: nobody's
  std::atomic<const void*> thread{nullptr};
};
[[nodiscard]] LaunchMark* mark_launch(const void* stream) noexcept;
void end_mark(LaunchMark* mark) noexcept;
// The ends of marked launches will not be heard of.
void forget_marks() noexcept;

class MarkedLaunch {
 public:
  explicit MarkedLaunch(const void* stream) noexcept : mark_(mark_launch(stream)) {}
  ~MarkedLaunch() { end_mark(mark_); }
  MarkedLaunch(const MarkedLaunch&) = delete;
  MarkedLaunch& operator=(const MarkedLaunch&) = delete;

 private:
  LaunchMark* mark_;
};

// This thread launches on the stream.
void note_thread_on(const void* stream) noexcept;
// True if several have, or if that is not known.
[[nodiscard]] bool threads_meet_on(const void* stream) noexcept;

}  // namespace inline_prof::timer
