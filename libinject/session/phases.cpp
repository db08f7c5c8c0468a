#include "session/phases.hpp"

#include "graphs/clone_measurement.hpp"
#include "labels/label.hpp"
#include "launch/launch.hpp"
#include "session/arming.hpp"
#include "session/discovery.hpp"
#include "session/planning.hpp"
#include "session/rebinding.hpp"
#include "session/state.hpp"
#include "sys/large_stack.hpp"
#include "sys/lifecycle.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

namespace inline_prof::hook {

constinit std::atomic<bool> watching{false};

namespace {

// A run has so many phases at most, and looks so often for another one: 32 warm-ups of 10
// iterations, each with a list of events, are what it may cost.
constexpr std::size_t kMostPhases = 8;
constexpr int kMostLooks = 32;

constexpr std::size_t kFirstWatched = 3;
constexpr int kDiffering = 3;  // iterations in a row: an evaluation of one batch is no phase
constexpr int kFewestBriefVisits = 2;  // that are worth a word
constexpr std::int64_t kWatchEvery = 32;
constexpr std::int64_t kWatchEveryOfSeveral = 8;  // where phases come in turns
// A launch in a watched iteration takes 40 ns: a long run has 0.2 ns for them.
constexpr std::int64_t kWatchOftenUntil = 1024;
constexpr std::int64_t kWatchEveryLater = 256;
constexpr int kMostHintsInVain = 6;  // 128 iterations to the next

// A phase that has come more than once is waited for so many iterations.
constexpr std::int64_t kLongestIdle = 1024;

// Launches that differ, as a share of the iteration's: more than an eighth, or twice what differs
// anyway; more than half is another phase in any case.
constexpr double kLeastDeviation = 0.125;
constexpr double kMostDeviation = 0.5;

// Launches of kernels that the warm-up has not met.
constinit std::atomic<std::uint64_t> foreign_launches{0};

// FNV-1a, 8 bytes at a time.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value) * 1099511628211ULL;
}
constexpr std::uint64_t kBasis = 14695981039346656037ULL;

// Of a launch; null: it is none of a graph.
std::uint32_t kernels_of(const ExecutableGraph* graph) {
  if (graph == nullptr) return 1;
  return std::max(graph->kernels.load(std::memory_order_relaxed), 1U);
}

bool is_followed(const State& state) {
  return state.config.follows_phases && state.settings.mode == schedule::Mode::kFineGrained &&
         !std::holds_alternative<schedule::SampleList>(state.request);
}

bool is_current(const State& state, const record::EventRecord& event) {
  return event.phase == state.phase_index;
}

// Equal for iterations that launch the same.  The order does not count: several threads launch.
std::uint64_t signature_of(const State& state) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    const record::EventRecord& event = state.run.events[i];
    if (!is_current(state, event) || event.is_copy) continue;
    std::uint64_t hash = kBasis;
    for (const char byte : event.event_name)
      hash = mix(hash, static_cast<unsigned char>(byte));
    hash = mix(hash, static_cast<std::uint64_t>(event.occurrence));
    hash = mix(hash, static_cast<std::uint64_t>(event.stream_index));
    hash = mix(hash, static_cast<std::uint64_t>(event.device_id));
    if (event.shape) {
      for (const unsigned extent : event.shape->grid)
        hash = mix(hash, extent);
    }
    sum += hash * hash;
  }
  return sum;
}

// Of the iteration that ends, from what was counted since it began; counts begin anew.
double deviation_of(State& state) {
  double usual = 0;
  auto differing = static_cast<double>(foreign_launches.exchange(0, std::memory_order_relaxed));
  double reshaped = 0;
  const bool is_first = state.watch.first_deviations.size() < kFirstWatched;
  for (LaunchSite* site : state.sites) {
    const auto count =
        static_cast<double>(site->slot->count.exchange(0, std::memory_order_relaxed));
    const std::uint32_t shapes =
        launch_table.shapes_of(*site->slot).exchange(0, std::memory_order_relaxed);
    if (site->label != nullptr || is_copy(*site) || site->usual_votes <= 0 || !has_handles(*site))
      continue;
    const double expected = site->usual_count;
    const double kernels = kernels_of(site->graph);
    usual += kernels * expected;
    if (count != expected) {
      differing += kernels * std::abs(count - expected);
      continue;
    }
    if (is_first) {
      if (site->shape_votes == 0) site->usual_shapes = shapes;
      site->shape_votes = site->usual_shapes == shapes ? site->shape_votes + 1 : -1000;
    } else if (std::cmp_equal(site->shape_votes, kFirstWatched) && site->usual_shapes != shapes) {
      differing += kernels * count;
      reshaped += kernels * count;
    }
  }
  state.watch.has_other_grids = 2 * reshaped > differing;
  return usual == 0 ? (differing > 0 ? 1 : 0) : differing / usual;
}

