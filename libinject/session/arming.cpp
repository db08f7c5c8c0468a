// The armed events of the current iteration: the exact check after the filter, and the event pair
// around what matches.
#include "session/arming.hpp"

#include "cupti/cupti_client.hpp"
#include "launch/copies.hpp"
#include "launch/launch.hpp"
#include "libraries/op_frame.hpp"
#include "session/armed_event.hpp"
#include "session/discovery.hpp"
#include "session/phases.hpp"
#include "session/session.hpp"
#include "session/state.hpp"
#include "session/trigger.hpp"
#include "session/without_iterations.hpp"
#include "sys/hot_line.hpp"
#include "sys/lifecycle.hpp"
#include "timer/driver_scope.hpp"

#include <algorithm>
#include <array>

namespace inline_prof::hook {

constinit std::array<ArmedEvent, kMostArmed> armed_events;
constinit std::atomic<std::uint32_t> armed_count{0};
constinit std::atomic<std::uint32_t> arming_generation{0};
constinit std::atomic<bool> measures_everything{false};

namespace {

constinit std::atomic<std::uint64_t> armed_filter{sys::kNoLaunch};
constinit std::atomic<std::uint64_t> graph_launches{0};
constinit std::atomic<bool> iteration_is_void{false};

constinit std::atomic<bool> threads_meet{false};  // on a stream of some target
// Iterations for which every launch is looked at and marked, since a thread has a context that may
// launch where it has not so far.
constinit std::atomic<int> iterations_to_mark{0};
constexpr int kIterationsOfNewThread = 8;
// The filter's bits without those for launches that are only marked.
constinit std::atomic<std::uint64_t> armed_handles{sys::kEveryLaunch};

}  // namespace

void look_at_every_launch() noexcept {
  sys::set_filter(sys::kEveryLaunch);
}

void look_at_armed_launches() noexcept {
  if (!sys::is_on() || counting.load(std::memory_order_relaxed) ||
      measures_everything.load(std::memory_order_relaxed) ||
      timer::open_watches.load(std::memory_order_relaxed) != 0 ||
      open_captures.load(std::memory_order_relaxed) != 0 ||
      sites_are_lost.load(std::memory_order_relaxed) || watching.load(std::memory_order_relaxed)) {
    return;
  }
  sys::set_filter(armed_filter.load(std::memory_order_relaxed));
}

void count_refusal(State& state, timer::ContextTimer::BeginResult result) noexcept {
  using Result = timer::ContextTimer::BeginResult;
  if (result == Result::kRingFull) state.run.dropped.ring_full.fetch_add(1);
  if (result == Result::kCapturing) state.run.dropped.capture_skipped.fetch_add(1);
}

record::ExtraInfos& extra_of(timer::ContextTimer::Pair& pair) {
  if (!pair.extra) pair.extra = std::make_unique<record::ExtraInfos>();
  return *pair.extra;
}

void open_gates_of_armed() noexcept {
  const auto count = armed_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (Label* label = armed_events[i].label.load(std::memory_order_relaxed))
      label->open_gate(true);
  }
}

ArmedEvent* armed_for(const void* function, const void* stream) noexcept {
  const auto count = armed_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    ArmedEvent& armed = armed_events[i];
    if (armed.function.load(std::memory_order_relaxed) == function &&
        armed.stream.load(std::memory_order_relaxed) == stream) {
      return &armed;
    }
  }
  return nullptr;
}

WantedOccurrence* count_occurrence(ArmedEvent& armed) noexcept {
  const auto generation = arming_generation.load(std::memory_order_acquire);
  const auto site = armed.site.fetch_add(1, std::memory_order_relaxed);
  const auto count = armed.wanted_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    WantedOccurrence& wanted = armed.wanted[i];
    if (wanted.occurrence.load(std::memory_order_relaxed) != site) continue;
    // Another thread has armed the next iteration meanwhile: this launch belongs to neither.
    return arming_generation.load(std::memory_order_acquire) == generation ? &wanted : nullptr;
  }
  return nullptr;
}

