#include "session/modes.hpp"

#include "launch/copies.hpp"
#include "libraries/op_frame.hpp"
#include "session/session.hpp"
#include "sys/log.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace inline_prof::session {
namespace {

// Pairs of one context: two runs of the largest test.
constexpr std::size_t kEventPairs = 4096;

// Tags differ above the 48 bits of an address.
constexpr int kTagShift = 48;

constexpr std::uint32_t kFarthest = 2048;  // largest distance between two samples, in launches
constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

bool wants_samples(const LaunchSite& site) {
  return site.sampled != nullptr &&
         (site.sampled->capacity() == 0 || site.sampled->sample_count() < site.sampled->capacity());
}

// The first samples come quickly, 1, 2, 4 ... launches apart; later ones 2048 launches apart.  A
// pair costs the application about 4 us and the launches between them at least 5 ms, which is below
// 0.1 %.
std::uint32_t launches_to_next_sample(const LaunchSite& site) {
  if (!wants_samples(site)) return kNoLimit;
  const std::uint32_t taken = site.sampled->sample_count();
  return taken >= 11 ? kFarthest : 1U << taken;
}

}  // namespace

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
    if (site->open_pair != nullptr && extra_info != nullptr)
      extra_of(*site->open_pair).start = extra_info;
    return;
  }
  LaunchSite* site = session_.sites.find(end.label, stream);
  auto* pair = site == nullptr ? nullptr : std::exchange(site->open_pair, nullptr);
  if (pair == nullptr) return;
  if (extra_info != nullptr) extra_of(*pair).stop = extra_info;
  session_.arming.close_pair(stream, *pair);
}

bool UnitTests::is_measured(const UnitTest& test) const {
  return test.runs > session_.settings.warmup &&
         test.runs <= session_.settings.warmup + session_.settings.repeat;
}

void UnitTests::prepare_to_measure() {
  session_.planning.settle_discovery();
  for (record::EventRecord& event : session_.run.events)
    event.reserve(static_cast<std::uint32_t>(session_.settings.repeat));
  for (timer::ContextTimer& timer : session_.contexts.timers())
    static_cast<void>(timer.create_events(kEventPairs));
  session_.count_host_bytes();
}

void UnitTests::end_run() {
  session_.one_shot.stop();
  labels::open_all_gates(true);  // other tests may be in their warm-up
  running_.store(nullptr, std::memory_order_relaxed);
}

hook::LaunchTicket UnitTests::begin_launch(const hook::Launch& launch) {
  {
    const std::lock_guard lock(session_.mutex);
    if (running() == nullptr) return {};
    if (!launch::filter.has(launch::LaunchFilter::kMeasuringAll)) {
      return {.kind = running()->runs <= session_.settings.warmup
                          ? hook::LaunchTicket::Kind::kMeet
                          : hook::LaunchTicket::Kind::kNothing};
    }
  }
  return session_.one_shot.begin_launch(launch);
}

void UnitTests::start(const char* name) {
  if (name == nullptr || session_.state() != RunState::kUnitTests) return;
  const std::lock_guard lock(session_.mutex);
  if (running() != nullptr) {
    session_.warn("PROFILE_UNIT_TEST_START(\"" + std::string(name) + "\") inside test " +
                  running()->name + ": one test runs at a time");
    end_run();
  }
  UnitTest& test = tests_[name];
  if (test.tag == 0) {
    test.name = name;
    test.tag = std::uintptr_t{tests_.size()} << kTagShift;
  }
  ++test.runs;
  running_.store(&test, std::memory_order_relaxed);
  const std::int64_t number = session_.begin_iteration();
  session_.sites.fold_counts();
  session_.contexts.poll_all();
  if (!is_measured(test)) return;
  if (test.runs == session_.settings.warmup + 1) prepare_to_measure();
  session_.contexts.record_origins(number);
  session_.run.armed_iterations.fetch_add(1, std::memory_order_relaxed);
  session_.one_shot.begin();
}

void UnitTests::stop() {
  if (session_.state() != RunState::kUnitTests) return;
  const std::lock_guard lock(session_.mutex);
  if (running() != nullptr) end_run();
}

// The slot's limit is its trigger: the next launch at or above it leaves the quiet path and is
// measured (before_launch), which sets the limit out of reach again.
void WithoutIterations::choose_next_sample() {
  const auto& sites = session_.sites.all();
  for (std::size_t tried = 0; tried < sites.size(); ++tried) {
    LaunchSite& site = *sites[next_sampled_++ % sites.size()];
    if (!wants_samples(site)) continue;
    site.slot->limit.store(0, std::memory_order_relaxed);
    return;
  }
}

