#include "session/iteration_source.hpp"

#include "base/text.hpp"
#include "labels/xla_fusions.hpp"
#include "launch/kernel_handles.hpp"
#include "launch/launch_filter.hpp"
#include "schedule/iteration_follower.hpp"
#include "schedule/update_steps.hpp"
#include "session/session.hpp"
#include "session/trigger.hpp"
#include "sys/hot_line.hpp"
#include "sys/large_stack.hpp"
#include "sys/thread_state.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace inline_prof::session {
namespace {

// Number of streams that are searched; the busiest ones have the program's work.
constexpr std::size_t kMostSearches = 16;

// After a million launches without a period, the program has none or one that is too long.
constexpr std::uint64_t kLongestSearch = std::uint64_t{1} << 20U;
// The same after the program has left its iterations.
constexpr std::uint64_t kLongestSearchAgain = std::uint64_t{256} << 10U;

// Waits of the host and graphs that are made hint that no more iterations come, if there are more
// of them than usual between two iterations.
// An iteration of the warm-up has 4 of them in a GPT step, and more than 32 in Megatron's.
constexpr std::uint32_t kFewestHints = 32;
constexpr std::uint32_t kHintsPerUsual = 4;

// PyTorch's own range around an optimizer's step (torch/optim/optimizer.py, profile_hook_step).
constexpr const char* kOptimizerRange = "Optimizer.step*";

// 65536: as many as there are events at most.
constexpr std::size_t kLongestOrder = record::EventList::kCapacity;

// Calls of a phase that fell elsewhere; after so many the application goes on calling.
constexpr int kMostCallsOutOfPlace = 3;

// A graph launch counts as launches of all its kernels, so that a period is accepted as soon as if
// the program launched them itself.
constexpr std::uint32_t kMostInReplay = 512;  // a cap: larger counts change nothing

std::uint32_t launches_of(const LaunchSite& site) {
  if (site.graph == nullptr) return 1;
  return std::min(kernels_in(site.graph), kMostInReplay);
}

// A graph updates parameters if a kernel of it does: where a whole step was captured.
bool updates_parameters(const LaunchSite& site) {
  if (site.kernel != nullptr) return schedule::updates_parameters(site.kernel->name);
  if (site.graph == nullptr) return false;
  const std::lock_guard lock(graphs::mutex());
  std::unordered_set<CUfunction> asked{nullptr};
  return std::ranges::any_of(site.graph->nodes, [&](const graphs::GraphNode& node) {
    return node.is_kernel() && asked.insert(node.function).second &&
           schedule::updates_parameters(launch::identity_of(node.function).name);
  });
}

bool append(Search& search, const LaunchSite& site) {
  const void* function = site.slot->function.load(std::memory_order_relaxed);
  const auto [known, is_new] =
      search.symbols.try_emplace(function, static_cast<std::uint32_t>(search.functions.size()));
  if (is_new) search.functions.push_back(function);
  if (search.first_thread == nullptr) search.first_thread = &sys::this_thread;
  const bool is_by_other = &sys::this_thread != search.first_thread;
  if (std::exchange(search.is_by_other, is_by_other) != is_by_other) search.finder.add_turn();
  using Added = schedule::IterationFinder::Added;
  const bool updates = is_new && updates_parameters(site);
  const Added added = search.finder.append(known->second, launches_of(site), updates);
  bool has_changed = added == Added::kAndChanged;
  if (added == Added::kAndIsDue) sys::on_large_stack([&] { has_changed = search.finder.look(); });
  return has_changed;
}

// Launches of one stream come one after the other, so this waits for no longer than one takes.
class Following {
 public:
  explicit Following(std::atomic_flag& flag) noexcept : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Following() { flag_.clear(std::memory_order_release); }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

 private:
  std::atomic_flag& flag_;
};

bool confirmed_otherwise(schedule::IterationFinder& finder) {
  bool has_changed = false;
  sys::on_large_stack([&] { has_changed = finder.confirm(); });
  return has_changed;
}

}  // namespace

void IterationSource::note_found(const schedule::FoundIteration& found) {
  const std::lock_guard lock(session_.run.mutex);
  session_.run.iteration_confidence = found.confidence;
  session_.run.iteration_launches = static_cast<std::int64_t>(found.launches_per_iteration);
  session_.run.other_period = static_cast<std::int64_t>(found.other_period);
  if (session_.state() == RunState::kMeasuring) session_.phases.note_confidence(found.confidence);
}