// Until the pair is closed every launch is looked at, so that one in between is noticed.
timer::ContextTimer::Pair* open_pair(State& state, timer::ContextTimer& timer, CUstream stream,
                                     record::EventRecord& event, std::int64_t iteration,
                                     OtherThreads others, timer::ContextTimer::Captures captures) {
  timer::StreamWatch* watch = nullptr;
  if (others == OtherThreads::kSpoilThePair) {
    look_at_every_launch();
    watch = timer::open_watch(stream);
  }
  timer::ContextTimer::Pair* pair = nullptr;
  const auto result = timer.begin(stream, event, iteration, pair, captures);
  if (result == timer::ContextTimer::BeginResult::kOk) {
    pair->watch = watch;
    return pair;
  }
  count_refusal(state, result);
  if (watch != nullptr) timer::close_watch(*watch);
  look_at_armed_launches();
  return nullptr;
}

void close_pair(State& state, const void* stream, timer::ContextTimer::Pair& pair) {
  // A failure is counted where it is noticed.
  const auto result = pair.timer->end(static_cast<CUstream>(const_cast<void*>(stream)), pair);
  if (result == timer::ContextTimer::EndResult::kSpoiled) {
    state.run.dropped.interleaved_launch.fetch_add(1, std::memory_order_relaxed);
  }
  look_at_armed_launches();
}

timer::ContextTimer::Pair* begin_pair(State& state, ArmedEvent& armed, WantedOccurrence& wanted,
                                      OtherThreads others) {
  const auto generation = arming_generation.load(std::memory_order_acquire);
  record::EventRecord* event = wanted.event.load(std::memory_order_relaxed);
  timer::ContextTimer* timer = armed.timer.load(std::memory_order_relaxed);
  const auto iteration = armed.iteration.load(std::memory_order_relaxed);
  auto* stream =
      reinterpret_cast<CUstream>(const_cast<void*>(armed.stream.load(std::memory_order_relaxed)));
  if (arming_generation.load(std::memory_order_acquire) != generation) return nullptr;

  using Captures = timer::ContextTimer::Captures;
  auto* pair = open_pair(
      state, *timer, stream, *event, iteration, others,
      event->has(record::Flag::kRecaptured) ? Captures::kGetNodes : Captures::kAreLeftAlone);
  if (pair == nullptr) return nullptr;
  pair->discard.store(state.throw_samples_away.load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
  wanted.taken.store(pair, std::memory_order_release);
  return pair;
}

void end_pair(State& state, ArmedEvent& armed, const void* stream, timer::ContextTimer::Pair& pair,
              bool wanted) {
  // A library call or label may last longer than its iteration; the entry may be armed again by
  // then.
  const bool is_late = armed.iteration.load(std::memory_order_relaxed) != pair.iteration;
  if (wanted && !is_late) return close_pair(state, stream, pair);
  pair.timer->abandon(pair);
  look_at_armed_launches();
}

namespace {

// This iteration's entry of this function on this stream, created if missing.  Null if there is no
// room.
ArmedEvent* entry_for(const LaunchSite& site, std::int64_t iteration, std::uint32_t& count) {
  const void* function = site.slot->function.load(std::memory_order_relaxed);
  const void* stream = site.slot->stream.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    ArmedEvent& known = armed_events[i];
    if (known.function.load(std::memory_order_relaxed) == function &&
        known.stream.load(std::memory_order_relaxed) == stream) {
      return &known;
    }
  }
  if (count == kMostArmed) return nullptr;
  ArmedEvent& armed = armed_events[count++];
  armed.function.store(function, std::memory_order_relaxed);
  armed.stream.store(stream, std::memory_order_relaxed);
  armed.site.store(0, std::memory_order_relaxed);
  armed.expected.store(site.usual_count, std::memory_order_relaxed);
  armed.wanted_count.store(0, std::memory_order_relaxed);
  armed.timer.store(site.stream->timer, std::memory_order_relaxed);
  armed.iteration.store(iteration, std::memory_order_relaxed);
  armed.pair.store(nullptr, std::memory_order_relaxed);
  armed.label.store(site.label, std::memory_order_relaxed);
  armed.graph.store(site.graph, std::memory_order_relaxed);
  return &armed;
}

void publish_filter(std::uint64_t filter, bool are_marked) noexcept {
  filter |= boundary_filter();
  armed_handles.store(filter, std::memory_order_relaxed);
  if (are_marked) filter = sys::kEveryLaunch;
  armed_filter.store(filter, std::memory_order_relaxed);
  if (timer::open_watches.load(std::memory_order_relaxed) == 0 &&
      open_captures.load(std::memory_order_relaxed) == 0 &&
      !sites_are_lost.load(std::memory_order_relaxed) &&
      !watching.load(std::memory_order_relaxed)) {
    sys::set_filter(filter);
  }
}

void forget_armed() noexcept {
  const auto count = armed_count.exchange(0, std::memory_order_acq_rel);
  for (std::uint32_t i = 0; i < count; ++i) {
    ArmedEvent& armed = armed_events[i];
    if (Label* label = armed.label.load(std::memory_order_relaxed)) label->open_gate(false);
    // A label that was started but not stopped in its iteration.
    if (auto* pair = armed.pair.exchange(nullptr, std::memory_order_acq_rel)) {
      pair->event->was_left_open.store(true, std::memory_order_relaxed);
      pair->timer->abandon(*pair);
    }
  }
}

bool are_all_marked() noexcept {
  return threads_meet.load(std::memory_order_relaxed) ||
         iterations_to_mark.load(std::memory_order_relaxed) > 0;
}

bool is_met_by_threads(const void* stream) noexcept {
  return several_threads_launch.load(std::memory_order_relaxed) && timer::threads_meet_on(stream);
}

}  // namespace

