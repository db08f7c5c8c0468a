#include "session/run_controller.hpp"

#include "entry/hooked_functions.hpp"
#include "launch/launch.hpp"
#include "session/arming.hpp"
#include "session/completeness.hpp"
#include "session/discovery.hpp"
#include "session/iteration_boundary.hpp"
#include "session/one_shot.hpp"
#include "session/operator_calls.hpp"
#include "session/phases.hpp"
#include "session/planning.hpp"
#include "session/progress.hpp"
#include "session/termination.hpp"
#include "session/trigger.hpp"
#include "session/without_iterations.hpp"
#include "sys/lifecycle.hpp"

#include <algorithm>

namespace inline_prof::hook::run_controller {
namespace {

// If the GPU is behind by more than this many iterations after the last sample, it is not waited
// for.
constexpr int kLongestDraining = 1024;

// In a longer warm-up than usual iterations are searched for no further than this: the search looks
// at every launch.
constexpr std::int64_t kSearchedInWarmup = 256;

// Its streams may be between two lives.
bool has_streams(const State& state, const timer::ContextTimer& timer) {
  return std::any_of(state.streams.begin(), state.streams.end(),
                     [&](const StreamInfo& stream) { return stream.timer == &timer; });
}

// Iteration times are those of the device with the lowest number.
timer::ContextTimer* first_timer(State& state) {
  timer::ContextTimer* first = nullptr;
  for (timer::ContextTimer& timer : state.timers) {
    if (timer.is_alive() && has_streams(state, timer) &&
        (first == nullptr || timer.device_id() < first->device_id())) {
      first = &timer;
    }
  }
  return first;
}

void say_what_was_never_met(State& state) {
  if (state.never_met.empty()) return;
  std::string text = "never met: ";
  for (std::size_t i = 0; i < state.never_met.size(); ++i) {
    text.append(i == 0 ? "" : ", ").append(state.never_met[i]);
  }
  const std::string labels = met_label_names();
  text.append(labels.empty() ? "; no label was met" : "; labels met: " + labels);
  warn(state, std::move(text));
  state.never_met.clear();
}

// All samples are read: the events are destroyed, the hooks only forward, the file is written.
void finish(State& state) {
  for (timer::ContextTimer& timer : state.timers) {
    state.run.dropped.not_ready_at_exit.fetch_add(timer.pending());
    timer.destroy_events();
  }
  clone_measurement::finish(state);
  state.is_complete = settle_completeness(state, End::kMeasured);
  close_record(state);
  state.phase.store(Phase::kDone, std::memory_order_release);
  stop_one_shot(state);
  disarm();
  trigger::remove();
  sys::turn_off_silently();
  state.writer->finish(state.is_complete);
}

// What one iteration measures.
struct Choice {
  enum class Kind { kNothing, kTargets, kEverything, kOver } kind = Kind::kNothing;
  std::vector<std::size_t> targets{};
};

Choice choose_in_one_shot(const State& state, std::int64_t iteration) {
  const std::int64_t position = iteration - state.settings.warmup - 1;
  if (position >= state.config.one_shot_iterations) return {.kind = Choice::Kind::kOver};
  if (position % state.config.one_shot_every != 0) return {};
  return {.kind = Choice::Kind::kEverything};
}

Choice choose_by_need(State& state, std::int64_t iteration) {
  auto targets = state.adaptive->next(state, iteration);
  if (state.adaptive->is_done()) return {.kind = Choice::Kind::kOver};
  if (targets.empty()) return {};
  return {.kind = Choice::Kind::kTargets, .targets = std::move(targets)};
}

Choice choose_from_plan(const State& state, std::int64_t iteration) {
  const std::int64_t position = position_of(state, iteration);
  if (const auto target = state.plan.event_at(position)) {
    return {.kind = Choice::Kind::kTargets, .targets = {*target}};
  }
  const bool data_are_wanted = iteration <= state.settings.warmup + state.config.data_iterations;
  return {.kind = position > state.plan.last_iteration() && !data_are_wanted
                      ? Choice::Kind::kOver
                      : Choice::Kind::kNothing};
}

// --- the overhead measurement

// Blocks can be told apart while the application is ahead of the GPU by at most this many
// iterations.
constexpr std::int64_t kLongestLead = 32;
constexpr std::int64_t kTimesInABlock = 4;  // behind the lead: enough for a median
constexpr std::int64_t kBlocksInAQuad = 4;  // armed, not, not, armed: a steady drift cancels

constexpr std::int64_t kMostQuads = 12;  // more than enough for a bootstrap over them

// False if overhead is not to be measured, or there is nothing to arm.
bool begin_overhead_measurement(State& state, std::int64_t iteration) {
  const timer::ContextTimer* timer = first_timer(state);
  if (timer == nullptr || state.armed_lately.empty() || state.overhead.first != 0) return false;
  OverheadBlocks& overhead = state.overhead;
  overhead.first = iteration;
  overhead.lead = std::clamp<std::int64_t>(timer->iterations_ahead(), 0, kLongestLead);
  overhead.block = overhead.lead + kTimesInABlock;
  const std::int64_t quad = kBlocksInAQuad * overhead.block;
  std::int64_t most = state.config.overhead_iterations;
  // A user who has asked for the program's end waits for the samples only.
  if (state.exit_when_done.load()) most = std::min(most, iteration - state.settings.warmup - 1);
  overhead.end = iteration + std::min(most / quad, kMostQuads) * quad;
  return overhead.end > iteration;
}

bool is_armed_for_overhead(const OverheadBlocks& overhead, std::int64_t iteration) {
  const std::int64_t block = (iteration - overhead.first) / overhead.block % kBlocksInAQuad;
  return block == 0 || block == kBlocksInAQuad - 1;
}

Choice choose_for_overhead(const State& state, std::int64_t iteration) {
  if (iteration >= state.overhead.end) return {.kind = Choice::Kind::kOver};
  if (!is_armed_for_overhead(state.overhead, iteration)) return {};
  if (state.settings.mode == schedule::Mode::kOneShot) return {.kind = Choice::Kind::kEverything};
  const auto& lately = state.armed_lately;
  return {.kind = Choice::Kind::kTargets,
          .targets = lately[static_cast<std::size_t>(iteration) % lately.size()]};
}

// The iteration times of the complete blocks, without the first ones of each block, in which the
// GPU may still have worked on the previous block.
void gather_overhead(State& state) {
  const OverheadBlocks& overhead = state.overhead;
  if (overhead.block == 0) return;
  std::vector<record::BlockTimes> blocks;
  for (std::int64_t first = overhead.first; first + overhead.block <= overhead.end;
       first += overhead.block) {
    blocks.push_back({.armed = is_armed_for_overhead(overhead, first), .times_ms = {}});
  }
  const record::IterationTimes& times = state.run.iteration_times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::int64_t position = times.iteration(i) - overhead.first;
    if (position < 0 || times.iteration(i) >= overhead.end) continue;
    if (position % overhead.block < overhead.lead) continue;
    blocks[static_cast<std::size_t>(position / overhead.block)].times_ms.push_back(times[i]);
  }
  // The program may have ended before the last ones.
  while (!blocks.empty() && blocks.back().times_ms.size() < kTimesInABlock)
    blocks.pop_back();
  state.run.overhead_blocks = std::move(blocks);
}

// --- the choice becomes armed events

// Comes last; in an iteration during which a clone is built nothing is measured.
Choice choose_inside_graphs(State& state) {
  const auto target = clone_measurement::next(state);
  if (clone_measurement::is_over(state)) return {.kind = Choice::Kind::kOver};
  if (!target) return {};
  return {.kind = Choice::Kind::kTargets, .targets = {*target}};
}

Choice choose(State& state, std::int64_t iteration) {
  if (state.phase.load() == Phase::kOverheadMeasurement)
    return choose_for_overhead(state, iteration);
  if (state.settings.mode == schedule::Mode::kOneShot) return choose_in_one_shot(state, iteration);
  Choice choice =
      state.adaptive ? choose_by_need(state, iteration) : choose_from_plan(state, iteration);
  if (choice.kind == Choice::Kind::kOver) choice = choose_inside_graphs(state);
  if (choice.kind == Choice::Kind::kOver && waits_for_other_phases(state)) return {};
  return choice;
}

constexpr std::size_t kRemembered = 16;

void carry_out(State& state, const Choice& choice, std::int64_t iteration) {
  stop_one_shot(state);
  switch (choice.kind) {
    case Choice::Kind::kTargets:
      arm(state, choice.targets, iteration);
      if (state.armed_lately.size() == kRemembered)
        state.armed_lately.erase(state.armed_lately.begin());
      if (state.overhead.first == 0) state.armed_lately.push_back(choice.targets);
      break;
    case Choice::Kind::kEverything:
      disarm();
      begin_one_shot(state);
      state.armed_lately.resize(1);
      break;
    case Choice::Kind::kNothing:
    case Choice::Kind::kOver:
      disarm();
      state.run.unarmed_iterations.fetch_add(1, std::memory_order_relaxed);
      return;
  }
  state.run.armed_iterations.fetch_add(1, std::memory_order_relaxed);
}

void start_measured_iteration(State& state, std::int64_t iteration) {
  const bool was_void = is_iteration_void();
  count_hints_from_now_on(state);
  if (state.boundary_is_guessed) {
    state.run.dropped.irregular_iteration.fetch_add(drop_samples_of_irregular_iteration());
  }
  look_for_silent_streams(state, iteration);
  search_on(state);
  poll_all(state);
  if (has_left_phase(state, iteration, was_void)) return;
  record_origins(state, iteration);
  report_progress(state, iteration);
  Choice choice = choose(state, iteration);
  if (choice.kind == Choice::Kind::kOver && begin_overhead_measurement(state, iteration)) {
    state.throw_samples_away.store(true, std::memory_order_relaxed);
    stop_looking_at_meeting_threads();
    state.phase.store(Phase::kOverheadMeasurement, std::memory_order_release);
    choice = choose(state, iteration);
  }
  if (choice.kind != Choice::Kind::kOver) return carry_out(state, choice, iteration);
  stop_one_shot(state);
  stop_looking_at_meeting_threads();
  disarm();
  state.phase.store(Phase::kDraining, std::memory_order_release);
}

// The first iterations allocate, choose algorithms and compile: what only they launch is no event.
// So the second half of the warm-up discovers anew.
//
// Behind the first phase nearly each iteration of the first half does, since any may be the first
// whole one of a phase that is known.
bool is_fresh_start(const State& state, std::int64_t position) {
  const std::int64_t half = state.settings.warmup / 2;
  if (!state.courses.empty() && position > 1 && position <= half) return true;
  return state.settings.warmup >= 2 && position == half + 1;
}

}  // namespace