void IterationSource::forget() {
  launch::filter.ask_for_hints(false);
  for (std::size_t i = 0; i < kBoundaries; ++i)
    launch::filter.set_boundary(i, nullptr);
  stream_.store(nullptr, std::memory_order_relaxed);
  follower_.store(nullptr, std::memory_order_release);
  for (auto& [stream, search] : searches_)
    search.followed.reset();
  set_lost(false);
  is_guessed_ = false;
  has_place_.store(false, std::memory_order_release);
  ask_for_calls();
}

// No iteration has begun yet, and all sites are forgotten.  With the mutex held.
void IterationSource::begin_warmup_again() {
  forget();
  session_.arming.disarm();
  sys::on_large_stack([&] { session_.discovery.begin_anew(); });
  if (session_.phases.start() == 0) session_.set_iteration(0);
  if (!session_.phases.some_are_planned()) {
    const std::lock_guard run_lock(session_.run.mutex);
    session_.run.iteration_source = "none";
    session_.run.phase_in_making = -1;  // what is met from now on is no phase's
  }
  session_.enter(RunState::kBeforeIterations);
  launch::filter.add(launch::LaunchFilter::kSearching);
}

void IterationSource::lose_boundary() {
  if (has_place_.load(std::memory_order_relaxed)) return forget();
  set_lost(true);
}

void IterationSource::forget_lost() {
  if (!is_lost()) return;
  forget();
  follow_again();
}

void IterationSource::note_kernel(const hook::Launch& launch, const KernelInfo& kernel) {
  if (session_.config.iteration_source != sys::IterationSource::kKernel ||
      stream_.load(std::memory_order_relaxed) != nullptr) {
    return;
  }
  const std::string& glob = session_.config.iteration_glob;
  if (!base::glob_matches(glob, kernel.name) && !base::glob_matches(glob, kernel.event_name)) {
    return;
  }
  launch::filter.set_boundary(0, launch.function);
  stream_.store(launch.stream, std::memory_order_release);
}

// Iterations start at what was found on `site`'s stream from now on.  False as long as a kernel of
// it has not been launched again since the sites were forgotten.
bool IterationSource::follow(const LaunchSite& site, Search& search) {
  const schedule::FoundIteration& found = *search.finder.found();
  const std::array<const void*, kBoundaries> functions{search.functions[found.anchor],
                                                       search.functions[found.first]};
  std::array<const LaunchSite*, kBoundaries> edges{};
  for (std::size_t i = 0; i < kBoundaries; ++i) {
    edges[i] = session_.sites.find(functions[i], site.stream->handle);
    if (edges[i] == nullptr) return false;
  }
  follower_.store(new schedule::IterationFollower(found), std::memory_order_release);
  hints_.store(0, std::memory_order_relaxed);
  usual_hints_.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kBoundaries; ++i) {
    graphs_[i].store(edges[i]->graph, std::memory_order_relaxed);
    launch::filter.set_boundary(i, functions[i]);
  }
  stream_.store(site.stream->handle, std::memory_order_release);
  search.followed = found;
  search.followed_at = search.finder.launch_count();
  is_guessed_ = true;
  note_found(found);
  return true;
}

bool IterationSource::add_launch(const LaunchSite& site) {
  auto& all = searches_;
  if (!all.contains(site.stream) && all.size() == kMostSearches) return true;
  Search& search = all.try_emplace(site.stream, session_.config.iteration_period).first->second;
  search.launches += launches_of(site);
  const bool is_first =
      !session_.phases.some_are_planned() || session_.state() == RunState::kMeasuring;
  if (++searched_launches_ > (is_first ? kLongestSearch : kLongestSearchAgain)) {
    sys::on_large_stack([this] { judge_what_was_withdrawn(); });
    end_search();
    if (is_first) return true;
    sys::on_large_stack([&] {
      session_.warn("the launches stopped repeating after iteration " +
                    std::to_string(session_.iteration()) + ", and " +
                    std::to_string(kLongestSearchAgain) + " further ones hold no iterations");
      judge_what_was_left();
      session_.phases.stop_search();
    });
    return false;
  }
  const bool has_changed = append(search, site);
  if (is_guessed()) {
    if (!has_changed || !search.followed) return true;
    const RunState now = session_.state();
    if (now == RunState::kDiscovering || now == RunState::kMeasuring) return !starts_anew(search);
    search.is_due = search.finder.found().has_value();
    forget();
  } else if (has_changed) {
    search.is_due = search.finder.found().has_value();
  }
  if (search.is_due && is_busiest(search)) search.is_due = !follow(site, search);
  return true;
}

