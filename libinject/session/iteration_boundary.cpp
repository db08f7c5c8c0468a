#include "session/iteration_boundary.hpp"

#include "base/glob.hpp"
#include "hook/guard.hpp"
#include "launch/launch.hpp"
#include "schedule/iteration_finder.hpp"
#include "schedule/iteration_follower.hpp"
#include "session/arming.hpp"
#include "session/discovery.hpp"
#include "session/phases.hpp"
#include "session/planning.hpp"
#include "session/session.hpp"
#include "session/state.hpp"
#include "sys/hot_line.hpp"
#include "sys/large_stack.hpp"
#include "sys/lifecycle.hpp"
#include "sys/thread_state.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace inline_prof::hook {

constinit std::array<std::atomic<const void*>, kBoundaryFunctions> boundary_functions{};
constinit std::atomic<bool> looking_for_period{false};
constinit std::atomic<bool> boundary_is_lost{false};

namespace {

// The stream of the first match: the same kernel on another device starts no iteration.
constinit std::atomic<const void*> boundary_stream{nullptr};

// Tells which of the boundary functions' launches start an iteration; a period only.  Its launches
// come one after the other: they are those of one stream.
constinit std::atomic_flag following = ATOMIC_FLAG_INIT;
constinit std::atomic<schedule::IterationFollower*> follower{nullptr};  // never freed

// What the stream's launches were so far in a run whose iterations are looked for.  Slots of the
// launch table do not last as long as a search: functions do.
struct Search {
  explicit Search(std::size_t period) : finder(period) {}
  schedule::IterationFinder finder;
  std::uint64_t launches = 0;
  const sys::ThreadState* thread = nullptr;  // that made the last one
  std::vector<const void*> functions;        // by the finder's symbol
  std::unordered_map<const void*, std::uint32_t> symbols;
  bool is_due = false;       // found, and not followed yet
  bool is_followed = false;  // its iterations are the run's; two devices have streams of one handle
};

// Number of streams that are searched; the busiest ones have the program's work.
constexpr std::size_t kMostSearches = 16;

std::map<const StreamInfo*, Search>& searches() {
  static auto* const all = new std::map<const StreamInfo*, Search>;
  return *all;
}

// After a million launches without a period, the program has none or one that is too long.
constexpr std::uint64_t kLongestSearch = std::uint64_t{1} << 20U;
// Behind it, where the program has left its iterations.
constexpr std::uint64_t kLongestSearchAgain = std::uint64_t{256} << 10U;
std::uint64_t searched_launches = 0;

// What hints at iterations that come no more: waits of the host, graphs that are made.  More than
// there usually are between two iterations.
constexpr std::uint32_t kFewestHints = 32;
constexpr std::uint32_t kHintsPerUsual = 4;
constinit std::atomic<bool> hints_count{false};
constinit std::atomic<std::uint32_t> hints{0};
constinit std::atomic<std::uint32_t> usual_hints{0};

void give_up() {
  looking_for_period.store(false, std::memory_order_relaxed);
  sys::on_large_stack([] { searches().clear(); });
}

bool is_busiest(const Search& search) {
  for (const auto& [stream, other] : searches()) {
    if (other.launches > search.launches) return false;
  }
  return true;
}

// PyTorch's own range around an optimizer's step (torch/optim/optimizer.py, profile_hook_step).
constexpr const char* kOptimizerRange = "Optimizer.step*";

// The boundary functions that stand for graphs.
constinit std::array<std::atomic<const ExecutableGraph*>, kBoundaryFunctions> boundary_graphs{};

const ExecutableGraph* boundary_graph(const void* function) noexcept {
  for (const auto& each : boundary_graphs) {
    const ExecutableGraph* graph = each.load(std::memory_order_relaxed);
    if (graph == function) return graph;
  }
  return nullptr;
}

void note_found(State& state, const schedule::FoundIteration& found) {
  const std::lock_guard lock(state.run.mutex);
  state.run.iteration_confidence = found.confidence;
  state.run.iteration_launches = static_cast<std::int64_t>(found.launches_per_iteration);
  state.run.other_period = static_cast<std::int64_t>(found.other_period);
}

void forget_boundary(State& state) {
  hints_count.store(false, std::memory_order_relaxed);
  for (auto& function : boundary_functions)
    function.store(nullptr, std::memory_order_relaxed);
  boundary_stream.store(nullptr, std::memory_order_relaxed);
  follower.store(nullptr, std::memory_order_release);
  for (auto& [stream, search] : searches())
    search.is_followed = false;
  boundary_is_lost.store(false, std::memory_order_relaxed);
  state.boundary_is_guessed = false;
}

// What was found is followed as soon as it is launched again.
void follow_again() {
  for (auto& [stream, search] : searches())
    search.is_due = search.finder.found().has_value();
}

// No iteration has begun yet, and all sites are forgotten.  With the mutex held.
void begin_warmup_again(State& state) {
  forget_boundary(state);
  disarm();
  sys::on_large_stack([&] { forget_discovery(state); });
  if (state.courses.empty()) {
    state.iteration.store(0);
    const std::lock_guard run_lock(state.run.mutex);
    state.run.iteration_source = "none";
    state.run.phase_in_making = -1;  // what is met from now on is no phase's
  }
  state.phase.store(Phase::kBeforeIterations);
  sys::set_filter(sys::kEveryLaunch);
  looking_for_period.store(true, std::memory_order_relaxed);
}

// A graph launch counts as launches of all its kernels, so that a period is accepted as soon as if
// the program launched them itself.
constexpr std::uint32_t kMostInReplay = 512;  // as many are as good as more

std::uint32_t launches_of(const LaunchSite& site) {
  if (site.graph == nullptr) return 1;
  return std::clamp(site.graph->kernels.load(std::memory_order_relaxed), 1U, kMostInReplay);
}

bool add_launch(Search& search, const LaunchSite& site) {
  const void* function = site.slot->function.load(std::memory_order_relaxed);
  const auto [known, is_new] =
      search.symbols.try_emplace(function, static_cast<std::uint32_t>(search.functions.size()));
  if (is_new) search.functions.push_back(function);
  const sys::ThreadState* before = std::exchange(search.thread, &sys::this_thread);
  if (before != nullptr && before != search.thread) search.finder.add_turn();
  using Added = schedule::IterationFinder::Added;
  const Added added = search.finder.append(known->second, launches_of(site));
  bool has_changed = added == Added::kAndChanged;
  if (added == Added::kAndIsDue) sys::on_large_stack([&] { has_changed = search.finder.look(); });
  return has_changed;
}

bool confirmed_otherwise(schedule::IterationFinder& finder) {
  bool has_changed = false;
  sys::on_large_stack([&] { has_changed = finder.confirm(); });
  return has_changed;
}

}  // namespace