void begin_counting_anew(State& state) {
  foreign_launches.store(0, std::memory_order_relaxed);
  for (LaunchSite* site : state.sites) {
    site->slot->count.store(0, std::memory_order_relaxed);
    launch_table.shapes_of(*site->slot).store(0, std::memory_order_relaxed);
  }
}

void stop_watching() {
  if (watching.exchange(false, std::memory_order_relaxed)) look_at_armed_launches();
}

// True where what an iteration deviates by says that it is of another phase.
bool is_another(State& state, double deviation) {
  PhaseWatch& watch = state.watch;
  if (watch.first_deviations.size() >= kFirstWatched) return deviation > watch.most;
  watch.first_deviations.push_back(deviation);
  if (watch.first_deviations.size() == kFirstWatched) {
    auto sorted = watch.first_deviations;
    std::sort(sorted.begin(), sorted.end());
    watch.most = std::min(std::max(kLeastDeviation, 2 * sorted[kFirstWatched / 2]), kMostDeviation);
  }
  return deviation > kMostDeviation;
}

// Something hints at another phase.  Less and less often where nothing comes of it.
bool is_hinted_at(State& state, std::int64_t iteration) {
  PhaseWatch& watch = state.watch;
  const bool was_put_off = std::exchange(watch.is_put_off, false);
  if (!was_put_off && (iteration < watch.next_hint || !some_armed_were_not_as_expected()))
    return false;
  watch.next_hint = iteration + (std::int64_t{2} << watch.hints_in_vain);
  watch.hints_in_vain = std::min(watch.hints_in_vain + 1, kMostHintsInVain);
  return true;
}

void reset_watch(State& state, std::int64_t last_good) {
  state.watch = {};
  state.watch.last_good = last_good;
  stop_watching();
}

Course take_course(State& state) {
  Course course;
  course.targets = std::move(state.targets);
  course.plan = std::exchange(state.plan, {});
  course.plain_targets = std::exchange(state.plain_targets, 0);
  course.in_graphs = std::move(state.in_graphs);
  course.adaptive = std::move(state.adaptive);
  course.signatures = std::move(state.signatures);
  state.targets.clear();
  state.in_graphs.clear();
  state.signatures.clear();
  return course;
}

void put_course(State& state, Course&& course) {
  state.targets = std::move(course.targets);
  state.plan = std::move(course.plan);
  state.plain_targets = course.plain_targets;
  state.in_graphs = std::move(course.in_graphs);
  state.adaptive = std::move(course.adaptive);
  state.signatures = std::move(course.signatures);
}

bool has_record(const State& state) {
  return std::cmp_less(state.phase_index, state.run.phases.size());
}

// Samples of iterations that may have been another phase's are no samples of this one.
void end_stretch(State& state, std::int64_t last) {
  const std::lock_guard lock(state.run.mutex);
  if (!has_record(state)) return;
  auto& stretch = state.run.phases[static_cast<std::size_t>(state.phase_index)].stretches.back();
  stretch.last = std::max(last, stretch.first - 1);
  if (stretch.last < stretch.first)
    state.run.phases[static_cast<std::size_t>(state.phase_index)].stretches.pop_back();
  for (timer::ContextTimer& timer : state.timers)
    timer.discard_after(last);
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    record::EventRecord& event = state.run.events[i];
    if (is_current(state, event)) event.forget_samples_after(last);
  }
}

using EventPlace = std::tuple<std::string, int, int, int, bool>;
EventPlace place_of(const record::EventRecord& event) {
  return {event.event_name, event.occurrence, event.device_id, event.stream_index,
          event.is_inside_graph()};
}

