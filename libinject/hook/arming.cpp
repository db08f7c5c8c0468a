// The armed events of the running iteration: the exact check behind the filter word, and the pair
// of events around what it lets through.
#include "hook/armed_event.hpp"
#include "hook/launch.hpp"
#include "hook/state.hpp"
#include "sys/hot_line.hpp"
#include "sys/lifecycle.hpp"

#include <array>

namespace inline_prof::hook {

constinit std::array<ArmedEvent, kMostArmed> armed_events;
constinit std::atomic<std::uint32_t> armed_count{0};
constinit std::atomic<int> open_pairs{0};

namespace {

constinit std::atomic<std::uint64_t> armed_filter{sys::kNoLaunch};
constinit std::atomic<std::uint64_t> graph_launches{0};

// A number for this thread: the address of something only it has.
const void* this_thread() noexcept {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local char mark = 0;
  return &mark;
}

// A launch of another thread on a stream that is being measured: it may stand between our events.
void note_interleaved(const void* stream) noexcept {
  const auto count = armed_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    ArmedEvent& armed = armed_events[i];
    const void* owner = armed.open_by.load(std::memory_order_acquire);
    if (owner != nullptr && owner != this_thread() &&
        armed.stream.load(std::memory_order_relaxed) == stream) {
      armed.interleaved.store(true, std::memory_order_relaxed);
    }
  }
}

void count_refusal(State& state, timer::ContextTimer::BeginResult result) {
  using Result = timer::ContextTimer::BeginResult;
  if (result == Result::kRingFull) state.run.dropped.ring_full.fetch_add(1);
  if (result == Result::kCapturing) state.run.dropped.capture_skipped.fetch_add(1);
}

}  // namespace

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

timer::ContextTimer::Pair* begin_pair(State& state, ArmedEvent& armed, OtherThreads others) {
  const auto generation = armed.generation.load(std::memory_order_acquire);
  record::EventRecord* event = armed.event.load(std::memory_order_relaxed);
  timer::ContextTimer* timer = armed.timer.load(std::memory_order_relaxed);
  const auto iteration = armed.iteration.load(std::memory_order_relaxed);
  auto* stream =
      reinterpret_cast<CUstream>(const_cast<void*>(armed.stream.load(std::memory_order_relaxed)));
  // Armed anew by another thread while we read: this launch belongs to neither iteration.
  if (armed.generation.load(std::memory_order_acquire) != generation) return nullptr;

  armed.interleaved.store(false, std::memory_order_relaxed);
  if (others == OtherThreads::kSpoilThePair) {
    armed.open_by.store(this_thread(), std::memory_order_release);
    open_pairs.fetch_add(1, std::memory_order_relaxed);
    // Until the pair is closed every launch comes by, so that one that gets between is seen.
    sys::hot_line.filter.store(sys::kEveryLaunch, std::memory_order_relaxed);
  }

  timer::ContextTimer::Pair* pair = nullptr;
  const auto result = timer->begin(stream, *event, iteration, pair);
  if (result == timer::ContextTimer::BeginResult::kOk) return pair;
  count_refusal(state, result);
  close_pair(armed);
  return nullptr;
}

void close_pair(ArmedEvent& armed) noexcept {
  if (armed.open_by.exchange(nullptr, std::memory_order_acq_rel) == nullptr) return;
  if (open_pairs.fetch_sub(1, std::memory_order_acq_rel) == 1 && sys::is_on()) {
    sys::hot_line.filter.store(armed_filter.load(std::memory_order_relaxed),
                               std::memory_order_relaxed);
  }
}

void end_pair(State& state, ArmedEvent& armed, timer::ContextTimer::Pair& pair, bool wanted) {
  timer::ContextTimer* timer = armed.timer.load(std::memory_order_relaxed);
  auto* stream =
      reinterpret_cast<CUstream>(const_cast<void*>(armed.stream.load(std::memory_order_relaxed)));
  const bool interleaved = armed.interleaved.load(std::memory_order_relaxed);
  if (interleaved) {
    state.run.dropped.interleaved_launch.fetch_add(1, std::memory_order_relaxed);
  }
  if (!wanted || interleaved) {
    timer->abandon(pair);
  } else {
    static_cast<void>(timer->end(stream, pair));  // a refusal is counted where it is noticed
  }
  close_pair(armed);
}

void arm(State& state, std::size_t target, std::int64_t iteration) {
  disarm();
  std::uint64_t filter = sys::kNoLaunch;
  std::uint32_t count = 0;
  for (record::EventRecord* event : state.targets[target].events) {
    Met* met = state.met_of_event[event];
    // Armed on more than kMostArmed streams at once: the rest goes without this sample.
    if (count == kMostArmed || !met->stream->timer->is_alive() || !met->stream->is_alive) continue;
    ArmedEvent& armed = armed_events[count++];
    armed.generation.fetch_add(1, std::memory_order_acq_rel);
    const void* function = met->slot->function.load(std::memory_order_relaxed);
    armed.function.store(function, std::memory_order_relaxed);
    armed.stream.store(met->stream->handle, std::memory_order_relaxed);
    armed.occurrence.store(static_cast<std::uint32_t>(event->occurrence),
                           std::memory_order_relaxed);
    armed.met.store(0, std::memory_order_relaxed);
    armed.event.store(event, std::memory_order_relaxed);
    armed.timer.store(met->stream->timer, std::memory_order_relaxed);
    armed.iteration.store(iteration, std::memory_order_relaxed);
    armed.pair.store(nullptr, std::memory_order_relaxed);
    armed.generation.fetch_add(1, std::memory_order_acq_rel);
    armed.label.store(met->label, std::memory_order_relaxed);
    if (met->label != nullptr) {
      met->label->open_gate(true);
    } else {
      filter |= std::uint64_t{1} << sys::filter_bit(function);
    }
  }
  armed_count.store(count, std::memory_order_release);
  armed_filter.store(filter, std::memory_order_relaxed);
  sys::hot_line.filter.store(filter, std::memory_order_relaxed);
}