void record_origins(State& state, std::int64_t iteration) {
  for (timer::ContextTimer& timer : state.timers) {
    if (StreamInfo* stream = busiest_stream(state, timer)) {
      timer.record_origin(stream->handle, iteration);
    }
  }
}

bool poll_all(State& state) {
  const timer::ContextTimer* first = first_timer(state);
  bool all_read = true;
  for (timer::ContextTimer& timer : state.timers) {
    timer.poll(&timer == first ? &state.run.iteration_times : nullptr);
    all_read =
        all_read && (!timer.is_alive() || (timer.pending() == 0 && !timer.origins_pending()));
  }
  return all_read;
}

std::uint64_t samples_taken(const State& state) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < state.run.events.size(); ++i)
    count += state.run.events[i].sample_count();
  return count;
}

bool everything_was_recorded(const State& state) {
  const Phase phase = state.phase.load();
  if (phase == Phase::kDraining || phase == Phase::kOverheadMeasurement) return true;
  if (state.settings.mode == schedule::Mode::kOneShot) {
    return state.iteration.load() >= state.settings.warmup + state.config.one_shot_iterations;
  }
  if (!clone_measurement::is_over(state)) return false;
  if (state.adaptive) return state.adaptive->is_done();
  return position_of(state, state.iteration.load()) >= state.plan.last_iteration();
}