std::uint64_t boundary_filter() noexcept {
  std::uint64_t filter = sys::kNoLaunch;
  for (const auto& each : boundary_functions) {
    const void* function = each.load(std::memory_order_relaxed);
    if (function == nullptr) continue;
    const ExecutableGraph* graph = boundary_graph(function);
    if (graph != nullptr) function = graph->exec.load(std::memory_order_acquire);
    filter |= std::uint64_t{1} << sys::filter_bit(function);
  }
  return filter;
}

void move_boundary(const void* old_function, const void* old_stream, const void* function,
                   const void* stream) noexcept {
  // Both functions are on one stream, and move one after the other.
  const void* known = boundary_stream.load(std::memory_order_relaxed);
  if (known != old_stream && known != stream) return;
  bool has_moved = false;
  for (auto& each : boundary_functions) {
    if (each.load(std::memory_order_relaxed) != old_function) continue;
    each.store(function, std::memory_order_relaxed);
    has_moved = true;
  }
  if (has_moved) boundary_stream.store(stream, std::memory_order_release);
}

void forget_lost_boundary(State& state) {
  if (!boundary_is_lost.load(std::memory_order_relaxed)) return;
  forget_boundary(state);
  follow_again();
}

void note_kernel(const State& state, const Launch& launch, const KernelInfo& kernel) {
  if (state.config.iteration_source != sys::IterationSource::kKernel ||
      boundary_stream.load(std::memory_order_relaxed) != nullptr) {
    return;
  }
  const std::string& glob = state.config.iteration_glob;
  if (!base::glob_matches(glob, kernel.name) && !base::glob_matches(glob, kernel.event_name)) {
    return;
  }
  boundary_functions[0].store(launch.function, std::memory_order_relaxed);
  boundary_stream.store(launch.stream, std::memory_order_release);
}