void disarm() noexcept {
  const auto count = armed_count.exchange(0, std::memory_order_acq_rel);
  for (std::uint32_t i = 0; i < count; ++i) {
    ArmedEvent& armed = armed_events[i];
    if (Label* label = armed.label.load(std::memory_order_relaxed)) label->open_gate(false);
    // A label that was started and not stopped in its iteration.
    if (auto* pair = armed.pair.exchange(nullptr, std::memory_order_acq_rel)) {
      armed.timer.load(std::memory_order_relaxed)->abandon(*pair);
      close_pair(armed);
    }
  }
  armed_filter.store(sys::kNoLaunch, std::memory_order_relaxed);
  sys::hot_line.filter.store(sys::kNoLaunch, std::memory_order_relaxed);
}

// --- around the host's launch

namespace {

LaunchTicket begin_armed_launch(State& state, const Launch& launch) {
  note_interleaved(launch.stream);
  ArmedEvent* armed = armed_for(launch.function, launch.stream);
  if (armed == nullptr) return {};
  if (armed->met.fetch_add(1, std::memory_order_relaxed) !=
      armed->occurrence.load(std::memory_order_relaxed)) {
    return {};
  }
  auto* pair = begin_pair(state, *armed, OtherThreads::kSpoilThePair);
  if (pair == nullptr) return {};
  return {.kind = LaunchTicket::Kind::kMeasured, .armed = armed, .timer = nullptr, .pair = pair};
}

// In a run without iterations: this launch's slot was chosen, or it is not known yet.
LaunchTicket begin_sampled_launch(State& state, const Launch& launch) {
  const std::lock_guard lock(state.mutex);
  timer::LaunchSlot* slot = launch_table.find(launch.function, launch.stream);
  if (slot == nullptr) return {.kind = LaunchTicket::Kind::kMeet};
  Met* met = state.met_by_slot[launch_table.index_of(*slot)].get();
  const std::uint32_t count = slot->count.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t pause = launches_to_next_sample(*met);
  slot->limit.store(count < ~pause ? count + pause : ~std::uint32_t{0}, std::memory_order_relaxed);
  if (met->sampled == nullptr) return {};
  timer::ContextTimer* timer = met->stream->timer;
  timer->poll(nullptr);
  if (timer->last_sample_end_ms() > 0) {
    // The run so far: up to the end of the sample that was read last.
    state.run.iteration_times.set_only(timer->last_sample_end_ms());
    for (Met* each : state.met) {
      if (each->sampled == nullptr) continue;
      each->sampled->calls.store(each->slot->count.load(std::memory_order_relaxed));
    }
  }
  if (pause == ~std::uint32_t{0}) return {};
  timer::ContextTimer::Pair* pair = nullptr;
  const auto result = timer->begin(launch.stream, *met->sampled, 0, pair);
  if (result != timer::ContextTimer::BeginResult::kOk) {
    count_refusal(state, result);
    return {};
  }
  return {.kind = LaunchTicket::Kind::kMeasured, .armed = nullptr, .timer = timer, .pair = pair};
}

}  // namespace

LaunchTicket before_launch(const Launch& launch) {
  State* run = state();
  if (run == nullptr) return {};
  switch (run->phase.load(std::memory_order_acquire)) {
    case Phase::kBeforeIterations:
    case Phase::kDiscovering:
      return {.kind = LaunchTicket::Kind::kMeet};
    case Phase::kWithoutIterations:
      return begin_sampled_launch(*run, launch);
    case Phase::kMeasuring:
      return begin_armed_launch(*run, launch);
    case Phase::kDraining:
    case Phase::kDone:
      return {};
  }
  return {};
}

void after_launch(const Launch& launch, const LaunchTicket& ticket, bool launched) {
  State* run = state();
  if (run == nullptr) return;
  if (ticket.kind == LaunchTicket::Kind::kMeet) {
    if (launched) meet(*run, launch);
    return;
  }
  if (ticket.armed != nullptr) return end_pair(*run, *ticket.armed, *ticket.pair, launched);
  if (launched) {
    static_cast<void>(ticket.timer->end(launch.stream, *ticket.pair));
  } else {
    ticket.timer->abandon(*ticket.pair);
  }
}

void count_graph_launch() noexcept {
  // Load and store: a count that two threads race on is worth no locked instruction.
  graph_launches.store(graph_launches.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
}

std::uint64_t graph_launch_count() noexcept {
  return graph_launches.load(std::memory_order_relaxed);
}

}  // namespace inline_prof::hook