// Without a moment in between in which the filter would let every launch through.
void arm(State& state, std::span<const std::size_t> targets, std::int64_t iteration) {
  forget_armed();
  std::uint32_t count = 0;
  arming_generation.fetch_add(1, std::memory_order_acq_rel);
  for (const std::size_t target : targets) {
    for (record::EventRecord* event : state.targets[target].events) {
      const auto known = state.site_of_event.find(event);
      if (known == state.site_of_event.end()) continue;  // not met since its phase came back
      ArmedEvent* armed = entry_for(*known->second, iteration, count);
      const auto wanted_count =
          armed == nullptr ? 0 : armed->wanted_count.load(std::memory_order_relaxed);
      // No room for all at once: the others miss this sample.
      if (armed == nullptr || wanted_count == kMostOccurrences) continue;
      WantedOccurrence& wanted = armed->wanted[wanted_count];
      wanted.occurrence.store(event->launch_occurrence, std::memory_order_relaxed);
      wanted.event.store(event, std::memory_order_relaxed);
      wanted.taken.store(nullptr, std::memory_order_relaxed);
      armed->wanted_count.store(wanted_count + 1, std::memory_order_relaxed);
    }
  }
  arming_generation.fetch_add(1, std::memory_order_acq_rel);
  std::uint64_t filter = sys::kNoLaunch;
  bool are_marked = are_all_marked();
  if (iterations_to_mark.load(std::memory_order_relaxed) > 0) iterations_to_mark.fetch_sub(1);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (Label* label = armed_events[i].label.load(std::memory_order_relaxed)) {
      label->open_gate(true);
    } else {
      const ExecutableGraph* graph = armed_events[i].graph.load(std::memory_order_relaxed);
      const void* handle = graph != nullptr
                               ? graph->exec.load(std::memory_order_acquire)
                               : armed_events[i].function.load(std::memory_order_relaxed);
      filter |= std::uint64_t{1} << sys::filter_bit(handle);
      are_marked =
          are_marked || is_met_by_threads(armed_events[i].stream.load(std::memory_order_relaxed));
    }
  }
  armed_count.store(count, std::memory_order_release);
  publish_filter(filter, are_marked);
}

