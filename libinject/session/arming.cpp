#include "session/arming.hpp"

#include "launch/copies.hpp"
#include "libraries/op_frame.hpp"
#include "session/session.hpp"
#include "sys/hot_line.hpp"
#include "timer/stream_sharing.hpp"

#include <algorithm>

namespace inline_prof::session {
namespace {

constexpr int kIterationsOfNewThread = 8;

std::uint64_t bit_of(const void* handle) noexcept {
  return std::uint64_t{1} << sys::filter_bit(handle);
}

// A phase that comes later is characterised with samples again.
bool is_for_its_cost_alone(const Session& session) noexcept {
  return session.state() == RunState::kOverheadMeasurement;
}

hook::LaunchTicket measured(hook::LaunchTicket ticket, timer::ContextTimer::Pair* pair) noexcept {
  ticket.kind = hook::LaunchTicket::Kind::kMeasured;
  ticket.pair_of = hook::PairOf::kArmedEvent;
  ticket.pair = pair;
  return ticket;
}

// No launch is let through unmarked in between.
void publish(std::span<const void* const> functions, std::uint64_t handles, bool are_marked) {
  using launch::LaunchFilter;
  if (are_marked) launch::filter.add(LaunchFilter::kMarking);
  launch::filter.arm(functions, handles);
  if (!are_marked) launch::filter.remove(LaunchFilter::kMarking);
}

ArmedEvent* find_in(std::span<ArmedEvent> armed, const void* function,
                    const void* stream) noexcept {
  const auto found = std::find_if(armed.begin(), armed.end(), [&](const ArmedEvent& each) {
    return each.function.load(std::memory_order_relaxed) == function &&
           each.stream.load(std::memory_order_relaxed) == stream;
  });
  return found == armed.end() ? nullptr : &*found;
}

bool is_met_by_threads(const void* stream) noexcept {
  return launch::several_threads_launch.load(std::memory_order_relaxed) &&
         timer::threads_meet_on(stream);
}

}  // namespace

record::ExtraInfos& extra_of(timer::ContextTimer::Pair& pair) {
  if (!pair.extra) pair.extra = std::make_unique<record::ExtraInfos>();
  return *pair.extra;
}

void Arming::open_gates() noexcept {
  for (ArmedEvent& each : armed()) {
    if (labels::Label* label = each.label.load(std::memory_order_relaxed)) label->open_gate(true);
  }
}

ArmedEvent* Arming::find(const void* function, const void* stream) noexcept {
  return find_in(armed(), function, stream);
}

WantedOccurrence* Arming::count_occurrence(ArmedEvent& armed) noexcept {
  const auto generation = generation_.load(std::memory_order_acquire);
  const auto occurrence = armed.launches.fetch_add(1, std::memory_order_relaxed);
  const auto count = armed.wanted_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    WantedOccurrence& wanted = armed.wanted[i];
    if (wanted.occurrence.load(std::memory_order_relaxed) != occurrence) continue;
    // Another thread has armed the next iteration meanwhile: this launch belongs to neither.
    return generation_.load(std::memory_order_acquire) == generation ? &wanted : nullptr;
  }
  return nullptr;
}

timer::ContextTimer::Pair* Arming::open_pair(timer::ContextTimer& timer, CUstream stream,
                                             record::EventRecord& event, std::int64_t iteration,
                                             OtherThreads others,
                                             timer::ContextTimer::Captures captures) {
  timer::ExclusiveUse* use = nullptr;
  if (others == OtherThreads::kSpoilThePair) {
    launch::filter.open();
    use = timer::begin_exclusive_use(stream);
  }
  timer::ContextTimer::Pair* pair = nullptr;
  const auto result = timer.begin(stream, event, iteration, pair, captures);
  if (result == timer::ContextTimer::BeginResult::kOk) {
    pair->exclusive_use = use;
    return pair;
  }
  session_.count_refusal(result);
  if (use != nullptr) timer::end_exclusive_use(*use);
  launch::filter.refresh();
  return nullptr;
}

void Arming::close_pair(const void* stream, timer::ContextTimer::Pair& pair) {
  const auto timed = session_.watching.budget().time_now_and_then(pair.is_watched);
  // A failure is counted where it is noticed.
  const auto result = pair.timer->end(static_cast<CUstream>(const_cast<void*>(stream)), pair);
  if (result == timer::ContextTimer::EndResult::kSpoiled)
    session_.run.dropped.interleaved_launch.fetch_add(1, std::memory_order_relaxed);
  launch::filter.refresh();
}