// Called when the finder has changed its mind: true if the warm-up begins again.  Measuring goes on
// until another iteration is found; if that began before, those that were measured were none.
bool IterationSource::starts_anew(Search& search) {
  const auto& found = search.finder.found();
  if (session_.state() == RunState::kMeasuring) {
    if (!found || found->begins_as(*search.followed) || !session_.phases.may_find_another())
      return false;
    const bool was_none = found->first_launch && *found->first_launch < search.followed_at;
    sys::on_large_stack([&] {
      session_.phases.leave(was_none ? session_.phases.start() : session_.phases.last_good(),
                            was_none ? "they were parts of others" : "others were found");
    });
    searched_launches_ = 0;
  }
  search.is_due = found.has_value();
  begin_warmup_again();
  return true;
}

bool IterationSource::is_searching() const noexcept {
  return is_guessed() && launch::filter.has(launch::LaunchFilter::kSearching);
}

bool IterationSource::confirm(bool is_over) {
  if (!is_searching()) return true;
  for (auto& [stream, search] : searches_) {
    if (!search.followed) continue;
    if (confirmed_otherwise(search.finder) && starts_anew(search)) return false;
    const auto& found = search.finder.found();
    if (found) note_found(*found);
    is_over = is_over && found;  // else it may be a micro-step, whose update has come
  }
  if (is_over) end_search();
  return true;
}

void IterationSource::count_hints_from_now_on(bool is_measured) {
  const std::uint32_t so_far = hints_.exchange(0, std::memory_order_relaxed);
  usual_hints_.store(std::max(usual_hints_.load(std::memory_order_relaxed), so_far),
                     std::memory_order_relaxed);
  if (is_measured) launch::filter.ask_for_hints(is_guessed() && session_.phases.may_find_another());
}

void IterationSource::end_search() {
  launch::filter.remove(launch::LaunchFilter::kSearching);
  sys::on_large_stack([this] { searches_.clear(); });
}

bool IterationSource::is_busiest(const Search& search) const {
  for (const auto& [stream, other] : searches_) {
    if (other.launches > search.launches) return false;
  }
  return true;
}

const graphs::ExecutableGraph* IterationSource::boundary_graph(
    const void* function) const noexcept {
  for (const auto& each : graphs_) {
    const graphs::ExecutableGraph* graph = each.load(std::memory_order_relaxed);
    if (graph == function) return graph;
  }
  return nullptr;
}

// A found period is followed as soon as it is launched again.
void IterationSource::follow_again() {
  for (auto& [stream, search] : searches_)
    search.is_due = search.finder.found().has_value();
}

std::uint64_t IterationSource::filter_bits() const noexcept {
  std::uint64_t filter = sys::kNoLaunch;
  for (std::size_t i = 0; i < kBoundaries; ++i) {
    const void* function = launch::filter.boundary(i);
    if (function == nullptr) continue;
    const graphs::ExecutableGraph* graph = boundary_graph(function);
    if (graph != nullptr) function = graph->exec.load(std::memory_order_acquire);
    filter |= std::uint64_t{1} << sys::filter_bit(function);
  }
  return filter;
}

bool IterationSource::move(const void* old_function, const void* old_stream, const void* function,
                           const void* stream) noexcept {
  // Both functions are on one stream, and move one after the other.
  const void* known = stream_.load(std::memory_order_relaxed);
  if (known != old_stream && known != stream) return false;
  bool has_moved = false;
  for (std::size_t i = 0; i < kBoundaries; ++i) {
    if (launch::filter.boundary(i) != old_function) continue;
    launch::filter.set_boundary(i, function);
    has_moved = true;
  }
  if (has_moved) stream_.store(stream, std::memory_order_release);
  return has_moved;
}

void IterationSource::note_host_wait() {
  if (!launch::filter.has(launch::LaunchFilter::kSearching)) return;
  const std::lock_guard lock(session_.mutex);
  for (auto& [stream, search] : searches_)
    search.finder.add_wait();
}

void IterationSource::note_reduction(std::size_t bytes) {
  const std::lock_guard lock(session_.mutex);
  for (auto& [stream, search] : searches_)
    search.finder.add_reduction(bytes);
}

// In the warm-up the search goes on.  Later the program has left its training loop: no further
// iteration starts.
void IterationSource::lose_period() {
  const std::lock_guard lock(session_.mutex);
  if (session_.state() == RunState::kDiscovering) {
    follow_again();
    return begin_warmup_again();
  }
  if (session_.state() == RunState::kMeasuring && session_.phases.may_find_another())
    return search_again("iterations came no more");
  forget();
  is_guessed_ = true;  // what was measured came from a period
  session_.arming.disarm();
  if (session_.state() != RunState::kMeasuring) return;  // all is recorded
  session_.warn("the launches stopped repeating after iteration " +
                std::to_string(session_.iteration()) + ": no iterations are seen any more");
}