void rename_armed(const SiteKey& old, const SiteKey& fresh) noexcept {
  move_boundary(old.function, old.stream, fresh.function, fresh.stream);
  std::uint64_t bits = boundary_filter();
  const auto count = armed_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    ArmedEvent& armed = armed_events[i];
    if (armed.function.load(std::memory_order_relaxed) != old.function ||
        armed.stream.load(std::memory_order_relaxed) != old.stream) {
      continue;
    }
    armed.stream.store(fresh.stream, std::memory_order_relaxed);
    armed.function.store(fresh.function, std::memory_order_release);
    const bool is_graph = armed.graph.load(std::memory_order_relaxed) != nullptr;
    if (!is_graph) bits |= std::uint64_t{1} << sys::filter_bit(fresh.function);
  }
  armed_filter.fetch_or(bits, std::memory_order_relaxed);
  armed_handles.fetch_or(bits, std::memory_order_relaxed);
}

void disarm() noexcept {
  forget_armed();
  publish_filter(sys::kNoLaunch, are_all_marked());
}

void look_at_meeting_threads(const State& state) noexcept {
  expect_new_thread();  // those that have a context by now
  for (const Target& target : state.targets) {
    for (const record::EventRecord* event : target.events) {
      const auto site = state.site_of_event.find(event);
      if (site == state.site_of_event.end() || site->second->label != nullptr) continue;
      if (is_met_by_threads(site->second->slot->stream.load(std::memory_order_relaxed)))
        return threads_meet.store(true, std::memory_order_relaxed);
    }
  }
}

bool is_only_marked(const void* handle) noexcept {
  return threads_meet.load(std::memory_order_relaxed) &&
         !counting.load(std::memory_order_relaxed) &&
         !measures_everything.load(std::memory_order_relaxed) &&
         !sites_are_lost.load(std::memory_order_relaxed) &&
         !watching.load(std::memory_order_relaxed) &&
         open_captures.load(std::memory_order_relaxed) == 0 &&
         (armed_handles.load(std::memory_order_relaxed) >> sys::filter_bit(handle) & 1U) == 0;
}

void stop_looking_at_meeting_threads() noexcept {
  threads_meet.store(false, std::memory_order_relaxed);
  iterations_to_mark.store(0, std::memory_order_relaxed);
}

void expect_new_thread() noexcept {
  if (!several_threads_launch.load(std::memory_order_relaxed)) return;
  iterations_to_mark.store(kIterationsOfNewThread, std::memory_order_relaxed);
  armed_filter.store(sys::kEveryLaunch, std::memory_order_relaxed);
  look_at_every_launch();
}

void void_iteration() noexcept {
  iteration_is_void.store(true, std::memory_order_relaxed);
}

bool is_iteration_void() noexcept {
  return iteration_is_void.load(std::memory_order_relaxed);
}

bool some_armed_were_not_as_expected() noexcept {
  const auto count = armed_count.load(std::memory_order_acquire);
  return std::any_of(
      armed_events.begin(), armed_events.begin() + count, [](const ArmedEvent& each) {
        const auto expected = each.expected.load(std::memory_order_relaxed);
        return expected != 0 && !is_copy(each.function.load(std::memory_order_relaxed)) &&
               each.site.load(std::memory_order_relaxed) != expected;
      });
}

std::uint32_t drop_samples_of_irregular_iteration() noexcept {
  const bool all = iteration_is_void.exchange(false, std::memory_order_relaxed);
  std::uint32_t dropped = 0;
  const auto count = armed_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    ArmedEvent& armed = armed_events[i];
    const auto expected = armed.expected.load(std::memory_order_relaxed);
    if (!all && (expected == 0 || armed.site.load(std::memory_order_relaxed) == expected)) continue;
    for (std::uint32_t k = 0; k < armed.wanted_count.load(std::memory_order_relaxed); ++k) {
      auto* pair = armed.wanted[k].taken.exchange(nullptr, std::memory_order_acq_rel);
      if (pair == nullptr) continue;
      pair->discard.store(true, std::memory_order_relaxed);
      ++dropped;
    }
  }
  return dropped;
}

// --- around the application's launch