// Under the lock of the run's record: the event is seen by the writer at once.
void WithoutIterations::sample_from_now_on(LaunchSite& site) {
  site.slot->limit.store(kNoLimit, std::memory_order_relaxed);
  site.sampled = session_.discovery.add_event(site, 0, {});
  if (site.sampled == nullptr) return;
  site.sampled->add_flag(record::Flag::kAnyOccurrence);
  if (is_copy(site)) {
    site.sampled->is_copy = true;
    site.sampled->op = std::make_unique<record::Op>(
        launch::op_of({.kind = launch::kind_of(site.function)}, "the driver"));
  } else {
    site.sampled->shape = site.first_shape;
  }
  if (site.may_overlap) site.sampled->add_flag(record::Flag::kPdlRemoved);
  session_.discovery.set_indices(*site.sampled);
  site.slot->limit.store(0, std::memory_order_relaxed);  // its next launch is the first sample
}

void WithoutIterations::list_unsampled() {
  const std::lock_guard lock(session_.run.mutex);
  for (const auto& site : session_.sites.all()) {
    if (site->kernel == nullptr) continue;
    sample_from_now_on(*site);
  }
}

std::uint64_t WithoutIterations::count_calls() {
  std::uint64_t all = 0;
  for (const auto& site : session_.sites.all()) {
    if (site->sampled == nullptr) continue;
    const std::uint64_t calls = site->slot->count.load();
    site->sampled->calls.store(calls);
    all += calls;
  }
  return all;
}

void WithoutIterations::note_time_so_far(float time_ms) {
  const std::size_t read =
      std::min<std::size_t>(session_.samples_taken(), launches_before_samples_.size());
  if (read == 0) return;
  session_.run.iteration_times.set_only(time_ms);
  launches_timed_ = launches_before_samples_[read - 1];
}

void WithoutIterations::extend_time_to_the_end() {
  const std::uint64_t all = count_calls();
  const record::IterationTimes& times = session_.run.iteration_times;
  if (times.size() == 0 || launches_timed_ <= launches_before_clock_) return;
  const auto timed = static_cast<double>(launches_timed_ - launches_before_clock_);
  session_.run.iteration_times.set_only(
      static_cast<float>(times[0] * static_cast<double>(all) / timed));
}

void WithoutIterations::begin() {
  session_.enter(RunState::kWithoutIterations);
  {
    const std::lock_guard lock(session_.run.mutex);
    for (const auto& site : session_.sites.all()) {
      if (site->kernel == nullptr) continue;
      site->events.clear();
      sample_from_now_on(*site);
    }
    session_.run.iteration_times.restart(1);
  }
  launches_before_clock_ = count_calls();
  launches_before_samples_.clear();
  launches_timed_ = 0;
  session_.count_host_bytes();
  for (timer::ContextTimer& timer : session_.contexts.timers()) {
    StreamInfo* stream = session_.contexts.busiest_stream(timer);
    if (stream != nullptr && timer.create_events()) timer.record_origin(stream->handle, 0);
  }
  session_.start_writer();
  session_.writer->nudge();
}

hook::LaunchTicket WithoutIterations::begin_launch(const hook::Launch& launch) {
  using Kind = hook::LaunchTicket::Kind;
  const std::lock_guard lock(session_.mutex);
  LaunchSite* site = session_.sites.find(launch.function, launch.stream);
  if (site == nullptr) return {.kind = Kind::kMeet};
  // Not the warm-up: the site stays.
  if (launch.copy == nullptr && launch::filter.has(launch::LaunchFilter::kSearching))
    static_cast<void>(session_.source.add_launch(*site));
  timer::LaunchSlot& slot = *site->slot;
  const std::uint32_t count = slot.count.fetch_add(1, std::memory_order_relaxed);
  hook::LaunchTicket ticket{.counted = &slot.count};
  if (count < slot.limit.load(std::memory_order_relaxed)) return ticket;  // not its turn
  const std::uint32_t pause = launches_to_next_sample(*site);
  slot.limit.store(count < ~pause ? count + pause : kNoLimit, std::memory_order_relaxed);
  if (site->sampled == nullptr) return ticket;
  timer::ContextTimer* timer = site->stream->timer;
  timer->poll(nullptr, session_.watching.inbox());
  if (timer->last_sample_end_ms() > 0) note_time_so_far(timer->last_sample_end_ms());
  if (pause == kNoLimit) return ticket;
  site->sampled->reserve(static_cast<std::uint32_t>(session_.settings.repeat));
  auto* pair = session_.arming.open_pair(*timer, launch.stream, *site->sampled, 0,
                                         OtherThreads::kSpoilThePair);
  if (pair == nullptr) return ticket;
  launches_before_samples_.push_back(count_calls());
  ticket.kind = Kind::kMeasured;
  ticket.pair = pair;
  return ticket;
}

void WithoutIterations::leave() {
  if (session_.state() == RunState::kWithoutIterations)
    sys::say(sys::LogLevel::kInfo, "iterations begin: what was sampled before them is left out");
  session_.discovery.begin_anew();
}

}  // namespace inline_prof::session