timer::ContextTimer::Pair* Arming::begin_pair(ArmedEvent& armed, WantedOccurrence& wanted,
                                              OtherThreads others) {
  WatchBudget& budget = session_.watching.budget();
  const bool is_watched = session_.watching.is_on();
  const auto timed = budget.time_now_and_then(is_watched);
  const auto generation = generation_.load(std::memory_order_acquire);
  record::EventRecord* event = wanted.event.load(std::memory_order_relaxed);
  timer::ContextTimer* timer = armed.timer.load(std::memory_order_relaxed);
  const auto iteration = iteration_.load(std::memory_order_relaxed);
  auto* stream =
      reinterpret_cast<CUstream>(const_cast<void*>(armed.stream.load(std::memory_order_relaxed)));
  if (generation_.load(std::memory_order_acquire) != generation) return nullptr;

  using Captures = timer::ContextTimer::Captures;
  auto* pair = open_pair(
      *timer, stream, *event, iteration, others,
      event->has(record::Flag::kRecaptured) ? Captures::kGetNodes : Captures::kAreLeftAlone);
  if (pair == nullptr) return nullptr;
  pair->is_watched = is_watched;
  if (is_watched) budget.spend_pair();
  pair->discard.store(is_for_its_cost_alone(session_), std::memory_order_relaxed);
  wanted.taken.store(pair, std::memory_order_release);
  return pair;
}

void Arming::end_pair(const void* stream, timer::ContextTimer::Pair& pair, bool launched) {
  // A library call or label may last longer than its iteration.
  const bool is_late = iteration_.load(std::memory_order_relaxed) != pair.iteration;
  if (launched && !is_late) return close_pair(stream, pair);
  pair.timer->abandon(pair);
  launch::filter.refresh();
}

WantedOccurrence* Arming::first_of_label(const record::EventRecord& event) noexcept {
  for (ArmedEvent& each : armed()) {
    for (std::uint32_t k = 0; k < each.wanted_count.load(std::memory_order_relaxed); ++k) {
      WantedOccurrence& wanted = each.wanted[k];
      if (wanted.event.load(std::memory_order_relaxed) == &event &&
          wanted.part.load(std::memory_order_relaxed) == WantedOccurrence::Part::kFirstOfLabel)
        return &wanted;
    }
  }
  return nullptr;
}

// The pair begins before the label's first launch and ends behind its last one.
hook::LaunchTicket Arming::begin_part_of_label(ArmedEvent& armed, WantedOccurrence& wanted) {
  hook::LaunchTicket ticket{.counted = &armed.launches};
  if (wanted.part.load(std::memory_order_relaxed) == WantedOccurrence::Part::kFirstOfLabel) {
    wanted.open.store(begin_pair(armed, wanted, OtherThreads::kAreWelcome),
                      std::memory_order_release);
    return ticket;
  }
  WantedOccurrence* first = first_of_label(*wanted.event.load(std::memory_order_relaxed));
  auto* pair = first == nullptr ? nullptr : first->open.exchange(nullptr);
  if (pair == nullptr) return ticket;
  wanted.taken.store(pair, std::memory_order_release);
  return measured(ticket, pair);
}

hook::LaunchTicket Arming::begin_launch(const hook::Launch& launch) {
  using Kind = hook::LaunchTicket::Kind;
  ArmedEvent* armed = find(launch.function, launch.stream);
  if (armed == nullptr) return {};
  WantedOccurrence* wanted = count_occurrence(*armed);
  hook::LaunchTicket ticket{.counted = &armed->launches};
  if (wanted == nullptr) return ticket;
  const auto part = wanted->part.load(std::memory_order_relaxed);
  using Part = WantedOccurrence::Part;
  if (part == Part::kFirstOfLabel || part == Part::kLastOfLabel)
    return begin_part_of_label(*armed, *wanted);
  record::EventRecord* event = wanted->event.load(std::memory_order_relaxed);
  if (event->is_inside_graph()) {
    WatchBudget& budget = session_.watching.budget();
    const bool is_watched = session_.watching.is_on();
    const auto timed = budget.time_now_and_then(is_watched);
    auto replay = session_.graph_kernels.before_replay(
        *launch.graph, launch.stream, *event, *armed->timer.load(std::memory_order_relaxed),
        iteration_.load(std::memory_order_relaxed));
    if (is_watched && replay.kind == Kind::kReplay) budget.spend_pair();
    if (replay.pair != nullptr) {
      replay.pair->is_watched = is_watched;
      replay.pair->discard.store(is_for_its_cost_alone(session_), std::memory_order_relaxed);
      wanted->taken.store(replay.pair, std::memory_order_release);
    }
    return replay;
  }
  libraries::OpFrame* op = event->spans_op ? libraries::outermost_op() : nullptr;
  if (event->spans_op && op == nullptr)
    return ticket;  // launched outside the library call this time
  const bool is_other = launch.copy == nullptr && event->shape && event->shape->grid != launch.grid;
  if (event->passes_over(is_other)) return ticket;
  auto* pair = begin_pair(*armed, *wanted, OtherThreads::kSpoilThePair);
  if (pair == nullptr) return ticket;
  if (is_other) event->has_other_grids.store(true, std::memory_order_relaxed);
  if (op != nullptr) {
    libraries::OpPart& of_op = libraries::part_on(*op, launch.stream);
    of_op.pair_of = hook::PairOf::kArmedEvent;
    of_op.pair = pair;
    return {};  // ends with the library call
  }
  return measured(ticket, pair);
}