void close_record(State& state) {
  say_what_was_never_met(state);
  if (state.unmatched_labels > 1) {
    warn(state, std::to_string(state.unmatched_labels) +
                    " labels were stopped without having been started");
  }
  const std::lock_guard lock(state.run.mutex);
  gather_overhead(state);
  if (*sys::off_reason() != '\0') {
    state.run.warnings.push_back(std::string("profiling went off: ") + sys::off_reason());
  }
  if (state.some_were_forgotten) {
    state.run.not_seen.push_back(
        "launches before the first iteration of more kernels than there was room for: counted, not "
        "listed");
  }
  if (state.table_full.load()) {
    state.run.not_seen.push_back("more kernels, streams or events than there was room for");
  }
  if (const auto graphs = graph_launch_count(); graphs > 0) {
    state.run.not_seen.push_back(std::to_string(graphs) +
                                 " graph launches: counted, the kernels inside are not timed");
  }
  if (const auto unwrapped = unwrapped_count(); unwrapped > 0) {
    state.run.not_seen.push_back(std::to_string(unwrapped) +
                                 " driver functions with a third address were not wrapped");
  }
}

bool start_iteration(State& state) {
  const std::int64_t iteration = state.iteration.fetch_add(1) + 1;
  state.run.last_iteration.store(iteration - 1, std::memory_order_relaxed);
  switch (state.phase.load(std::memory_order_relaxed)) {
    case Phase::kBeforeIterations:
    case Phase::kWithoutIterations:
      fold_counts(state);
      state.phase_start = iteration - 1;
      leave_without_iterations(state);
      return false;
    case Phase::kDiscovering: {
      fold_counts(state);
      if (is_known_iteration(state)) {
        state.phase.store(Phase::kMeasuring, std::memory_order_release);
        start_measured_iteration(state, iteration);
        return false;
      }
      const std::int64_t position = position_of(state, iteration);
      if (position <= state.settings.warmup) {
        if (position == kSearchedInWarmup && !confirm_period(state)) return false;
        if (is_fresh_start(state, position)) forget_discovery(state);
        operator_calls::iteration_starts(state, position);
        return false;
      }
      operator_calls::warmup_ends(state);
      if (!confirm_period(state)) return false;
      make_plan(state);
      state.phase.store(Phase::kMeasuring, std::memory_order_release);
      if (!sys::is_on()) return false;  // nothing can be measured, and not all is planned
      begin_search_if_lost(state);
      start_measured_iteration(state, iteration);
      return false;
    }
    case Phase::kMeasuring:
    case Phase::kOverheadMeasurement:
      start_measured_iteration(state, iteration);
      return false;
    case Phase::kDraining:
      // Another thread may have made the context, and still calibrate it.
      if ((!poll_all(state) || state.calibrating.load() > 0) &&
          ++state.draining_iterations < kLongestDraining) {
        return false;
      }
      finish(state);
      return true;
    case Phase::kUnitTests:
      return false;  // each test is an iteration of its own
    case Phase::kDone:
      return true;
  }
  return true;
}

}  // namespace inline_prof::hook::run_controller