// The launches that were just discovered are those of `phase`, whose events take the place of the
// new ones.
void go_on_with(State& state, int phase) {
  std::map<EventPlace, record::EventRecord*> known;
  std::unordered_map<const record::EventRecord*, record::EventRecord*> taken_for;
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    record::EventRecord& event = state.run.events[i];
    if (event.phase == phase) known.emplace(place_of(event), &event);
  }
  const auto sites = std::exchange(state.site_of_event, {});
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    record::EventRecord& event = state.run.events[i];
    if (!is_current(state, event)) continue;
    const auto same = known.find(place_of(event));
    const auto site = sites.find(&event);
    if (same == known.end() || site == sites.end()) continue;
    record::EventRecord& old = *same->second;
    old.stream = event.stream;
    old.launch_occurrence = event.launch_occurrence;
    old.first_node = event.first_node;
    old.last_node = event.last_node;
    taken_for[&event] = &old;
    state.site_of_event[&old] = site->second;
  }
  for (LaunchSite* site : state.sites) {
    for (record::EventRecord*& event : site->events) {
      const auto old = taken_for.find(event);
      event = old == taken_for.end() ? nullptr : old->second;
    }
  }
  const std::int64_t iteration = state.iteration.load();
  {
    const std::lock_guard lock(state.run.mutex);
    state.run.events.remove_if(
        [&](const record::EventRecord& event) { return is_current(state, event); });
    state.run.phases[static_cast<std::size_t>(phase)].stretches.push_back(
        {.first = state.phase_start + 1, .last = state.phase_start});
  }
  state.phase_index = phase;
  Course& course = state.courses[static_cast<std::size_t>(phase)];
  state.phase_start = iteration - course.position - 1;
  put_course(state, std::move(course));
  measure_phase(state);
}

// The phase that has such iterations; below 0: none.
int phase_with(const State& state, std::uint64_t signature) {
  for (std::size_t i = 0; i < state.courses.size(); ++i) {
    const auto& known = state.courses[i].signatures;
    if (std::find(known.begin(), known.end(), signature) != known.end()) return static_cast<int>(i);
  }
  return -1;
}

// The iterations from now on are in no phase's list.
void measure_nothing(State& state) {
  take_course(state);
  state.plan = schedule::Plan(0, state.settings.warmup, std::vector<schedule::Turn>{});
  measure_phase(state);
}

bool has_all_samples(const Course& course) {
  if (course.adaptive) return course.adaptive->is_done();
  return course.position >= course.plan.last_iteration();
}

}  // namespace

double monotonic_seconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void note_watched(const Launch& launch) noexcept {
  if (launch.copy != nullptr) return;  // how often a program copies tells nothing of its phases
  timer::LaunchSlot* slot = launch_table.find(launch.function, launch.stream);
  if (slot == nullptr) {
    foreign_launches.fetch_add(kernels_of(launch.graph), std::memory_order_relaxed);
    return;
  }
  std::uint64_t hash = kBasis;
  for (std::size_t i = 0; i < launch.grid.size(); ++i)
    hash = mix(mix(hash, launch.grid[i]), launch.block[i]);
  slot->count.fetch_add(1, std::memory_order_relaxed);
  launch_table.shapes_of(*slot).fetch_add(static_cast<std::uint32_t>(hash >> 20U),
                                          std::memory_order_relaxed);
}

bool may_look_for_phase(const State& state) {
  return is_followed(state) && state.looks < kMostLooks;
}

