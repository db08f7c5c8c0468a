// Mode one_shot: every event of an iteration has its pair in the same iteration.  Pairs stand
// between all launches, so that the iteration is slower than others; in return the events of one
// iteration are seen together.
#include "session/one_shot.hpp"

#include "labels/label.hpp"
#include "launch/launch.hpp"
#include "libraries/op_frame.hpp"
#include "session/state.hpp"
#include "sys/hot_line.hpp"
#include "sys/lifecycle.hpp"

namespace inline_prof::hook {
namespace {

// The event of this occurrence, counted; null where the warm-up did not meet it.
record::EventRecord* next_event(State& state, const void* function, const void* stream,
                                LaunchSite*& site) {
  timer::LaunchSlot* slot = launch_table.find(function, table_key(state, stream));
  if (slot == nullptr) return nullptr;
  site = static_cast<LaunchSite*>(slot->owner.load(std::memory_order_acquire));
  if (site == nullptr) return nullptr;
  const std::uint32_t occurrence = slot->count.fetch_add(1, std::memory_order_relaxed);
  record::EventRecord* event =
      occurrence < site->events.size() ? site->events[occurrence] : nullptr;
  return event != nullptr && event->capacity() > 0 ? event : nullptr;  // 0: not asked for
}

timer::ContextTimer::Pair* begin(State& state, const LaunchSite& site, CUstream stream,
                                 record::EventRecord& event) {
  return open_pair(state, *site.stream->timer, stream, event,
                   state.iteration.load(std::memory_order_relaxed),
                   site.label == nullptr ? OtherThreads::kSpoilThePair : OtherThreads::kAreWelcome);
}

}  // namespace

void begin_one_shot(State& state) {
  for (LaunchSite* site : state.sites)
    site->slot->count.store(0, std::memory_order_relaxed);
  open_all_gates(true);
  measures_everything.store(true, std::memory_order_release);
  sys::set_filter(sys::kEveryLaunch);
}

void stop_one_shot(State& state) {
  if (!measures_everything.exchange(false, std::memory_order_acq_rel)) return;
  open_all_gates(false);
  for (LaunchSite* site : state.sites) {
    auto* pair = std::exchange(site->open_pair, nullptr);
    if (pair != nullptr) pair->timer->abandon(*pair);  // started and not stopped
  }
}

// Without the mutex, which every launch of every thread would wait for: once the plan is made sites
// stay, and so do their events.  Unit tests add some while they run.
LaunchTicket begin_one_shot_launch(State& state, const Launch& launch) {
  std::unique_lock lock(state.mutex, std::defer_lock);
  if (state.settings.mode == schedule::Mode::kUnitTest) lock.lock();
  LaunchSite* site = nullptr;
  record::EventRecord* event = next_event(state, launch.function, launch.stream, site);
  LaunchTicket counted{.counted = site == nullptr ? nullptr : &site->slot->count};
  if (event == nullptr) return counted;
  libraries::OpFrame* op = event->spans_op ? libraries::outermost_op() : nullptr;
  if (event->spans_op && op == nullptr) return counted;
  auto* pair = begin(state, *site, launch.stream, *event);
  if (pair == nullptr) return counted;
  if (op != nullptr) {
    libraries::part_on(*op, launch.stream).pair = pair;
    return {};
  }
  return {.kind = LaunchTicket::Kind::kMeasured,
          .armed = nullptr,
          .timer = site->stream->timer,
          .pair = pair,
          .counted = counted.counted};
}

void record_one_shot_label(State& state, const LabelEnd& end, CUstream stream,
                           const char* extra_info) {
  const std::lock_guard lock(state.mutex);
  if (end.is_start) {
    LaunchSite* site = nullptr;
    record::EventRecord* event = next_event(state, end.label, stream, site);
    if (event == nullptr || site->open_pair != nullptr) return;
    site->open_pair = begin(state, *site, stream, *event);
    if (site->open_pair != nullptr && extra_info != nullptr) {
      extra_of(*site->open_pair).start = extra_info;
    }
    return;
  }
  timer::LaunchSlot* slot = launch_table.find(end.label, table_key(state, stream));
  if (slot == nullptr) return;
  LaunchSite& site = *state.site_by_slot[launch_table.index_of(*slot)];
  auto* pair = std::exchange(site.open_pair, nullptr);
  if (pair == nullptr) return;
  if (extra_info != nullptr) extra_of(*pair).stop = extra_info;
  close_pair(state, stream, *pair);
}

}  // namespace inline_prof::hook
