// Decides where an iteration starts if the application makes no call that says so: at a range of
// its own (NVTX), at a kernel that the user names, at the launches that a period was found to begin
// with, or at those between which its calls fell as long as it made them.
#pragma once

#include "launch/launch_filter.hpp"
#include "schedule/iteration_finder.hpp"
#include "schedule/iteration_follower.hpp"
#include "session/launch_site.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace inline_prof::schedule {
class IterationFollower;
}
namespace inline_prof::sys {
struct ThreadState;
}

namespace inline_prof::session {

class Session;

enum class IterationMark { kCall, kRange, kLaunch };

// A stream's launches so far in a run whose iterations are searched for.  Slots of the launch table
// do not last as long as a search: functions do.
struct Search {
  explicit Search(std::size_t period) : finder(period) {}
  schedule::IterationFinder finder;
  std::uint64_t launches = 0;
  const sys::ThreadState* first_thread = nullptr;
  bool is_by_other = false;            // the last launch, than the first
  std::vector<const void*> functions;  // by the finder's symbol
  std::unordered_map<const void*, std::uint32_t> symbols;
  bool is_due = false;  // found, and not followed yet
  // The run's iterations, while they are this stream's; two devices have streams of one handle.
  std::optional<schedule::FoundIteration> followed{};
  std::uint64_t followed_at = 0;  // the finder's launches by then
};

// With the session's mutex held, unless noted.
class IterationSource {
 public:
  explicit IterationSource(Session& session) : session_(session) {}

  // The iterations come from a period, and not from a mark.
  [[nodiscard]] bool is_guessed() const noexcept { return is_guessed_; }

  // Called before each examined launch, without the mutex: true if an iteration starts with it.
  [[nodiscard]] bool starts_with(const hook::Launch& launch);
  // Checks whether a new kernel is the one that the user has named.
  void note_kernel(const hook::Launch& launch, const KernelInfo& kernel);
  // The application opens an NVTX range.  Starts an iteration if the user's pattern matches.  True
  // if the user has named this range.  Has a fence of its own; takes the mutex.
  [[nodiscard]] bool note_range(const char* text) noexcept;

  // While iterations are searched for: adds one launch, in stream order, after it was made.  False
  // if the warm-up has begun again, and `site` is gone.
  [[nodiscard]] bool add_launch(const LaunchSite& site);
  // Checks the period once more, and ends the search if it `is_over` and the period was seen up to
  // now.  False if it was a part of a longer one: the warm-up has begun again.
  [[nodiscard]] bool confirm(bool is_over);
  // True once the search has met so many launches that a loop over layers or micro-steps would
  // have ended.
  [[nodiscard]] bool has_met_enough() const noexcept {
    constexpr std::uint64_t launches = std::uint64_t{32} << 10U;
    return searched_launches_ >= launches;
  }
  // Doubts the iterations if launches stopped repeating as they do, and the search found no others.
  void judge_what_was_withdrawn();
  // The search goes on, though iterations were found.
  [[nodiscard]] bool is_searching() const noexcept;
  void end_search();
  void forget_searches() { searches_.clear(); }
  // Leaves the phase, and searches once more in what is launched from now on: its iterations have
  // ended, or are in doubt, or a search behind it was given up.
  void search_again(const char* reason);

  // The application says itself where iterations begin: what was guessed before is forgotten,
  // unless all of it is recorded.
  void give_way_to_calls();

  // --- Launches in place of calls.  An application that can be told to call again (trigger.hpp)
  // needs to call only until the launches around its calls are known, and while they vary.

  // A launch of the first iteration of a discovery, in which all are met, and its beginning.
  void note_order(const LaunchSite& site);
  void begin_order();
  // A call starts an iteration, and has started it.
  void note_call();
  void note_started();
  // Launches tell iterations: no call is needed.  Needs no mutex.
  [[nodiscard]] bool is_told_by_launches() const noexcept {
    return is_told_by_launches_.load(std::memory_order_acquire);
  }
  // True if the call that comes now falls on such a launch, with which the iteration will start.
  // Needs no mutex.
  [[nodiscard]] bool leaves_call_to_launch() noexcept;
  // Calls tell iterations again, until they have been found to fall on the same launches.  Needs no
  // mutex.
  void ask_for_calls() noexcept;

