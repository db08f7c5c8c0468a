#include "hook/session.hpp"

#include "hook/hooked_functions.hpp"
#include "hook/state.hpp"
#include "schedule/error.hpp"
#include "schedule/read_request.hpp"
#include "sys/config_error.hpp"
#include "sys/cuda_api.hpp"
#include "sys/lifecycle.hpp"
#include "sys/process.hpp"
#include "timer/calibration.hpp"
#include "timer/device_facts.hpp"

#include <cstdlib>
#include <unistd.h>

namespace inline_prof::hook {
namespace {

constinit std::atomic<State*> the_state{nullptr};

}  // namespace

State* state() noexcept {
  return the_state.load(std::memory_order_acquire);
}

namespace session {
namespace {

// What the host said before the first GPU call.
constinit std::atomic<std::int64_t> early_iterations{0};
constinit std::atomic<bool> early_exit_when_done{false};

// A GPU that is behind by more than this many iterations after the last sample is not waited for.
constexpr int kLongestDraining = 1024;

constexpr int kExitWaitMs = 2000;
constexpr int kExitPollMs = 200;
constexpr int kLongestWriteMs = 60'000;  // where the user has asked for the end after the write

schedule::Choices choices_of(const sys::Config& config) {
  schedule::Choices choices;
  choices.warmup = config.warmup;
  choices.repeat = config.repeat;
  if (config.policy) choices.policy = schedule::policy_from_name(*config.policy);
  if (config.seed_is_set) choices.seed = config.seed;
  if (config.data_only) choices.mode = schedule::Mode::kData;
  return choices;
}

// Throws ScheduleError for what this guest cannot do: measuring something other than asked is worse
// than not measuring.
void check_settings(const schedule::Settings& settings) {
  if (settings.mode != schedule::Mode::kFineGrained && settings.mode != schedule::Mode::kData) {
    throw schedule::ScheduleError("mode " + std::string(schedule::mode_name(settings.mode)) +
                                  " is not available in this version; use fine_grained or data");
  }
  if (settings.warmup < 1) {
    throw schedule::ScheduleError(
        "a warm-up of 0 iterations: expected at least 1, in which the events are met");
  }
}

void describe_run(State& state, const std::string& schedule_path) {
  record::RunRecord& run = state.run;
  run.host_name = sys::host_name();
  run.command = sys::command_name();
  run.started_at = sys::utc_time_now();
  run.rank = state.config.rank;
  run.world_size = state.config.world_size;
  run.local_rank = state.config.local_rank;
  run.mode = schedule::mode_name(state.settings.mode);
  run.policy = schedule::policy_name(state.settings.policy);
  run.schedule = schedule_path;
  run.warmup = state.settings.warmup;
  run.repeat = state.settings.repeat;
  run.warnings = state.config.warnings;
}

record::WriteFacts write_facts(State& state) {
  record::WriteFacts facts;
  facts.process_id = state.process_id;
  facts.libraries = timer::loaded_library_versions();
  facts.cuda_errors = sys::vendor_error_count();
  facts.iteration_confidence = state.run.iteration_source == "none" ? 0 : 1;
  return facts;
}

// The writer thread's 10 ms, in a run without iterations.
bool tick(State& state) {
  const std::lock_guard lock(state.mutex);
  if (state.phase.load(std::memory_order_relaxed) != Phase::kWithoutIterations) return false;
  choose_next_sample(state);
  return true;
}

void make_writer(State& state, std::string path) {
  state.writer = std::make_unique<record::WriterThread>(
      state.run, record::WriterThread::Options{
                     .path = std::move(path),
                     .checkpoint_seconds = static_cast<int>(state.config.checkpoint_seconds),
                     .tick = [&state] { return tick(state); },
                     .facts = [&state] { return write_facts(state); },
                     // In the warm-up events are still being described.
                     .ready = [&state] { return state.phase.load() != Phase::kDiscovering; }});
}

// --- while measuring

void record_origins(State& state, std::int64_t iteration) {
  for (timer::ContextTimer& timer : state.timers) {
    if (StreamInfo* stream = busiest_stream(state, timer)) {
      timer.record_origin(stream->handle, iteration);
    }
  }
}

// Iteration times are those of the device with the lowest number.
timer::ContextTimer* first_timer(State& state) {
  timer::ContextTimer* first = nullptr;
  for (timer::ContextTimer& timer : state.timers) {
    if (timer.is_alive() && busiest_stream(state, timer) != nullptr &&
        (first == nullptr || timer.device_id() < first->device_id())) {
      first = &timer;
    }
  }
  return first;
}

// True where everything that was recorded has been read.
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

std::uint64_t samples_taken(State& state) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    count += state.run.events[i].sample_count();
  }
  return count;
}

// The notes that only make sense once the run is over.
void close_record(State& state) {
  say_what_was_never_met(state);
  const std::lock_guard lock(state.run.mutex);
  if (*sys::off_reason() != '\0') {
    state.run.warnings.push_back(std::string("profiling went off: ") + sys::off_reason());
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

// Everything is read: the events go, the hooks become plain jumps, the file is written.
void finish(State& state) {
  for (timer::ContextTimer& timer : state.timers) {
    state.run.dropped.not_ready_at_exit.fetch_add(timer.pending());
    timer.destroy_events();
  }
  close_record(state);
  state.phase.store(Phase::kDone, std::memory_order_release);
  disarm();
  sys::turn_off_silently();
  state.writer->finish(true);
}

void start_measured_iteration(State& state, std::int64_t iteration) {
  poll_all(state);
  record_origins(state, iteration);
  if (iteration > state.plan.last_iteration() &&
      iteration > state.settings.warmup + state.config.data_iterations) {
    disarm();
    state.phase.store(Phase::kDraining, std::memory_order_release);
    return;
  }
  if (const auto target = state.plan.event_at(iteration)) {
    arm(state, *target, iteration);
    state.run.armed_iterations.fetch_add(1, std::memory_order_relaxed);
  } else {
    disarm();
    state.run.unarmed_iterations.fetch_add(1, std::memory_order_relaxed);
  }
}

// True once the run is over.
bool start_iteration(State& state) {
  const std::int64_t iteration = state.iteration.fetch_add(1) + 1;
  switch (state.phase.load(std::memory_order_relaxed)) {
    case Phase::kBeforeIterations:
    case Phase::kWithoutIterations:
      fold_counts(state);
      leave_without_iterations(state);
      [[fallthrough]];
    case Phase::kDiscovering:
      fold_counts(state);
      if (iteration <= state.settings.warmup) return false;
      make_plan(state);
      state.phase.store(Phase::kMeasuring, std::memory_order_release);
      start_measured_iteration(state, iteration);
      return false;
    case Phase::kMeasuring:
      start_measured_iteration(state, iteration);
      return false;
    case Phase::kDraining:
      if (!poll_all(state) && ++state.draining_iterations < kLongestDraining) return false;
      finish(state);
      return true;
    case Phase::kDone:
      return true;
  }
  return true;
}

}  // namespace

bool begin(sys::Config config) {
  auto* fresh = new State(std::move(config));  // never destroyed: see state.hpp
  fresh->process_id = getpid();
  fresh->met_by_slot.resize(timer::LaunchTable::kSize);
  try {
    const std::string directory = fresh->config.directory_is_set ? fresh->config.directory : "";
    auto found = schedule::find_request(fresh->config.schedule_path, directory);
    fresh->request = std::move(found.request);
    fresh->settings = schedule::settle(choices_of(fresh->config), fresh->request);
    check_settings(fresh->settings);
    describe_run(*fresh, found.path);
    for (const std::string& warning : fresh->settings.warnings)
      warn(*fresh, warning);
    if (const auto* spec = std::get_if<schedule::Spec>(&fresh->request)) {
      for (const std::string& warning : spec->warnings)
        warn(*fresh, warning);
    }
  } catch (const schedule::ScheduleError& error) {
    sys::turn_off("schedule", error.what());
    return false;
  }
  std::string path;
  try {
    path = record::output_path({.output_template = fresh->config.output_template,
                                .directory = fresh->config.directory,
                                .directory_is_set = fresh->config.directory_is_set,
                                .rank = fresh->config.rank},
                               fresh->run.host_name, fresh->process_id);
  } catch (const sys::ConfigError& error) {
    sys::turn_off("configuration", error.what());
    return false;
  }
  if (const std::string error = record::prepare_directory(path); !error.empty()) {
    sys::turn_off("output", error.c_str());
    return false;
  }
  make_writer(*fresh, std::move(path));
  fresh->exit_when_done.store(fresh->config.exit_when_done || early_exit_when_done.load());
  if (const auto early = early_iterations.load(); early > 0) {
    fresh->iteration.store(early);
    fresh->run.iteration_source = "macro";
    fresh->phase.store(Phase::kDiscovering);
  }
  the_state.store(fresh, std::memory_order_release);
  return true;
}

void context_created(CUcontext context) {
  State* run = state();
  if (run == nullptr) return;
  timer::ContextTimer* timer = nullptr;
  {
    const std::lock_guard lock(run->mutex);
    for (const timer::ContextTimer& known : run->timers) {
      if (known.context() == context && known.is_alive()) return;
    }
    timer = timer_of(*run, context);
  }
  if (timer == nullptr) return;
  timer::CalibrationResult result = timer::calibrate(context, timer->device_id());
  const std::lock_guard lock(run->run.mutex);
  if (!result.note.empty()) run->run.warnings.push_back(std::move(result.note));
  // One set per device: the first context's.
  for (const record::Calibration& known : run->run.calibrations) {
    if (known.device_id == timer->device_id()) return;
  }
  for (record::Calibration& each : result.states) {
    run->run.calibrations.push_back(std::move(each));
  }
}

void context_gone(CUcontext context) {
  State* run = state();
  if (run == nullptr) return;
  const std::lock_guard lock(run->mutex);
  for (timer::ContextTimer& timer : run->timers) {
    if (timer.context() == context) timer.forget();
  }
}

void primary_context_reset(CUdevice device) {
  State* run = state();
  if (run == nullptr) return;
  const std::lock_guard lock(run->mutex);
  for (timer::ContextTimer& timer : run->timers) {
    if (timer.device_id() == device) timer.forget();
  }
}

void primary_context_released(CUdevice device) {
  const auto get_state = sys::cuda().cuDevicePrimaryCtxGetState;
  unsigned flags = 0;
  int active = 0;
  if (get_state != nullptr && get_state(device, &flags, &active) == CUDA_SUCCESS && active != 0) {
    return;
  }
  primary_context_reset(device);
}

void stream_gone(CUstream stream) {
  State* run = state();
  if (run == nullptr) return;
  const std::lock_guard lock(run->mutex);
  for (StreamInfo& known : run->streams) {
    if (known.handle == stream) known.is_alive = false;
  }
}

void iteration_starts() {
  State* run = state();
  if (run == nullptr) {
    early_iterations.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (!sys::is_on()) return;
  bool is_over = false;
  {
    const std::lock_guard lock(run->mutex);
    is_over = start_iteration(*run);
  }
  if (is_over && run->exit_when_done.load()) {
    static_cast<void>(run->writer->wait(kLongestWriteMs));
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): the user asked for it
  }
}

void exit_when_done() {
  early_exit_when_done.store(true);
  if (State* run = state()) run->exit_when_done.store(true);
}

void finish_at_exit() {
  State* run = state();
  if (run == nullptr || run->process_id != getpid()) return;
  if (run->phase.load(std::memory_order_acquire) == Phase::kDone) {
    static_cast<void>(run->writer->wait(kExitWaitMs));
    return;
  }
  bool complete = false;
  {
    const std::lock_guard lock(run->mutex);
    const Phase phase = run->phase.load(std::memory_order_relaxed);
    if (run->met.empty()) return;  // a context and no launch: nothing to say
    for (int waited = 0; waited < kExitPollMs && !poll_all(*run); ++waited)
      usleep(1000);
    for (const timer::ContextTimer& timer : run->timers) {
      run->run.dropped.not_ready_at_exit.fetch_add(timer.pending());
    }
    if (phase == Phase::kBeforeIterations || phase == Phase::kWithoutIterations) {
      if (phase == Phase::kBeforeIterations) list_unsampled(*run);
      fold_counts(*run);
      warn(*run,
           "no iteration boundary was met (PROFILE_ITERATION or the C call): the whole run counts "
           "as one iteration, and labels were not measured");
      complete = true;
    } else if (phase == Phase::kDiscovering) {
      fold_counts(*run);
      warn(*run, "the program ended in the warm-up, after iteration " +
                     std::to_string(run->iteration.load()) + " of " +
                     std::to_string(run->settings.warmup) + ": nothing was measured");
    } else {
      std::uint64_t wanted = 0;
      for (std::size_t i = 0; i < run->targets.size(); ++i) {
        wanted +=
            static_cast<std::uint64_t>(run->plan.samples_of(i)) * run->targets[i].events.size();
      }
      complete = phase == Phase::kDraining || run->iteration.load() >= run->plan.last_iteration();
      if (!complete) {
        warn(*run, "the program ended at iteration " + std::to_string(run->iteration.load()) +
                       " of " + std::to_string(run->plan.last_iteration()) + ": " +
                       std::to_string(samples_taken(*run)) + " of " + std::to_string(wanted) +
                       " samples were taken");
      }
    }
    close_record(*run);
    run->phase.store(Phase::kDone, std::memory_order_release);
  }
  sys::turn_off_silently();
  if (!run->writer->is_running()) return run->writer->write_now(complete);
  run->writer->finish(complete);
  static_cast<void>(run->writer->wait(kExitWaitMs));
}

void forget_everything() noexcept {
  the_state.store(nullptr, std::memory_order_release);
}

}  // namespace session
}  // namespace inline_prof::hook
