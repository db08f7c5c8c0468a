// One armed (function or label, stream) of the running iteration.
#pragma once

#include "record/event_record.hpp"
#include "timer/context_timer.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace inline_prof::hook {

struct Label;
struct State;

// Written by the thread at the iteration's start, read by every launching thread: all atomic, with
// a generation that tells a reader when it was rewritten under him (odd: being written).
struct ArmedEvent {
  std::atomic<std::uint32_t> generation{0};
  std::atomic<const void*> function{nullptr};  // CUfunction or Label
  std::atomic<Label*> label{nullptr};          // null for a kernel
  std::atomic<const void*> stream{nullptr};
  std::atomic<std::uint32_t> occurrence{0};
  std::atomic<std::uint32_t> met{0};  // in this iteration
  std::atomic<record::EventRecord*> event{nullptr};
  std::atomic<timer::ContextTimer*> timer{nullptr};
  std::atomic<std::int64_t> iteration{0};
  std::atomic<const void*> open_by{nullptr};  // the thread that has the pair open
  std::atomic<bool> interleaved{false};
  std::atomic<timer::ContextTimer::Pair*> pair{nullptr};  // of a label between start and stop
};

// Eight GPUs with eight streams each.
inline constexpr std::size_t kMostArmed = 64;

extern constinit std::array<ArmedEvent, kMostArmed> armed_events;
extern constinit std::atomic<std::uint32_t> armed_count;

// Pairs that are being recorded right now.
extern constinit std::atomic<int> open_pairs;

// True where a launch of `function` concerns nobody: profiling goes on, nothing of that handle is
// armed, and no pair is open into which the launch could get.
[[nodiscard]] inline bool is_settled(const void* function) noexcept {
  const auto count = armed_count.load(std::memory_order_acquire);
  if (count == 0 || open_pairs.load(std::memory_order_relaxed) != 0) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (armed_events[i].function.load(std::memory_order_relaxed) == function) return false;
  }
  return true;
}

// Null where nothing is armed for the pair.
[[nodiscard]] ArmedEvent* armed_for(const void* function, const void* stream) noexcept;

// A launch of another thread on the stream of an open pair.
enum class OtherThreads { kSpoilThePair, kAreWelcome };

// Records the start event; null where it cannot be, the reason counted.  The caller ends or
// abandons what it gets.
[[nodiscard]] timer::ContextTimer::Pair* begin_pair(State& state, ArmedEvent& armed,
                                                    OtherThreads others);
// Records the stop event, unless the host's work was not `wanted` or another thread got between.
void end_pair(State& state, ArmedEvent& armed, timer::ContextTimer::Pair& pair, bool wanted);
void close_pair(ArmedEvent& armed) noexcept;

}  // namespace inline_prof::hook