  // While a boundary's stream, context or module is gone: what takes its place is searched for
  // before each launch, since an iteration may begin with that.  Needs no mutex.
  [[nodiscard]] bool is_lost() const noexcept { return is_lost_.load(std::memory_order_relaxed); }
  void set_lost(bool lost) noexcept { is_lost_.store(lost, std::memory_order_relaxed); }
  // A boundary has another handle, or is on another stream, from now on.  False if it is none.
  bool move(const void* old_function, const void* old_stream, const void* function,
            const void* stream) noexcept;
  // A boundary's handles are gone.
  void lose_boundary();
  // All sites are forgotten, a lost boundary's among them.
  void forget_lost();
  // The filter bits of the boundaries' handles.
  [[nodiscard]] std::uint64_t filter_bits() const noexcept;

  // The host waits for the device, or copies: takes the mutex if iterations are searched for.
  void note_host_wait();
  // Likewise; ranks add up so many bytes.
  void note_reduction(std::size_t bytes);
  // Something hints that the period has ended: a wait of the host, a graph that is made, which
  // counts as kHintsOfGraph waits.  Takes the mutex once there are too many.
  static constexpr std::uint32_t kHintsOfGraph = 8;
  void note_hint(std::uint32_t weight = 1);
  // Many launches went by without an iteration.
  void note_end_of_iterations();
  // Called at the end of a run that has left its iterations: if more launches followed than were
  // in them, they are doubtful.
  void judge_what_was_left();
  // Lowers the confidence below one half, and says why.
  void doubt(const std::string& why);
  // An iteration starts that is passed over.  Needs no mutex.
  void forget_hints() noexcept { hints_.store(0, std::memory_order_relaxed); }
  // An iteration starts.  In the warm-up waits are only counted: they tell how many are usual.
  void count_hints_from_now_on(bool is_measured);

 private:
  static constexpr std::size_t kBoundaries = launch::LaunchFilter::kBoundaries;

  [[nodiscard]] bool follow(const LaunchSite& site, Search& search);
  void find_place_of_calls();
  [[nodiscard]] bool starts_in_place_of_call(const void* function);
  void follow_again();
  void note_found(const schedule::FoundIteration& found);
  void forget();
  [[nodiscard]] bool starts_anew(Search& search);
  void begin_warmup_again();
  void lose_period();
  [[nodiscard]] bool is_busiest(const Search& search) const;
  [[nodiscard]] const graphs::ExecutableGraph* boundary_graph(const void* function) const noexcept;

  Session& session_;
  bool is_guessed_ = false;
  std::map<const StreamInfo*, Search> searches_;
  std::uint64_t searched_launches_ = 0;
  // The stream of the first match: the same kernel on another device starts no iteration.
  std::atomic<const void*> stream_{nullptr};
  std::array<std::atomic<const graphs::ExecutableGraph*>, kBoundaries> graphs_{};
  std::atomic<bool> is_lost_{false};
  // Tells which of the boundaries' launches start an iteration; null for a named kernel.  Its
  // launches come one after the other: they are those of one stream.
  std::atomic_flag is_following_ = ATOMIC_FLAG_INIT;
  std::atomic<schedule::IterationFollower*> follower_{nullptr};  // never freed
  std::atomic<std::uint32_t> hints_{0};
  std::atomic<std::uint32_t> usual_hints_{0};

  struct Ordered {
    const LaunchSite* site;
    const sys::ThreadState* thread;
  };
  std::vector<Ordered> order_;    // of the first iteration of a discovery
  schedule::MarkFollower calls_;  // guarded by is_following_
  std::atomic<bool> has_place_{false};
  std::atomic<bool> is_told_by_launches_{false};
  int calls_in_place_ = 0;      // in a row
  int calls_out_of_place_ = 0;  // in this phase
};

}  // namespace inline_prof::session