bool has_left_phase(State& state, std::int64_t iteration, bool was_void) {
  if (!is_followed(state) || state.phase.load() != Phase::kMeasuring) return false;
  PhaseWatch& watch = state.watch;
  // Where streams and kernels that went are looked for, they may be what comes.
  if (sites_are_lost.load(std::memory_order_relaxed)) {
    stop_watching();
    watch.is_put_off = true;
    return false;
  }
  bool is_hinted = false;
  if (watching.load(std::memory_order_relaxed) && !was_void) {
    const bool differs = is_another(state, deviation_of(state));
    ++state.watched;
    if (!differs && watch.differing > 0) {
      state.briefly_other += watch.differing;
      ++state.brief_visits;
    }
    watch.differing = differs ? watch.differing + 1 : 0;
    if (differs) watch.hints_in_vain = 0;
    if (!differs) watch.last_good = iteration - 1;
  } else {
    is_hinted = is_hinted_at(state, iteration);
  }
  if (watch.differing == kDiffering) {
    if (!may_look_for_phase(state)) {
      warn(state, "launches have changed " + std::to_string(kMostLooks) +
                      " times: what comes after iteration " + std::to_string(watch.last_good) +
                      " is measured only where it launches what was met before");
      watch.differing = 0;
      stop_watching();
      state.looks = kMostLooks + 1;
      return false;
    }
    sys::on_large_stack([&] {
      leave_phase(state, watch.last_good, watch.has_other_grids ? "other grids" : "other launches");
    });
    return true;
  }
  if (state.looks > kMostLooks) return false;
  const std::int64_t position = position_of(state, iteration);
  std::int64_t every = position < kWatchOftenUntil ? kWatchEvery : kWatchEveryLater;
  if (state.courses.size() > 1) every = kWatchEveryOfSeveral;
  const bool is_due = watch.first_deviations.size() < kFirstWatched || watch.differing > 0 ||
                      is_hinted || position % every == 0;
  if (!is_due) {
    stop_watching();
    return false;
  }
  begin_counting_anew(state);
  watching.store(true, std::memory_order_relaxed);
  look_at_every_launch();
  return false;
}

void leave_phase(State& state, std::int64_t last, std::string reason) {
  end_stretch(state, last);
  reset_watch(state, last);
  clone_measurement::pause(state);
  disarm();
  forget_lost(state);
  state.armed_lately.clear();
  const std::int64_t position = std::max(position_of(state, last), state.settings.warmup);
  if (has_record(state)) {
    Course& course = state.courses[static_cast<std::size_t>(state.phase_index)];
    course = take_course(state);
    course.position = position;
  } else {
    take_course(state);
  }
  ++state.looks;
  state.phase_reason = std::move(reason);
  state.phase_began_s = monotonic_seconds();
  state.phase_index = static_cast<int>(state.run.phases.size());
  state.phase_start = state.iteration.load() - 1;
  state.first_index = state.next_index;
  forget_discovery(state);
  open_all_gates(true);
  counting.store(true, std::memory_order_relaxed);
  look_at_every_launch();
}

bool is_known_iteration(State& state) {
  if (!std::exchange(state.is_fresh, false) || !is_followed(state)) return false;
  int known = -1;
  sys::on_large_stack([&] {
    const std::uint64_t signature = signature_of(state);
    known = phase_with(state, signature);
    if (known < 0) return state.signatures.push_back(signature);
    state.signatures.clear();
    go_on_with(state, known);
  });
  return known >= 0;
}

bool go_on_with_known_phase(State& state) {
  if (!is_followed(state)) return false;
  const std::uint64_t signature = signature_of(state);
  const int known = phase_with(state, signature);
  if (known >= 0) {
    go_on_with(state, known);
    state.signatures.push_back(signature);
    return true;
  }
  state.signatures.push_back(signature);
  if (state.courses.size() < kMostPhases) return false;
  warn(state, "there are more than " + std::to_string(kMostPhases) +
                  " phases: what other iterations launch is not measured");
  measure_nothing(state);
  return true;
}

// Nothing that repeats was found.
void stop_looking_for_phase(State& state) {
  measure_nothing(state);
  state.phase.store(Phase::kMeasuring, std::memory_order_release);
}

void take_layers_of_earlier_phase(State& state) {
  if (state.courses.empty()) return;
  const std::lock_guard lock(state.run.mutex);
  std::map<EventPlace, const record::EventRecord*> earlier;
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    const record::EventRecord& event = state.run.events[i];
    if (event.layer_name.empty()) continue;
    if (is_current(state, event)) return;  // it has layers of its own
    earlier.try_emplace(place_of(event), &event);
  }
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    record::EventRecord& event = state.run.events[i];
    if (!is_current(state, event)) continue;
    const auto found = earlier.find(place_of(event));
    if (found == earlier.end()) continue;
    const record::EventRecord& same = *found->second;
    event.layer_name = same.layer_name;
    const bool is_alike = event.shape && same.shape && event.shape->grid == same.shape->grid;
    if (is_alike && event.op == nullptr && same.op != nullptr)
      event.op = std::make_unique<record::Op>(*same.op);
  }
}

