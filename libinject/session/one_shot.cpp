#include "session/one_shot.hpp"

#include "libraries/op_frame.hpp"
#include "session/session.hpp"

#include <utility>

namespace inline_prof::session {

record::EventRecord* OneShot::next_event(const void* function, CUstream stream, LaunchSite*& site) {
  site = session_.sites.find(function, stream);
  if (site == nullptr) return nullptr;
  const std::uint32_t occurrence = site->slot->count.fetch_add(1, std::memory_order_relaxed);
  record::EventRecord* event =
      occurrence < site->events.size() ? site->events[occurrence] : nullptr;
  return event != nullptr && event->capacity() > 0 ? event : nullptr;  // 0: not asked for
}

timer::ContextTimer::Pair* OneShot::begin_pair(const LaunchSite& site, CUstream stream,
                                               record::EventRecord& event) {
  return session_.arming.open_pair(
      *site.stream->timer, stream, event, session_.iteration(),
      site.label == nullptr ? OtherThreads::kSpoilThePair : OtherThreads::kAreWelcome);
}

void OneShot::begin() {
  session_.sites.begin_counts();
  labels::open_all_gates(true);
  launch::filter.add(launch::LaunchFilter::kMeasuringAll);
}

void OneShot::stop() {
  if (!launch::filter.remove(launch::LaunchFilter::kMeasuringAll)) return;
  labels::open_all_gates(false);
  for (const auto& site : session_.sites.all()) {
    auto* pair = std::exchange(site->open_pair, nullptr);
    if (pair != nullptr) pair->timer->abandon(*pair);  // started and not stopped
  }
}

// Without the mutex, which every launch of every thread would wait for: once the plan is made sites
// stay, and so do their events.  Unit tests add some while they run.
hook::LaunchTicket OneShot::begin_launch(const hook::Launch& launch) {
  std::unique_lock lock(session_.mutex, std::defer_lock);
  if (session_.settings.mode == schedule::Mode::kUnitTest) lock.lock();
  LaunchSite* site = nullptr;
  record::EventRecord* event = next_event(launch.function, launch.stream, site);
  hook::LaunchTicket counted{.counted = site == nullptr ? nullptr : &site->slot->count};
  if (event == nullptr) return counted;
  libraries::OpFrame* op = event->spans_op ? libraries::outermost_op() : nullptr;
  if (event->spans_op && op == nullptr) return counted;
  auto* pair = begin_pair(*site, launch.stream, *event);
  if (pair == nullptr) return counted;
  if (op != nullptr) {
    libraries::part_on(*op, launch.stream).pair = pair;
    return {};
  }
  counted.kind = hook::LaunchTicket::Kind::kMeasured;
  counted.pair = pair;
  return counted;
}

void OneShot::record_label(const labels::LabelEnd& end, CUstream stream, const char* extra_info) {
  const std::lock_guard lock(session_.mutex);
  if (end.is_start) {
    LaunchSite* site = nullptr;
    record::EventRecord* event = next_event(end.label, stream, site);
    if (event == nullptr || site->open_pair != nullptr) return;
    site->open_pair = begin_pair(*site, stream, *event);
    if (site->open_pair != nullptr && extra_info != nullptr) {
      extra_of(*site->open_pair).start = extra_info;
    }
    return;
  }
  LaunchSite* site = session_.sites.find(end.label, stream);
  auto* pair = site == nullptr ? nullptr : std::exchange(site->open_pair, nullptr);
  if (pair == nullptr) return;
  if (extra_info != nullptr) extra_of(*pair).stop = extra_info;
  session_.arming.close_pair(stream, *pair);
}

}  // namespace inline_prof::session