void IterationSource::search_again(const char* reason) {
  sys::on_large_stack([&] {
    session_.phases.leave(session_.phases.last_good(), reason);
    forget_searches();
  });
  searched_launches_ = 0;
  begin_warmup_again();
}

void IterationSource::give_way_to_calls() {
  const RunState now = session_.state();
  if (!is_guessed_ || (now != RunState::kDiscovering && now != RunState::kMeasuring)) return;
  if (now == RunState::kMeasuring) {
    if (!session_.phases.may_find_another()) return;
    sys::on_large_stack(
        [&] { session_.phases.leave(session_.phases.start(), "they were parts of others"); });
  }
  begin_warmup_again();
  end_search();
  const std::lock_guard lock(session_.run.mutex);
  session_.run.iteration_source = "none";
  session_.run.iteration_confidence = 1;
  session_.run.iteration_launches = 0;
  session_.run.other_period = 0;
}

void IterationSource::judge_what_was_left() {
  std::uint64_t inside = 0;
  bool is_period = false;
  {
    const std::lock_guard lock(session_.run.mutex);
    for (const record::PhaseRecord& phase : session_.run.phases) {
      is_period = is_period || phase.source == "auto";
      for (const auto& stretch : phase.stretches) {
        inside += static_cast<std::uint64_t>((stretch.last - stretch.first + 1) *
                                             (phase.kernel_launches + phase.graph_launches));
      }
    }
  }
  if (!is_period || searched_launches_ <= inside) return;
  doubt(std::to_string(searched_launches_) +
        " launches or more came behind the iterations that were found, which hold " +
        std::to_string(inside) + ": they may be a loop of the set-up");
}

void IterationSource::judge_what_was_withdrawn() {
  if (!is_searching() || session_.state() == RunState::kDiscovering) return;
  for (const auto& [stream, search] : searches_) {
    if (search.followed && !search.finder.found())
      doubt("the launches stopped repeating: the iterations may be parts of longer ones");
  }
}

void IterationSource::doubt(const std::string& why) {
  constexpr double doubtful = 0.45;
  {
    const std::lock_guard lock(session_.run.mutex);
    session_.run.iteration_confidence = std::min(session_.run.iteration_confidence, doubtful);
    for (record::PhaseRecord& phase : session_.run.phases)
      phase.confidence = std::min(phase.confidence, doubtful);
  }
  session_.warn("doubtful: " + why);
}

void IterationSource::note_hint(std::uint32_t weight) {
  const bool is_wait = weight == 1;
  if (!launch::filter.wants_hints() && !is_wait) return;
  const std::uint32_t hints = hints_.fetch_add(weight, std::memory_order_relaxed) + weight;
  const std::uint32_t most =
      kFewestHints + kHintsPerUsual * usual_hints_.load(std::memory_order_relaxed);
  if (!launch::filter.wants_hints() || hints < most) return;
  launch::filter.ask_for_hints(false);
  lose_period();
}

bool IterationSource::starts_with(const hook::Launch& launch) {
  if (!launch::filter.is_boundary(launch.function) ||
      stream_.load(std::memory_order_acquire) != launch.stream) {
    return false;
  }
  if (has_place_.load(std::memory_order_acquire)) return starts_in_place_of_call(launch.function);
  schedule::IterationFollower* period = follower_.load(std::memory_order_acquire);
  if (period == nullptr) return true;  // the kernel that the user named
  // If a second thread launches the same kernel on the same stream at the same time, their order is
  // undefined.
  if (is_following_.test_and_set(std::memory_order_acquire)) return false;
  using schedule::Step;
  Step step = Step::kNothing;
  if (launch.function == launch::filter.boundary(1)) {
    step = period->on_first();
  }
  if (launch.function == launch::filter.boundary(0)) {
    const Step at_anchor = period->on_anchor();
    if (at_anchor == Step::kVoid || at_anchor == Step::kBroken) step = at_anchor;
  }
  const bool is_lost = period->is_lost();
  is_following_.clear(std::memory_order_release);
  if (is_lost) lose_period();
  if (step == Step::kVoid || step == Step::kBroken || step == Step::kStartsAgain) {
    session_.arming.void_iteration();
  }
  return step == Step::kStarts || step == Step::kStartsAgain;
}

bool IterationSource::starts_in_place_of_call(const void* function) {
  using Step = schedule::MarkFollower::Step;
  Step step = Step::kNothing;
  {
    const Following following(is_following_);
    step = function == launch::filter.boundary(0) ? calls_.on_before() : calls_.on_behind();
  }
  if (!is_told_by_launches()) return false;
  if (step == Step::kBroken) note_end_of_iterations();
  return step == Step::kStarts;
}