namespace {

LaunchTicket begin_armed_launch(State& state, const Launch& launch) {
  ArmedEvent* armed = armed_for(launch.function, launch.stream);
  if (armed == nullptr) return {};
  WantedOccurrence* wanted = count_occurrence(*armed);
  const LaunchTicket counted{.counted = &armed->site};
  if (wanted == nullptr) return counted;
  record::EventRecord* event = wanted->event.load(std::memory_order_relaxed);
  if (event->is_inside_graph()) {
    const auto replay = clone_measurement::before_replay(
        state, *launch.graph, launch.stream, *event, *armed->timer.load(std::memory_order_relaxed),
        armed->iteration.load(std::memory_order_relaxed));
    if (replay.clone == nullptr) return {};
    if (replay.pair != nullptr) {
      replay.pair->discard.store(state.throw_samples_away.load(std::memory_order_relaxed),
                                 std::memory_order_relaxed);
      wanted->taken.store(replay.pair, std::memory_order_release);
    }
    return {.kind = LaunchTicket::Kind::kReplay, .replay = replay};
  }
  libraries::OpFrame* op = event->spans_op ? libraries::outermost_op() : nullptr;
  if (event->spans_op && op == nullptr)
    return counted;  // launched outside the library call this time
  auto* pair = begin_pair(state, *armed, *wanted, OtherThreads::kSpoilThePair);
  if (pair == nullptr) return counted;
  if (op != nullptr) {
    libraries::OpPart& part = libraries::part_on(*op, launch.stream);
    part.armed = armed;
    part.pair = pair;
    return {};  // ends with the library call
  }
  return {.kind = LaunchTicket::Kind::kMeasured,
          .armed = armed,
          .timer = nullptr,
          .pair = pair,
          .counted = &armed->site};
}

// In a run without iterations: this launch's slot is to be sampled, or is new.
LaunchTicket begin_sampled_launch(State& state, const Launch& launch) {
  const std::lock_guard lock(state.mutex);
  timer::LaunchSlot* slot = launch_table.find(launch.function, launch.stream);
  if (slot == nullptr) return {.kind = LaunchTicket::Kind::kMeet};
  LaunchSite* site = state.site_by_slot[launch_table.index_of(*slot)].get();
  // Not the warm-up: the site stays.
  if (launch.copy == nullptr && looking_for_period.load(std::memory_order_relaxed))
    static_cast<void>(look_for_period(state, *site));
  const std::uint32_t count = slot->count.fetch_add(1, std::memory_order_relaxed);
  const LaunchTicket counted{.counted = &slot->count};
  if (count < slot->limit.load(std::memory_order_relaxed)) return counted;  // not its turn
  const std::uint32_t pause = launches_to_next_sample(*site);
  slot->limit.store(count < ~pause ? count + pause : ~std::uint32_t{0}, std::memory_order_relaxed);
  if (site->sampled == nullptr) return counted;
  timer::ContextTimer* timer = site->stream->timer;
  timer->poll(nullptr);
  if (timer->last_sample_end_ms() > 0) note_time_so_far(state, timer->last_sample_end_ms());
  if (pause == ~std::uint32_t{0}) return counted;
  site->sampled->reserve(static_cast<std::uint32_t>(state.settings.repeat));
  auto* pair =
      open_pair(state, *timer, launch.stream, *site->sampled, 0, OtherThreads::kSpoilThePair);
  if (pair == nullptr) return counted;
  note_sample_begins(state);
  return {.kind = LaunchTicket::Kind::kMeasured,
          .armed = nullptr,
          .timer = timer,
          .pair = pair,
          .counted = counted.counted};
}

}  // namespace

namespace {

// The launch becomes a node of a captured graph.  If a program captures anew in each iteration, it
// is measured in the capture; what is captured once is measured when the graph is launched.
LaunchTicket begin_captured_launch(State& state, const Launch& launch) {
  if (launch.graph != nullptr) return {};  // a graph inside a graph
  LaunchTicket ticket;
  const Phase phase = state.phase.load(std::memory_order_acquire);
  if (phase == Phase::kDiscovering) ticket.kind = LaunchTicket::Kind::kMeet;
  if (launch.copy == nullptr &&
      (phase == Phase::kBeforeIterations || phase == Phase::kWithoutIterations)) {
    state.run.launches_seen.fetch_add(1, std::memory_order_relaxed);
  }
  if (phase == Phase::kMeasuring || phase == Phase::kOverheadMeasurement) {
    ticket = begin_armed_launch(state, launch);
  }
  ticket.is_captured = true;
  return ticket;
}

// Captured pairs are recorded by the first launch of the graph.
void replayed(State& state) {
  if (open_captures.load(std::memory_order_relaxed) != 0) return;
  const std::lock_guard lock(state.mutex);
  for (timer::ContextTimer& timer : state.timers) {
    if (timer.has_captured()) timer.hand_captured_over();
  }
}

}  // namespace