// Returns this iteration's entry of this function on this stream, created if missing.  Null if
// there is no room.
ArmedEvent* Arming::entry_for(const LaunchSite& site, std::uint32_t& count) {
  const void* function = site.slot->function.load(std::memory_order_relaxed);
  const void* stream = site.slot->stream.load(std::memory_order_relaxed);
  if (ArmedEvent* known = find_in({armed_.data(), count}, function, stream)) return known;
  if (count == armed_.size()) return nullptr;
  ArmedEvent& fresh = armed_[count++];
  fresh.function.store(function, std::memory_order_relaxed);
  fresh.stream.store(stream, std::memory_order_relaxed);
  fresh.launches.store(0, std::memory_order_relaxed);
  fresh.expected.store(site.usual_count, std::memory_order_relaxed);
  fresh.wanted_count.store(0, std::memory_order_relaxed);
  fresh.timer.store(site.stream->timer, std::memory_order_relaxed);
  fresh.pair.store(nullptr, std::memory_order_relaxed);
  fresh.label.store(site.label, std::memory_order_relaxed);
  fresh.graph.store(site.graph, std::memory_order_relaxed);
  return &fresh;
}

void Arming::forget_armed() noexcept {
  const auto count = count_.exchange(0, std::memory_order_acq_rel);
  for (ArmedEvent& each : std::span(armed_.data(), count)) {
    if (labels::Label* label = each.label.load(std::memory_order_relaxed)) label->open_gate(false);
    // A label that was started but not stopped in its iteration.
    if (auto* pair = each.pair.exchange(nullptr, std::memory_order_acq_rel)) {
      pair->event->was_left_open.store(true, std::memory_order_relaxed);
      pair->timer->abandon(*pair);
    }
    for (std::uint32_t k = 0; k < each.wanted_count.load(std::memory_order_relaxed); ++k) {
      auto* pair = each.wanted[k].open.exchange(nullptr);
      if (pair == nullptr) continue;
      // The label's last launch did not come, or not in its place.
      session_.run.dropped.irregular_iteration.fetch_add(1, std::memory_order_relaxed);
      pair->timer->abandon(*pair);
    }
  }
}

void Arming::want(record::EventRecord& event, const LaunchSite& site, std::uint32_t occurrence,
                  WantedOccurrence::Part part, std::uint32_t& count) {
  ArmedEvent* entry = entry_for(site, count);
  const auto wanted_count =
      entry == nullptr ? 0 : entry->wanted_count.load(std::memory_order_relaxed);
  if (entry == nullptr || wanted_count == kMostOccurrences) return;
  WantedOccurrence& wanted = entry->wanted[wanted_count];
  wanted.occurrence.store(occurrence, std::memory_order_relaxed);
  wanted.part.store(part, std::memory_order_relaxed);
  wanted.event.store(&event, std::memory_order_relaxed);
  wanted.taken.store(nullptr, std::memory_order_relaxed);
  wanted.open.store(nullptr, std::memory_order_relaxed);
  entry->wanted_count.store(wanted_count + 1, std::memory_order_relaxed);
}

bool Arming::are_all_marked() const noexcept {
  return threads_meet_.load(std::memory_order_relaxed) ||
         iterations_to_mark_.load(std::memory_order_relaxed) > 0;
}

// Without a moment in between in which the filter would let every launch through.
void Arming::arm(std::span<const std::size_t> targets, std::int64_t iteration) {
  forget_armed();
  std::uint32_t count = 0;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  iteration_.store(iteration, std::memory_order_relaxed);
  for (const std::size_t target : targets) {
    for (record::EventRecord* event : session_.phases.course().targets[target].events) {
      using Part = WantedOccurrence::Part;
      const LaunchSite* site = session_.sites.of_event(event);
      if (site == nullptr) continue;  // not met since its phase came back
      const LaunchRange* inside = session_.sites.range_of(event);
      if (inside == nullptr) {
        want(*event, *site, event->launch_occurrence, Part::kWhole, count);
        continue;
      }
      const bool is_one =
          inside->first == inside->last && inside->first_occurrence == inside->last_occurrence;
      want(*event, *inside->first, inside->first_occurrence,
           is_one ? Part::kOnlyOfLabel : Part::kFirstOfLabel, count);
      if (!is_one) want(*event, *inside->last, inside->last_occurrence, Part::kLastOfLabel, count);
    }
  }
  generation_.fetch_add(1, std::memory_order_acq_rel);
  publish_armed(count);
}

