// The armed events of the current iteration: the exact check after the filter, and the event pair
// around what matches.
#include "session/arming.hpp"

#include "cupti/cupti_client.hpp"
#include "launch/kernel_handles.hpp"
#include "launch/launch.hpp"
#include "libraries/op_frame.hpp"
#include "session/armed_event.hpp"
#include "session/discovery.hpp"
#include "session/session.hpp"
#include "session/state.hpp"
#include "session/trigger.hpp"
#include "session/without_iterations.hpp"
#include "sys/hot_line.hpp"
#include "sys/lifecycle.hpp"
#include "timer/driver_scope.hpp"

#include <array>

namespace inline_prof::hook {

constinit std::array<ArmedEvent, kMostArmed> armed_events;
constinit std::atomic<std::uint32_t> armed_count{0};
constinit std::atomic<std::uint32_t> arming_generation{0};
constinit std::atomic<int> open_pairs{0};
constinit std::atomic<bool> measures_everything{false};

namespace {

constinit std::atomic<std::uint64_t> armed_filter{sys::kNoLaunch};
constinit std::atomic<std::uint64_t> graph_launches{0};
constinit std::atomic<bool> iteration_is_void{false};

// Identifies this thread.
const void* this_thread() noexcept {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local char mark = 0;
  return &mark;
}

// A launch of another thread on a stream that is being measured may fall between our events.
void note_interleaved(const void* stream) noexcept {
  const auto count = armed_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    ArmedEvent& armed = armed_events[i];
    const void* owner = armed.open_by.load(std::memory_order_acquire);
    // Each thread has its own per-thread default stream.
    if (owner != nullptr && owner != this_thread() && stream != CU_STREAM_PER_THREAD &&
        armed.stream.load(std::memory_order_relaxed) == stream) {
      armed.interleaved.store(true, std::memory_order_relaxed);
    }
  }
}

// Until the pair is closed every launch is examined, so that one in between is noticed.
void watch_other_threads(ArmedEvent& armed) noexcept {
  armed.open_by.store(this_thread(), std::memory_order_release);
  open_pairs.fetch_add(1, std::memory_order_relaxed);
  sys::set_filter(sys::kEveryLaunch);
}

void stop_watching(ArmedEvent& armed) noexcept {
  const void* mine = this_thread();
  armed.open_by.compare_exchange_strong(mine, nullptr, std::memory_order_acq_rel);
  if (open_pairs.fetch_sub(1, std::memory_order_acq_rel) == 1) look_at_armed_launches();
}

}  // namespace

void look_at_every_launch() noexcept {
  sys::set_filter(sys::kEveryLaunch);
}

