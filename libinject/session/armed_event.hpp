// The armed (function or label, stream) pairs of the running iteration.
#pragma once

#include "record/event_record.hpp"
#include "session/iteration_boundary.hpp"
#include "session/phases.hpp"
#include "session/rebinding.hpp"
#include "timer/context_timer.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace inline_prof::hook {

struct ExecutableGraph;
struct Label;
struct State;

// Occurrences of one function on one stream that one iteration measures: several where a step is
// so long that its budget allows many pairs.
inline constexpr std::size_t kMostOccurrences = 16;

struct WantedOccurrence {
  std::atomic<std::uint32_t> occurrence{0};
  std::atomic<record::EventRecord*> event{nullptr};
  std::atomic<timer::ContextTimer::Pair*> taken{nullptr};  // in this iteration
};

// Written by the thread that starts an iteration, read by every launching thread.  All members are
// atomic, and arming_generation tells a reader that they were rewritten meanwhile.
struct ArmedEvent {
  std::atomic<const void*> function{nullptr};    // CUfunction or Label
  std::atomic<Label*> label{nullptr};            // null for a kernel and a graph
  std::atomic<ExecutableGraph*> graph{nullptr};  // null for a kernel and a label
  std::atomic<const void*> stream{nullptr};
  std::atomic<std::uint32_t> site{0};      // in this iteration
  std::atomic<std::uint32_t> expected{0};  // occurrences in an iteration as discovered; 0: any
  std::array<WantedOccurrence, kMostOccurrences> wanted;
  std::atomic<std::uint32_t> wanted_count{0};
  std::atomic<timer::ContextTimer*> timer{nullptr};
  std::atomic<std::int64_t> iteration{0};
  std::atomic<timer::ContextTimer::Pair*> pair{nullptr};  // of a label between start and stop
};

// Eight GPUs with eight streams each.
inline constexpr std::size_t kMostArmed = 64;

extern constinit std::array<ArmedEvent, kMostArmed> armed_events;
extern constinit std::atomic<std::uint32_t> armed_count;
extern constinit std::atomic<std::uint32_t> arming_generation;  // odd: being written

// Every launch of this iteration is measured (modes one_shot and unit_test).
extern constinit std::atomic<bool> measures_everything;

// True if a launch of `function` only has to be forwarded: profiling is on, that handle is not
// armed.
[[nodiscard]] inline bool is_settled(const void* function) noexcept {
  if (is_boundary(function) || measures_everything.load(std::memory_order_relaxed) ||
      sites_are_lost.load(std::memory_order_relaxed) || watching.load(std::memory_order_relaxed)) {
    return false;
  }
  const auto count = armed_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (armed_events[i].function.load(std::memory_order_relaxed) == function) return false;
  }
  return true;
}

// A function on a stream, as the launch table has them.
struct SiteKey {
  const void* function = nullptr;
  const void* stream = nullptr;
};
// What is armed for `old`, and what starts iterations there, is `fresh` from now on.
void rename_armed(const SiteKey& old, const SiteKey& fresh) noexcept;

// Sets the filter while something is captured or a pair is open; and resets it afterwards.
void look_at_every_launch() noexcept;
void look_at_armed_launches() noexcept;

// After all gates were shut.
void open_gates_of_armed() noexcept;

// The application has created `graph` again: what is armed for it is armed for its new exec.
void follow_new_exec(const ExecutableGraph& graph) noexcept;

// Null if nothing is armed for the function on this stream.
[[nodiscard]] ArmedEvent* armed_for(const void* function, const void* stream) noexcept;

// Counts one occurrence; null if it is not one of those to measure.
[[nodiscard]] WantedOccurrence* count_occurrence(ArmedEvent& armed) noexcept;

// A launch of another thread on the stream of an open pair.
enum class OtherThreads { kSpoilThePair, kAreWelcome };

// Records the start event.  Null if that fails; the reason is counted.  The caller must close or
// abandon the pair.
[[nodiscard]] timer::ContextTimer::Pair* open_pair(
    State& state, timer::ContextTimer& timer, CUstream stream, record::EventRecord& event,
    std::int64_t iteration, OtherThreads others,
    timer::ContextTimer::Captures captures = timer::ContextTimer::Captures::kAreLeftAlone);
// Records the stop event; the reason for which the sample is dropped is counted.
void close_pair(State& state, const void* stream, timer::ContextTimer::Pair& pair);

// The same for what is armed.
[[nodiscard]] timer::ContextTimer::Pair* begin_pair(State& state, ArmedEvent& armed,
                                                    WantedOccurrence& wanted, OtherThreads others);
// The current iteration is invalid: its samples are discarded.
void void_iteration() noexcept;

// Every launch is looked at until the overhead measurement, or the end, where threads meet on a
// stream that is measured: one that was let through as the next event was armed could not be seen.
void look_at_meeting_threads(const State& state) noexcept;
void stop_looking_at_meeting_threads() noexcept;
// A thread has a context since now.  Its first launch is seen if it comes within eight iterations:
// then it is known on which streams it meets others.  With the mutex held.
void expect_new_thread() noexcept;
// True if that is all for which a launch of this handle, a graph's, is looked at.
[[nodiscard]] bool is_only_marked(const void* handle) noexcept;

// Counts why a pair could not begin.
void count_refusal(State& state, timer::ContextTimer::BeginResult result) noexcept;

// Where the extra information of a label is kept.
[[nodiscard]] record::ExtraInfos& extra_of(timer::ContextTimer::Pair& pair);

// Records the stop event, unless the sample is not `wanted` or the iteration is over.
void end_pair(State& state, ArmedEvent& armed, const void* stream, timer::ContextTimer::Pair& pair,
              bool wanted);

}  // namespace inline_prof::hook