void Arming::publish_armed(std::uint32_t count) {
  std::array<const void*, launch::LaunchFilter::kMostArmed> functions{};
  std::uint64_t handles = session_.source.filter_bits();
  bool are_marked = are_all_marked();
  if (iterations_to_mark_.load(std::memory_order_relaxed) > 0) iterations_to_mark_.fetch_sub(1);
  for (std::uint32_t i = 0; i < count; ++i) {
    const ArmedEvent& each = armed_[i];
    functions[i] = each.function.load(std::memory_order_relaxed);
    if (labels::Label* label = each.label.load(std::memory_order_relaxed)) {
      label->open_gate(true);
      continue;
    }
    const graphs::ExecutableGraph* graph = each.graph.load(std::memory_order_relaxed);
    handles |=
        bit_of(graph != nullptr ? graph->exec.load(std::memory_order_acquire) : functions[i]);
    are_marked = are_marked || is_met_by_threads(each.stream.load(std::memory_order_relaxed));
  }
  count_.store(count, std::memory_order_release);
  publish(std::span(functions.data(), count), handles, are_marked);
}

void Arming::rename(const void* old_function, const void* old_stream, const void* function,
                    const void* stream) noexcept {
  if (session_.source.move(old_function, old_stream, function, stream))
    launch::filter.add_handle(function);
  ArmedEvent* const armed = find(old_function, old_stream);
  if (armed == nullptr) return;
  armed->stream.store(stream, std::memory_order_relaxed);
  armed->function.store(function, std::memory_order_release);
  launch::filter.rename(static_cast<std::size_t>(armed - armed_.data()), function);
  if (armed->graph.load(std::memory_order_relaxed) == nullptr) launch::filter.add_handle(function);
}

void Arming::disarm() noexcept {
  forget_armed();
  publish({}, session_.source.filter_bits(), are_all_marked());
}

void Arming::mark_meeting_threads() noexcept {
  expect_new_thread();  // for the threads that have a context by now
  for (const Target& target : session_.phases.course().targets) {
    for (const record::EventRecord* event : target.events) {
      const LaunchSite* site = session_.sites.of_event(event);
      if (site == nullptr || site->label != nullptr) continue;
      if (is_met_by_threads(site->slot->stream.load(std::memory_order_relaxed)))
        return threads_meet_.store(true, std::memory_order_relaxed);
    }
  }
}

void Arming::stop_marking() noexcept {
  threads_meet_.store(false, std::memory_order_relaxed);
  iterations_to_mark_.store(0, std::memory_order_relaxed);
}

void Arming::expect_new_thread() noexcept {
  if (!launch::several_threads_launch.load(std::memory_order_relaxed)) return;
  iterations_to_mark_.store(kIterationsOfNewThread, std::memory_order_relaxed);
  launch::filter.add(launch::LaunchFilter::kMarking);
}

bool Arming::some_were_not_as_expected() const noexcept {
  const auto all = armed();
  return std::any_of(all.begin(), all.end(), [](const ArmedEvent& each) {
    const auto expected = each.expected.load(std::memory_order_relaxed);
    return expected != 0 && !launch::is_copy(each.function.load(std::memory_order_relaxed)) &&
           each.launches.load(std::memory_order_relaxed) != expected;
  });
}

bool Arming::some_were_not_launched() const noexcept {
  const auto all = armed();
  return std::any_of(all.begin(), all.end(), [](const ArmedEvent& each) {
    return each.launches.load(std::memory_order_relaxed) == 0;
  });
}

std::uint32_t Arming::drop_samples_of_irregular_iteration() noexcept {
  const bool are_marked = !session_.source.is_guessed();
  const bool all = iteration_is_void_.exchange(false, std::memory_order_relaxed);
  std::uint32_t dropped = 0;
  for (ArmedEvent& each : armed()) {
    const auto expected = each.expected.load(std::memory_order_relaxed);
    if (!all && (expected == 0 || each.launches.load(std::memory_order_relaxed) == expected))
      continue;
    for (std::uint32_t k = 0; k < each.wanted_count.load(std::memory_order_relaxed); ++k) {
      const auto part = each.wanted[k].part.load(std::memory_order_relaxed);
      if (!all && are_marked && part == WantedOccurrence::Part::kWhole) continue;
      auto* pair = each.wanted[k].taken.exchange(nullptr, std::memory_order_acq_rel);
      if (pair == nullptr) continue;
      pair->discard.store(true, std::memory_order_relaxed);
      ++dropped;
    }
  }
  return dropped;
}

}  // namespace inline_prof::session