namespace {

// Iterations start at what was found on `site`'s stream from now on.  False as long as a kernel of
// it has not been launched again since the sites were forgotten.
bool follow(State& state, const LaunchSite& site, Search& search) {
  const schedule::FoundIteration& found = *search.finder.found();
  const std::array<const void*, kBoundaryFunctions> functions{search.functions[found.anchor],
                                                              search.functions[found.first]};
  std::array<const LaunchSite*, kBoundaryFunctions> edges{};
  for (std::size_t i = 0; i < kBoundaryFunctions; ++i) {
    timer::LaunchSlot* slot =
        launch_table.find(functions[i], table_key(state, site.stream->handle));
    if (slot == nullptr) return false;
    edges[i] = state.site_by_slot[launch_table.index_of(*slot)].get();
  }
  follower.store(new schedule::IterationFollower(found), std::memory_order_release);
  for (std::size_t i = 0; i < kBoundaryFunctions; ++i) {
    boundary_graphs[i].store(edges[i]->graph, std::memory_order_relaxed);
    boundary_functions[i].store(functions[i], std::memory_order_relaxed);
  }
  boundary_stream.store(site.stream->handle, std::memory_order_release);
  search.is_followed = true;
  state.boundary_is_guessed = true;
  note_found(state, found);
  return true;
}

}  // namespace

bool look_for_period(State& state, const LaunchSite& site) {
  auto& all = searches();
  if (!all.contains(site.stream) && all.size() == kMostSearches) return true;
  Search& search = all.try_emplace(site.stream, state.config.iteration_period).first->second;
  ++search.launches;
  const bool is_first = state.courses.empty();
  if (++searched_launches > (is_first ? kLongestSearch : kLongestSearchAgain)) {
    give_up();
    if (is_first) return true;
    sys::on_large_stack([&] {
      warn(state, "the launches stopped repeating after iteration " +
                      std::to_string(state.iteration.load()) + ", and " +
                      std::to_string(kLongestSearchAgain) + " further ones hold no iterations");
      stop_looking_for_phase(state);
    });
    return false;
  }
  const bool has_changed = add_launch(search, site);
  if (state.boundary_is_guessed) {
    if (!has_changed || !search.is_followed) return true;
    search.is_due = search.finder.found().has_value();
    // What looked like iterations in the warm-up were parts of one.
    if (state.phase.load(std::memory_order_relaxed) == Phase::kDiscovering) {
      begin_warmup_again(state);
      return false;
    }
    forget_boundary(state);
  } else if (has_changed) {
    search.is_due = search.finder.found().has_value();
  }
  if (search.is_due && is_busiest(search)) search.is_due = !follow(state, site, search);
  return true;
}

bool confirm_period(State& state) {
  if (!looking_for_period.load(std::memory_order_relaxed) || !state.boundary_is_guessed)
    return true;
  for (auto& [stream, search] : searches()) {
    if (!search.is_followed || !search.finder.found()) continue;
    if (confirmed_otherwise(search.finder)) {
      search.is_due = search.finder.found().has_value();
      begin_warmup_again(state);
      return false;
    }
    note_found(state, *search.finder.found());
  }
  give_up();  // looking any further
  return true;
}

void note_host_wait() {
  if (!looking_for_period.load(std::memory_order_relaxed)) return;
  State* run = state();
  if (run == nullptr) return;
  const std::lock_guard lock(run->mutex);
  for (auto& [stream, search] : searches())
    search.finder.add_wait();
}

void forget_searches() {
  searches().clear();
}