void note_phase(State& state) {
  record::PhaseRecord phase{
      .stretches = {{.first = state.phase_start + 1, .last = state.phase_start}},
      .started_after_s = state.courses.empty() ? 0 : state.phase_began_s - state.began_s,
      .source = state.run.iteration_source,
      .confidence = state.run.iteration_confidence,
      .reason = state.phase_reason};
  for (const LaunchSite* site : state.sites) {
    if (site->label != nullptr || is_copy(*site) || site->usual_votes <= 0) continue;
    if (site->graph == nullptr) {
      phase.kernel_launches += site->usual_count;
      continue;
    }
    phase.graph_launches += site->usual_count;
    phase.graph_kernels += std::int64_t{site->usual_count} * kernels_of(site->graph);
  }
  phase.is_measured = true;
  state.run.phases.push_back(std::move(phase));
  state.courses.emplace_back();
}

void measure_phase(State& state) {
  clone_measurement::plan(state, state.in_graphs);
  {
    const std::lock_guard lock(state.run.mutex);
    state.run.phase_in_making = has_record(state) ? -1 : state.phase_index;
  }
  state.is_fresh = false;
  state.idle_iterations = 0;
  reset_watch(state, state.iteration.load() - 1);
  counting.store(false, std::memory_order_relaxed);
  open_all_gates(false);
  look_at_meeting_threads(state);
  disarm();
}

bool waits_for_other_phases(State& state) {
  if (!has_record(state) && state.courses.empty()) return false;
  const auto has_returned = [&](std::size_t i) { return state.run.phases[i].stretches.size() > 1; };
  const bool phases_alternate =
      has_record(state) && has_returned(static_cast<std::size_t>(state.phase_index));
  for (std::size_t i = 0; i < state.courses.size(); ++i) {
    if (std::cmp_equal(i, state.phase_index) || has_all_samples(state.courses[i])) continue;
    if (phases_alternate || has_returned(i)) return ++state.idle_iterations < kLongestIdle;
  }
  return false;
}

void settle_other_phases(State& state) {
  const auto wanted = static_cast<std::uint32_t>(state.settings.repeat);
  std::string texts;
  std::set<int> empty;
  for (std::size_t i = 0; i < state.courses.size(); ++i) {
    if (std::cmp_equal(i, state.phase_index)) continue;
    const Course& course = state.courses[i];
    std::size_t events = 0;
    std::size_t without = 0;
    std::size_t short_of_some = 0;
    for (const Target& target : course.targets) {
      for (record::EventRecord* event : target.events) {
        const std::uint32_t count = event->sample_count();
        ++events;
        if (count == 0) ++without;
        if (course.adaptive != nullptr || count >= wanted) continue;
        ++short_of_some;
        const std::lock_guard lock(state.run.mutex);
        event->reason.append(event->reason.empty() ? "" : "; ")
            .append("its phase ended: " + std::to_string(wanted - count) + " of " +
                    std::to_string(wanted) + " samples are missing");
      }
    }
    if (without == events) empty.insert(static_cast<int>(i));
    if (short_of_some == 0) continue;
    texts.append(texts.empty() ? "" : ", ")
        .append("phase " + std::to_string(i + 1) + ": " + std::to_string(short_of_some) + " of " +
                std::to_string(events) + " events have too few samples");
  }
  if (!texts.empty()) warn(state, "phases ended before all was measured: " + texts);
  if (state.brief_visits >= kFewestBriefVisits) {
    warn(state, std::to_string(state.briefly_other) + " of " + std::to_string(state.watched) +
                    " iterations that were looked at launched something else, for one or two "
                    "iterations in a row: a phase needs three, so what they launch has no samples");
  }
  if (empty.empty()) return;
  const std::lock_guard lock(state.run.mutex);
  for (const int phase : empty)
    state.run.phases[static_cast<std::size_t>(phase)].is_measured = false;
  state.run.events.remove_if(
      [&](const record::EventRecord& event) { return empty.contains(event.phase); });
}

}  // namespace inline_prof::hook