void look_at_armed_launches() noexcept {
  if (!sys::is_on() || counting.load(std::memory_order_relaxed) ||
      open_pairs.load(std::memory_order_relaxed) != 0 ||
      open_captures.load(std::memory_order_relaxed) != 0 ||
      sites_are_lost.load(std::memory_order_relaxed)) {
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

timer::ContextTimer::Pair* begin_pair(State& state, ArmedEvent& armed, WantedOccurrence& wanted,
                                      OtherThreads others) {
  const auto generation = arming_generation.load(std::memory_order_acquire);
  record::EventRecord* event = wanted.event.load(std::memory_order_relaxed);
  timer::ContextTimer* timer = armed.timer.load(std::memory_order_relaxed);
  const auto iteration = armed.iteration.load(std::memory_order_relaxed);
  auto* stream =
      reinterpret_cast<CUstream>(const_cast<void*>(armed.stream.load(std::memory_order_relaxed)));
  if (arming_generation.load(std::memory_order_acquire) != generation) return nullptr;

  const bool keeps_others_out = others == OtherThreads::kSpoilThePair;
  armed.interleaved.store(false, std::memory_order_relaxed);
  if (keeps_others_out) watch_other_threads(armed);
  timer::ContextTimer::Pair* pair = nullptr;
  using Captures = timer::ContextTimer::Captures;
  const auto result = timer->begin(
      stream, *event, iteration, pair,
      event->has(record::Flag::kRecaptured) ? Captures::kGetNodes : Captures::kAreLeftAlone);
  if (result != timer::ContextTimer::BeginResult::kOk) {
    count_refusal(state, result);
    if (keeps_others_out) stop_watching(armed);
    return nullptr;
  }
  pair->keeps_others_out = keeps_others_out;
  pair->discard.store(state.throw_samples_away.load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
  wanted.taken.store(pair, std::memory_order_release);
  return pair;
}

void end_pair(State& state, ArmedEvent& armed, const void* stream, timer::ContextTimer::Pair& pair,
              bool wanted) {
  timer::ContextTimer& timer = *pair.timer;
  // A library call or label may last longer than its iteration; the entry may be armed again by
  // then.
  const bool is_late = armed.iteration.load(std::memory_order_relaxed) != pair.iteration;
  const bool interleaved = !is_late && armed.interleaved.load(std::memory_order_relaxed);
  if (interleaved) {
    state.run.dropped.interleaved_launch.fetch_add(1, std::memory_order_relaxed);
  }
  const bool kept_others_out = pair.keeps_others_out;
  if (!wanted || interleaved || is_late) {
    timer.abandon(pair);
  } else {
    // A failure is counted where it is noticed.
    static_cast<void>(timer.end(static_cast<CUstream>(const_cast<void*>(stream)), pair));
  }
  if (kept_others_out) stop_watching(armed);
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

void publish_filter(std::uint64_t filter) noexcept {
  filter |= boundary_filter();
  armed_filter.store(filter, std::memory_order_relaxed);
  if (open_pairs.load(std::memory_order_relaxed) == 0 &&
      open_captures.load(std::memory_order_relaxed) == 0 &&
      !sites_are_lost.load(std::memory_order_relaxed)) {
    sys::set_filter(filter);
  }
}

}  // namespace

void arm(State& state, std::span<const std::size_t> targets, std::int64_t iteration) {
  disarm();
  std::uint32_t count = 0;
  arming_generation.fetch_add(1, std::memory_order_acq_rel);
  for (const std::size_t target : targets) {
    for (record::EventRecord* event : state.targets[target].events) {
      LaunchSite* site = state.site_of_event[event];
      ArmedEvent* armed = entry_for(*site, iteration, count);
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
  for (std::uint32_t i = 0; i < count; ++i) {
    if (Label* label = armed_events[i].label.load(std::memory_order_relaxed)) {
      label->open_gate(true);
    } else {
      const ExecutableGraph* graph = armed_events[i].graph.load(std::memory_order_relaxed);
      const void* handle = graph != nullptr
                               ? graph->exec.load(std::memory_order_acquire)
                               : armed_events[i].function.load(std::memory_order_relaxed);
      filter |= std::uint64_t{1} << sys::filter_bit(handle);
    }
  }
  armed_count.store(count, std::memory_order_release);
  publish_filter(filter);
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
}

void disarm() noexcept {
  const auto count = armed_count.exchange(0, std::memory_order_acq_rel);
  for (std::uint32_t i = 0; i < count; ++i) {
    ArmedEvent& armed = armed_events[i];
    if (Label* label = armed.label.load(std::memory_order_relaxed)) label->open_gate(false);
    // A label that was started but not stopped in its iteration.
    if (auto* pair = armed.pair.exchange(nullptr, std::memory_order_acq_rel)) {
      pair->timer->abandon(*pair);
    }
  }
  publish_filter(sys::kNoLaunch);
}

void void_iteration() noexcept {
  iteration_is_void.store(true, std::memory_order_relaxed);
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
  note_interleaved(launch.stream);
  ArmedEvent* armed = armed_for(launch.function, launch.stream);
  if (armed == nullptr) return {};
  WantedOccurrence* wanted = count_occurrence(*armed);
  const LaunchTicket counted{.counted = &armed->site};
  if (wanted == nullptr) return counted;
  record::EventRecord* event = wanted->event.load(std::memory_order_relaxed);
  // CUPTI does not tell which handles end with a module.
  if (cupti_sees_launches.load(std::memory_order_relaxed) && !event->kernel_names.empty() &&
      !is_kernel_named(launch.function, event->kernel_names.front())) {
    state.run.dropped.destroyed.fetch_add(1, std::memory_order_relaxed);
    return counted;
  }
  if (event->is_inside_graph()) {
    const auto replay = clone_measurement::before_replay(
        state, *launch.graph, *event, *armed->timer.load(std::memory_order_relaxed),
        armed->iteration.load(std::memory_order_relaxed));
    if (replay.clone == nullptr) return {};
    if (replay.pair != nullptr) {
      replay.pair->discard.store(state.throw_samples_away.load(std::memory_order_relaxed),
                                 std::memory_order_relaxed);
      wanted->taken.store(replay.pair, std::memory_order_release);
    }
    return {.kind = LaunchTicket::Kind::kReplay, .replay = replay};
  }
  OpFrame* op = event->spans_op ? outermost_op() : nullptr;
  if (event->spans_op && op == nullptr)
    return counted;  // launched outside the library call this time
  auto* pair = begin_pair(state, *armed, *wanted, OtherThreads::kSpoilThePair);
  if (pair == nullptr) return counted;
  if (op != nullptr) {
    OpPart& part = part_on(*op, launch.stream);
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
  if (looking_for_period.load(std::memory_order_relaxed))
    static_cast<void>(look_for_period(state, *site));
  const std::uint32_t count = slot->count.fetch_add(1, std::memory_order_relaxed);
  const LaunchTicket counted{.counted = &slot->count};
  if (count < slot->limit.load(std::memory_order_relaxed)) return counted;  // not its turn
  const std::uint32_t pause = launches_to_next_sample(*site);
  slot->limit.store(count < ~pause ? count + pause : ~std::uint32_t{0}, std::memory_order_relaxed);
  if (site->sampled == nullptr) return counted;
  timer::ContextTimer* timer = site->stream->timer;
  timer->poll(nullptr);
  if (timer->last_sample_end_ms() > 0) {
    // The run so far: up to the end of the sample that was read last.
    state.run.iteration_times.set_only(timer->last_sample_end_ms());
    count_calls(state);
  }
  if (pause == ~std::uint32_t{0}) return counted;
  site->sampled->reserve(static_cast<std::uint32_t>(state.settings.repeat));
  timer::ContextTimer::Pair* pair = nullptr;
  const auto result = timer->begin(launch.stream, *site->sampled, 0, pair);
  if (result != timer::ContextTimer::BeginResult::kOk) {
    count_refusal(state, result);
    return counted;
  }
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
  if (phase == Phase::kBeforeIterations || phase == Phase::kWithoutIterations) {
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
  if (open_captures.load(std::memory_order_relaxed) != 0 && timer::is_capturing(launch.stream)) {
    return begin_captured_launch(*run, launch);
  }
  if (sites_are_lost.load(std::memory_order_relaxed)) {
    look_for_lost(*run,
                  {.function = launch.graph == nullptr ? launch.function : nullptr,
                   .label = nullptr,
                   .graph = launch.graph},
                  launch.stream);
  }
  if (starts_iteration(launch)) session::iteration_starts(session::Mark::kLaunch);
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
  ticket.pair->correlation_id = cupti::cross_check_of_this_launch();
  if (ticket.armed != nullptr) {
    return end_pair(*run, *ticket.armed, launch.stream, *ticket.pair, launched);
  }
  if (launched) {
    static_cast<void>(ticket.timer->end(launch.stream, *ticket.pair));
  } else {
    ticket.timer->abandon(*ticket.pair);
  }
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
  sys::add_to_filter(bit);
}

}  // namespace inline_prof::hook