namespace {

// In the warm-up the search goes on.  Later the program has left its training loop: no further
// iteration starts.
void lose_period() {
  State* run = state();
  if (run == nullptr) return;
  const std::lock_guard lock(run->mutex);
  if (run->phase.load() == Phase::kDiscovering) {
    follow_again();
    return begin_warmup_again(*run);
  }
  if (run->phase.load() == Phase::kMeasuring && may_look_for_phase(*run)) {
    sys::on_large_stack([&] {
      leave_phase(*run, run->watch.last_good, "iterations came no more");
      forget_searches();
    });
    searched_launches = 0;
    return begin_warmup_again(*run);
  }
  forget_boundary(*run);
  run->boundary_is_guessed = true;  // what was measured came from a period
  disarm();
  if (run->phase.load() != Phase::kMeasuring) return;  // all is recorded
  warn(*run, "the launches stopped repeating after iteration " +
                 std::to_string(run->iteration.load()) + ": no iterations are seen any more");
}

}  // namespace

void note_hint_of_phase(std::uint32_t weight) {
  if (!hints_count.load(std::memory_order_relaxed)) return;
  const std::uint32_t most =
      kFewestHints + kHintsPerUsual * usual_hints.load(std::memory_order_relaxed);
  if (hints.fetch_add(weight, std::memory_order_relaxed) + weight < most) return;
  hints_count.store(false, std::memory_order_relaxed);
  lose_period();
}

void count_hints_from_now_on(const State& state) {
  const std::uint32_t so_far = hints.exchange(0, std::memory_order_relaxed);
  if (hints_count.load(std::memory_order_relaxed))
    usual_hints.store(std::max(usual_hints.load(std::memory_order_relaxed), so_far),
                      std::memory_order_relaxed);
  hints_count.store(state.boundary_is_guessed && may_look_for_phase(state),
                    std::memory_order_relaxed);
}

bool hints_are_counted() noexcept {
  return hints_count.load(std::memory_order_relaxed);
}

bool starts_iteration(const Launch& launch) {
  if (!is_boundary(launch.function) ||
      boundary_stream.load(std::memory_order_acquire) != launch.stream) {
    return false;
  }
  schedule::IterationFollower* period = follower.load(std::memory_order_acquire);
  if (period == nullptr) return true;  // the kernel that the user named
  // If a second thread launches the same kernel on the same stream at the same time, their order is
  // undefined.
  if (following.test_and_set(std::memory_order_acquire)) return false;
  using schedule::Step;
  Step step = Step::kNothing;
  if (launch.function == boundary_functions[1].load(std::memory_order_relaxed)) {
    step = period->on_first();
  }
  if (launch.function == boundary_functions[0].load(std::memory_order_relaxed)) {
    const Step at_anchor = period->on_anchor();
    if (at_anchor == Step::kVoid || at_anchor == Step::kBroken) step = at_anchor;
  }
  const bool is_lost = period->is_lost();
  following.clear(std::memory_order_release);
  if (is_lost) lose_period();
  if (step == Step::kVoid || step == Step::kBroken || step == Step::kStartsAgain) {
    void_iteration();
  }
  return step == Step::kStarts || step == Step::kStartsAgain;
}

bool note_range(const char* text) noexcept {
  State* run = state();
  if (run == nullptr || text == nullptr) return false;
  const auto source = run->config.iteration_source;
  const bool is_asked_for =
      source == sys::IterationSource::kNvtx || source == sys::IterationSource::kOptimizer;
  if (!is_asked_for || run->phase.load(std::memory_order_relaxed) == Phase::kDone) return false;
  bool fits = false;
  fenced("iteration", [&] {
    // Not one expression: its type would be a string of its own, gone at the semicolon.
    std::string_view glob = kOptimizerRange;
    if (source == sys::IterationSource::kNvtx) glob = run->config.iteration_glob;
    fits = base::glob_matches(glob, text);
    if (fits) session::iteration_starts(session::Mark::kRange);
  });
  return fits && source == sys::IterationSource::kNvtx;
}

}  // namespace inline_prof::hook