void IterationSource::note_order(const LaunchSite& site) {
  if (is_guessed_ || !trigger::can_wake() || order_.size() == kLongestOrder) return;
  order_.push_back({.site = &site, .thread = &sys::this_thread});
}

void IterationSource::begin_order() {
  order_.clear();
  calls_out_of_place_ = 0;
  if (has_place_.load(std::memory_order_relaxed)) forget();
}

// The boundaries are the launches around this thread's call, as the iteration that ends with it
// tells.
void IterationSource::find_place_of_calls() {
  const auto order = std::exchange(order_, {});
  const auto first = std::find_if(order.begin(), order.end(), [](const Ordered& each) {
    return each.thread == &sys::this_thread;
  });
  if (first == order.end()) return;
  std::vector<const LaunchSite*> sites;
  std::unordered_map<const LaunchSite*, std::uint32_t> number_of;
  std::vector<std::uint32_t> numbers;
  numbers.reserve(order.size());
  for (const Ordered& each : order) {
    if (each.site->stream != first->site->stream) continue;
    const auto [known, is_new] =
        number_of.try_emplace(each.site, static_cast<std::uint32_t>(sites.size()));
    numbers.push_back(known->second);
    if (is_new) sites.push_back(each.site);
  }
  if (sites.empty() || sites.front() != first->site) return;
  const auto place = schedule::find_mark_place(numbers);
  if (!place) return;
  {
    const Following following(is_following_);
    calls_ = schedule::MarkFollower(*place);
  }
  const std::array<const LaunchSite*, kBoundaries> edges{sites[place->before],
                                                         sites[place->behind]};
  for (std::size_t i = 0; i < kBoundaries; ++i) {
    graphs_[i].store(edges[i]->graph, std::memory_order_relaxed);
    launch::filter.set_boundary(i, edges[i]->slot->function.load(std::memory_order_relaxed));
  }
  stream_.store(first->site->stream->handle, std::memory_order_release);
  calls_in_place_ = 0;
  has_place_.store(true, std::memory_order_release);
}

void IterationSource::note_call() {
  if (is_guessed_ || session_.config.iteration_source != sys::IterationSource::kAuto) return;
  if (session_.discovery.is_first_iteration()) return find_place_of_calls();
  if (!has_place_.load(std::memory_order_relaxed)) return;
  bool is_in_place = false;
  {
    const Following following(is_following_);
    is_in_place = calls_.is_at_mark();
    calls_.begin_at_call();
  }
  calls_in_place_ = is_in_place ? calls_in_place_ + 1 : 0;
  if (!is_in_place && ++calls_out_of_place_ == kMostCallsOutOfPlace) forget();
}

void IterationSource::note_started() {
  if (!has_place_.load(std::memory_order_relaxed) || calls_in_place_ <= calls_out_of_place_) return;
  if (session_.state() != RunState::kMeasuring || !session_.phases.may_find_another()) return;
  is_told_by_launches_.store(true, std::memory_order_release);
}

bool IterationSource::leaves_call_to_launch() noexcept {
  if (!is_told_by_launches()) return false;
  const Following following(is_following_);
  return calls_.is_at_mark();
}

void IterationSource::ask_for_calls() noexcept {
  if (is_told_by_launches_.exchange(false, std::memory_order_acq_rel)) trigger::wake();
}

void IterationSource::note_end_of_iterations() {
  if (is_told_by_launches()) {
    session_.arming.void_iteration();
    return ask_for_calls();
  }
  if (launch::filter.wants_hints()) lose_period();
}

bool IterationSource::note_range(const char* text) noexcept {
  // No loop over layers calls a compiled function, so it tells as much as a wait does.
  if (launch::filter.has(launch::LaunchFilter::kSearching) && labels::begins_xla_module(text))
    note_host_wait();
  const auto source = session_.config.iteration_source;
  const bool is_asked_for =
      source == sys::IterationSource::kNvtx || source == sys::IterationSource::kOptimizer;
  if (!is_asked_for || session_.state() == RunState::kDone) return false;
  bool fits = false;
  hook::fenced("iteration", [&] {
    // Not one expression: its type would be a string of its own, gone at the semicolon.
    std::string_view glob = kOptimizerRange;
    if (source == sys::IterationSource::kNvtx) glob = session_.config.iteration_glob;
    fits = base::glob_matches(glob, text);
    if (fits) session_.iteration_starts(IterationMark::kRange);
  });
  return fits && source == sys::IterationSource::kNvtx;
}

}  // namespace inline_prof::session