LaunchTicket before_launch(const Launch& launch) {
  State* run = state();
  if (run == nullptr) return {};
  if (trigger::is_paused()) return {};
  timer::note_thread_on(launch.stream);
  if (open_captures.load(std::memory_order_relaxed) != 0 && timer::is_capturing(launch.stream)) {
    if (watching.load(std::memory_order_relaxed)) note_watched(launch);
    return begin_captured_launch(*run, launch);
  }
  const Launched launched{.function = launch.graph == nullptr ? launch.function : nullptr,
                          .label = nullptr,
                          .graph = launch.graph};
  if (sites_are_lost.load(std::memory_order_relaxed)) {
    look_for_lost(*run, launched, launch.stream);
  } else if (launch.copy == nullptr && boundary_is_lost.load(std::memory_order_relaxed)) {
    look_for_boundary(*run, launched, launch.stream);
  }
  if (starts_iteration(launch)) session::iteration_starts(session::Mark::kLaunch);
  if (watching.load(std::memory_order_relaxed)) note_watched(launch);
  switch (run->phase.load(std::memory_order_acquire)) {
    case Phase::kBeforeIterations:
    case Phase::kDiscovering:
      return {.kind = LaunchTicket::Kind::kMeet};
    case Phase::kWithoutIterations:
      return begin_sampled_launch(*run, launch);
    case Phase::kMeasuring:
    case Phase::kOverheadMeasurement:
      return measures_everything.load(std::memory_order_acquire)
                 ? begin_one_shot_launch(*run, launch)
                 : begin_armed_launch(*run, launch);
    case Phase::kUnitTests:
      return begin_unit_test_launch(*run, launch);
    case Phase::kDraining:
    case Phase::kDone:
      return {};
  }
  return {};
}

void after_launch(const Launch& launch, const LaunchTicket& ticket, bool launched) {
  State* run = state();
  if (run == nullptr) return;
  if (launch.graph != nullptr && launched) replayed(*run);
  if (ticket.kind == LaunchTicket::Kind::kReplay) {
    return clone_measurement::after_replay(ticket.replay, launched);
  }
  if (ticket.is_captured && launched) capture_notes::note_captured_launch(launch);
  if (ticket.kind == LaunchTicket::Kind::kMeet) {
    if (launched) meet(*run, launch, ticket.is_captured);
    return;
  }
  if (ticket.kind == LaunchTicket::Kind::kNothing) return;
  if (launch.copy == nullptr) ticket.pair->correlation_id = cupti::cross_check_of_this_launch();
  if (ticket.armed != nullptr) {
    return end_pair(*run, *ticket.armed, launch.stream, *ticket.pair, launched);
  }
  if (launched) return close_pair(*run, launch.stream, *ticket.pair);
  ticket.timer->abandon(*ticket.pair);
  look_at_armed_launches();
}

void count_graph_launch() noexcept {
  // Load and store instead of an atomic increment: an occasional lost count is cheaper than a
  // locked instruction.
  graph_launches.store(graph_launches.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
}

std::uint64_t graph_launch_count() noexcept {
  return graph_launches.load(std::memory_order_relaxed);
}

void follow_new_exec(const ExecutableGraph& graph) noexcept {
  bool is_wanted = is_boundary(&graph);
  const auto count = armed_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    is_wanted = is_wanted || armed_events[i].graph.load(std::memory_order_relaxed) == &graph;
  }
  if (!is_wanted || !sys::is_on()) return;
  const auto bit = std::uint64_t{1} << sys::filter_bit(graph.exec.load(std::memory_order_relaxed));
  armed_filter.fetch_or(bit, std::memory_order_relaxed);
  armed_handles.fetch_or(bit, std::memory_order_relaxed);
  sys::add_to_filter(bit);
}

}  // namespace inline_prof::hook
