// A run without iterations: launches of every kernel are sampled in turn, one at a time, and
// counted exactly.  In prof.json the whole run is one iteration.
#include "session/without_iterations.hpp"

#include "launch/copies.hpp"
#include "session/discovery.hpp"
#include "session/planning.hpp"
#include "session/run_controller.hpp"
#include "session/state.hpp"
#include "session/termination.hpp"
#include "sys/log.hpp"

#include <algorithm>
#include <limits>

namespace inline_prof::hook {
namespace {

constexpr std::uint32_t kFarthest = 2048;  // largest distance between two samples, in launches
constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

bool wants_samples(const LaunchSite& site) {
  return site.sampled != nullptr &&
         (site.sampled->capacity() == 0 || site.sampled->sample_count() < site.sampled->capacity());
}

}  // namespace

// The slot's limit is its trigger: the next launch at or above it leaves the quiet path and is
// measured (before_launch), which sets the limit out of reach again.
void choose_next_sample(State& state) {
  for (std::size_t tried = 0; tried < state.sites.size(); ++tried) {
    LaunchSite& site = *state.sites[state.next_sampled++ % state.sites.size()];
    if (!wants_samples(site)) continue;
    site.slot->limit.store(0, std::memory_order_relaxed);
    return;
  }
}

// The first samples come quickly, 1, 2, 4 ... launches apart; later ones 2048 launches apart.  A
// pair costs the application about 4 us and the launches between them at least 5 ms, which is below
// 0.1 %.
std::uint32_t launches_to_next_sample(const LaunchSite& site) {
  if (!wants_samples(site)) return kNoLimit;
  const std::uint32_t taken = site.sampled->sample_count();
  return taken >= 11 ? kFarthest : 1U << taken;
}

// Under the lock of the run's record: the event is seen by the writer at once.
void sample_from_now_on(State& state, LaunchSite& site) {
  site.slot->limit.store(kNoLimit, std::memory_order_relaxed);
  site.sampled = add_event(state, site, 0, {});
  if (site.sampled == nullptr) return;
  site.sampled->add_flag(record::Flag::kAnyOccurrence);
  if (is_copy(site)) {
    // Of any size.
    site.sampled->is_copy = true;
    site.sampled->op =
        std::make_unique<record::Op>(op_of({.kind = kind_of(site.function)}, "the driver"));
  } else {
    site.sampled->shape = site.first_shape;
  }
  if (site.may_overlap) site.sampled->add_flag(record::Flag::kPdlRemoved);
  site.sampled->start_index = state.next_index++;
  site.sampled->end_index = state.next_index++;
  site.slot->limit.store(0, std::memory_order_relaxed);  // its next launch is the first sample
}

void list_unsampled(State& state) {
  const std::lock_guard lock(state.run.mutex);
  for (LaunchSite* site : state.sites) {
    if (site->kernel == nullptr) continue;
    sample_from_now_on(state, *site);
  }
}

std::uint64_t count_calls(State& state) {
  std::uint64_t all = 0;
  for (LaunchSite* site : state.sites) {
    if (site->sampled == nullptr) continue;
    const std::uint64_t calls = site->slot->count.load();
    site->sampled->calls.store(calls);
    all += calls;
  }
  return all;
}

void note_time_so_far(State& state, float time_ms) {
  const std::size_t read = std::min<std::size_t>(run_controller::samples_taken(state),
                                                 state.launches_before_samples.size());
  if (read == 0) return;
  state.run.iteration_times.set_only(time_ms);
  state.launches_timed = state.launches_before_samples[read - 1];
}

void note_sample_begins(State& state) {
  state.launches_before_samples.push_back(count_calls(state));
}

void extend_time_to_the_end(State& state) {
  const std::uint64_t all = count_calls(state);
  const record::IterationTimes& times = state.run.iteration_times;
  if (times.size() == 0 || state.launches_timed <= state.launches_before_clock) return;
  const auto timed = static_cast<double>(state.launches_timed - state.launches_before_clock);
  state.run.iteration_times.set_only(
      static_cast<float>(times[0] * static_cast<double>(all) / timed));
}

void begin_without_iterations(State& state) {
  state.phase.store(Phase::kWithoutIterations, std::memory_order_relaxed);
  {
    const std::lock_guard lock(state.run.mutex);
    for (LaunchSite* site : state.sites) {
      if (site->kernel == nullptr) continue;
      site->events.clear();
      sample_from_now_on(state, *site);
    }
    state.run.iteration_times.restart(1);
  }
  state.launches_before_clock = count_calls(state);
  state.launches_before_samples.clear();
  state.launches_timed = 0;
  count_host_bytes(state);
  for (timer::ContextTimer& timer : state.timers) {
    StreamInfo* stream = busiest_stream(state, timer);
    if (stream != nullptr && timer.create_events()) timer.record_origin(stream->handle, 0);
  }
  state.writer->start();
  watch_termination(*state.writer);
}

void leave_without_iterations(State& state) {
  if (state.phase.load(std::memory_order_relaxed) == Phase::kWithoutIterations) {
    sys::say(sys::LogLevel::kInfo, "iterations begin: what was sampled before them is left out");
  }
  forget_discovery(state);
}

}  // namespace inline_prof::hook
