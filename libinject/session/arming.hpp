// The armed events of the present iteration: (function or label, stream) pairs whose launches are
// measured.  The thread that starts an iteration writes them, with the session's mutex held; every
// launching thread reads them.
#pragma once

#include "hook/launch.hpp"
#include "labels/label.hpp"
#include "launch/launch_filter.hpp"
#include "record/event_record.hpp"
#include "session/launch_site.hpp"
#include "timer/context_timer.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace inline_prof::session {

class Session;

// Occurrences of one function on one stream that one iteration measures: several if a step is so
// long that its budget allows many pairs.
inline constexpr std::size_t kMostOccurrences = 16;

struct WantedOccurrence {
  // The launch is the whole event, or a label's only, first or last one.
  enum class Part : std::uint8_t { kWhole, kOnlyOfLabel, kFirstOfLabel, kLastOfLabel };

  std::atomic<std::uint32_t> occurrence{0};
  std::atomic<Part> part{Part::kWhole};
  std::atomic<record::EventRecord*> event{nullptr};
  std::atomic<timer::ContextTimer::Pair*> taken{nullptr};  // in this iteration
  // From a label's first launch to its last one.
  std::atomic<timer::ContextTimer::Pair*> open{nullptr};
};

struct ArmedEvent {
  std::atomic<const void*> function{nullptr};            // CUfunction, Label or ExecutableGraph
  std::atomic<labels::Label*> label{nullptr};            // null for a kernel and a graph
  std::atomic<graphs::ExecutableGraph*> graph{nullptr};  // null for a kernel and a label
  std::atomic<const void*> stream{nullptr};
  std::atomic<std::uint32_t> launches{0};  // in this iteration
  std::atomic<std::uint32_t> expected{0};  // launches in an iteration as discovered; 0: any
  std::array<WantedOccurrence, kMostOccurrences> wanted;
  std::atomic<std::uint32_t> wanted_count{0};
  std::atomic<timer::ContextTimer*> timer{nullptr};
  std::atomic<timer::ContextTimer::Pair*> pair{nullptr};  // of a label between start and stop
};

// Whether a launch of another thread may come to lie in a pair.
enum class OtherThreads { kSpoilThePair, kAreWelcome };

class Arming {
 public:
  explicit Arming(Session& session) : session_(session) {}

  // Arms the events of `targets` in place of those of the last iteration.
  void arm(std::span<const std::size_t> targets, std::int64_t iteration);
  void disarm() noexcept;
  // The site has another function or stream from now on.
  void rename(const void* old_function, const void* old_stream, const void* function,
              const void* stream) noexcept;
  // Opens the gates of armed labels, after all gates were shut.
  void open_gates() noexcept;

  // Null if nothing is armed for the function on this stream.
  [[nodiscard]] ArmedEvent* find(const void* function, const void* stream) noexcept;
  // Counts one occurrence; null if it is not one of those to measure.
  [[nodiscard]] WantedOccurrence* count_occurrence(ArmedEvent& armed) noexcept;
  [[nodiscard]] hook::LaunchTicket begin_launch(const hook::Launch& launch);

  // Records the start event.  Null if that fails; the reason is counted.  The caller must close or
  // abandon the pair.
  [[nodiscard]] timer::ContextTimer::Pair* open_pair(
      timer::ContextTimer& timer, CUstream stream, record::EventRecord& event,
      std::int64_t iteration, OtherThreads others,
      timer::ContextTimer::Captures captures = timer::ContextTimer::Captures::kAreLeftAlone);
  // Records the stop event; the reason for which the sample is dropped is counted.
  void close_pair(const void* stream, timer::ContextTimer::Pair& pair);
  // The same for an armed event.  Abandons the pair if the launch failed or its iteration is over.
  [[nodiscard]] timer::ContextTimer::Pair* begin_pair(ArmedEvent& armed, WantedOccurrence& wanted,
                                                      OtherThreads others);
  void end_pair(const void* stream, timer::ContextTimer::Pair& pair, bool launched);

  // The present iteration is invalid: its samples are discarded.
  void void_iteration() noexcept { iteration_is_void_.store(true, std::memory_order_relaxed); }
  // True if the ending iteration had an unexpected launch count.
  [[nodiscard]] bool is_iteration_void() const noexcept {
    return iteration_is_void_.load(std::memory_order_relaxed);
  }
  // The same, while nothing is armed; the next one is whole until it turns out not to be.
  [[nodiscard]] bool take_void_iteration() noexcept {
    return iteration_is_void_.exchange(false, std::memory_order_relaxed);
  }
  // Something that is armed was launched more or less often than in the warm-up; or not at all.
  [[nodiscard]] bool some_were_not_as_expected() const noexcept;
  [[nodiscard]] bool some_were_not_launched() const noexcept;
  // Discards the samples of functions that were launched more or less often than in the warm-up, or
  // whose iteration was invalid, since it is unknown which launch was measured.  Iterations that
  // the application marks are trusted, but for labels that are told by their launches.  Returns
  // their number.
  std::uint32_t drop_samples_of_irregular_iteration() noexcept;

  // Marks every launch until the overhead measurement, or the end, if threads meet on a stream that
  // is measured: a launch that was let through as the next event was armed could not be seen.
  void mark_meeting_threads() noexcept;
  void stop_marking() noexcept;
  // A thread has a context since now.  Its first launch is seen if it comes within eight
  // iterations: then it is known on which streams it meets others.
  void expect_new_thread() noexcept;

 private:
  [[nodiscard]] std::span<ArmedEvent> armed() noexcept {
    return {armed_.data(), count_.load(std::memory_order_acquire)};
  }
  [[nodiscard]] std::span<const ArmedEvent> armed() const noexcept {
    return {armed_.data(), count_.load(std::memory_order_acquire)};
  }
  [[nodiscard]] ArmedEvent* entry_for(const LaunchSite& site, std::uint32_t& count);
  // One launch of the site is wanted; the others miss this sample if there is no room.
  void want(record::EventRecord& event, const LaunchSite& site, std::uint32_t occurrence,
            WantedOccurrence::Part part, std::uint32_t& count);
  [[nodiscard]] hook::LaunchTicket begin_part_of_label(ArmedEvent& armed, WantedOccurrence& wanted);
  [[nodiscard]] WantedOccurrence* first_of_label(const record::EventRecord& event) noexcept;
  void forget_armed() noexcept;
  // Not inline: its list would lie on the stack beside what arm() does before.
  [[gnu::noinline]] void publish_armed(std::uint32_t count);
  [[nodiscard]] bool are_all_marked() const noexcept;

  Session& session_;
  std::array<ArmedEvent, launch::LaunchFilter::kMostArmed> armed_;
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::int64_t> iteration_{0};    // that was armed last
  std::atomic<std::uint32_t> generation_{0};  // odd: being written
  std::atomic<bool> iteration_is_void_{false};
  std::atomic<bool> threads_meet_{false};  // on a stream of some target
  // Iterations left in which every launch is marked for a thread that may launch where it has not
  // so far.
  std::atomic<int> iterations_to_mark_{0};
};

// Extra information of a label's sample.
[[nodiscard]] record::ExtraInfos& extra_of(timer::ContextTimer::Pair& pair);

}  // namespace inline_prof::session
