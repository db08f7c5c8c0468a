#include "session/session.hpp"

#include "cupti/cupti_client.hpp"
#include "launch/launching_threads.hpp"
#include "libraries/static_copies.hpp"
#include "schedule/error.hpp"
#include "schedule/read_request.hpp"
#include "session/armed_event.hpp"
#include "session/completeness.hpp"
#include "session/discovery.hpp"
#include "session/phases.hpp"
#include "session/planning.hpp"
#include "session/rebinding.hpp"
#include "session/run_controller.hpp"
#include "session/state.hpp"
#include "session/termination.hpp"
#include "session/trigger.hpp"
#include "session/without_iterations.hpp"
#include "sys/config_error.hpp"
#include "sys/cuda_api.hpp"
#include "sys/lifecycle.hpp"
#include "sys/process.hpp"
#include "timer/calibration.hpp"
#include "timer/device_facts.hpp"
#include "timer/driver_scope.hpp"

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

// What the application has called before the first GPU call.
constinit std::atomic<std::int64_t> early_iterations{0};
constinit std::atomic<bool> early_exit_when_done{false};

constexpr int kExitWaitMs = 2000;
constexpr int kExitPollMs = 200;
constexpr int kLongestWriteMs = 60'000;  // where the user has asked for the end after the write

schedule::Choices choices_of(const sys::Config& config) {
  schedule::Choices choices;
  choices.warmup = config.warmup;
  choices.repeat = config.repeat;
  if (config.policy) choices.policy = schedule::policy_from_name(*config.policy);
  if (config.seed_is_set) choices.seed = config.seed;
  if (config.mode) choices.mode = schedule::mode_from_name(*config.mode);
  if (config.budget_percent) choices.budget_percent = config.budget_percent;
  if (config.target_ci) choices.target_ci = config.target_ci;
  return choices;
}

// Throws ScheduleError for what this library cannot do: measuring something other than requested is
// worse than not measuring.
void check_settings(const schedule::Settings& settings) {
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
  run.backend = state.config.backend == sys::Backend::kCupti ? "cupti" : "driver";
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
  facts.cross_check = cupti::collect();
  // Once, after the events are known: it reads the files of what is loaded.
  if (state.phase.load() != Phase::kDiscovering && !state.static_copies) {
    state.static_copies = libraries::static_copies(state.run);
  }
  if (state.static_copies) facts.not_seen = *state.static_copies;
  const std::lock_guard lock(state.run.mutex);
  facts.iteration_confidence =
      state.run.iteration_source == "none" ? 0 : state.run.iteration_confidence;
  return facts;
}

// Reads finished samples and reports what is missing, unless the run was over before.  Waits for
// 200 ms at most.
struct Closing {
  bool is_complete;
  bool was_over;
};
Closing close_run(State& state, End end) {
  const std::lock_guard lock(state.mutex);
  const Phase phase = state.phase.load(std::memory_order_relaxed);
  if (phase == Phase::kDone) return {.is_complete = state.is_complete, .was_over = true};
  for (int waited = 0; waited < kExitPollMs && !run_controller::poll_all(state); ++waited)
    usleep(1000);
  for (const timer::ContextTimer& timer : state.timers) {
    state.run.dropped.not_ready_at_exit.fetch_add(timer.pending());
  }
  if (phase == Phase::kBeforeIterations && state.courses.empty()) list_unsampled(state);
  if (phase == Phase::kBeforeIterations) static_cast<void>(count_calls(state));
  if (phase == Phase::kWithoutIterations) extend_time_to_the_end(state);
  if (phase < Phase::kMeasuring) fold_counts(state);
  if (phase == Phase::kDiscovering && state.courses.empty()) {
    // What the warm-up has met is all that there is.
    const std::lock_guard run_lock(state.run.mutex);
    state.run.phase_in_making = -1;
  }
  state.is_complete = settle_completeness(state, end);
  run_controller::close_record(state);
  state.phase.store(Phase::kDone, std::memory_order_release);
  return {.is_complete = state.is_complete, .was_over = false};
}

// On the writer's thread: the process was told to end.
void finish_and_die(int signal) {
  if (State* run = state()) {
    // First without a word to the driver: the interrupted thread may hold a lock of its.
    if (run->phase.load() != Phase::kDone) run->writer->write_checkpoint_now();
    const bool is_complete = close_run(*run, End::kBySignal).is_complete;
    sys::turn_off_silently();
    run->writer->write_now(is_complete);
  }
  die_of(signal);
}

// The writer thread's 10 ms, in a run without iterations.
bool tick(State& state) {
  if (clone_measurement::tick(state)) return true;
  const std::lock_guard lock(state.mutex);
  if (state.phase.load(std::memory_order_relaxed) != Phase::kWithoutIterations) return false;
  choose_next_sample(state);
  return true;
}

void make_writer(State& state, std::string path, std::string metrics_path) {
  state.writer = std::make_unique<record::WriterThread>(
      state.run,
      record::WriterThread::Options{
          .path = std::move(path),
          .metrics_path = std::move(metrics_path),
          .run_name = state.config.run_name.empty() ? state.run.command : state.config.run_name,
          .checkpoint_seconds = static_cast<int>(state.config.checkpoint_seconds),
          .tick = [&state] { return tick(state); },
          .facts = [&state] { return write_facts(state); },
          // In the warm-up events are still being described.
          .ready =
              [&state] {
                const Phase phase = state.phase.load();
                if (!state.run.phases.empty()) return true;
                return phase != Phase::kDiscovering && phase != Phase::kUnitTests;
              },
          .on_signal = [](int signal) { finish_and_die(signal); },
          .on_written = [] { leave_termination(); }});
}

bool counts(const State& state, Mark mark) {
  using Source = sys::IterationSource;
  switch (state.config.iteration_source) {
    case Source::kAuto:
      return mark != Mark::kRange;
    case Source::kMacro:
      return mark == Mark::kCall;
    case Source::kOptimizer:
      return mark != Mark::kLaunch;
    case Source::kNvtx:
      return mark == Mark::kRange;
    case Source::kKernel:
    case Source::kPeriod:
      return mark == Mark::kLaunch;
  }
  return false;
}

std::string source_text(const State& state, Mark mark) {
  using Source = sys::IterationSource;
  switch (state.config.iteration_source) {
    case Source::kOptimizer:
      return "optimizer";
    case Source::kNvtx:
      return "nvtx:" + state.config.iteration_glob;
    case Source::kKernel:
      return "kernel:" + state.config.iteration_glob;
    case Source::kPeriod:
      return "period:" + std::to_string(state.config.iteration_period);
    case Source::kAuto:
    case Source::kMacro:
      break;
  }
  return mark == Mark::kCall ? "macro" : "auto";
}

}  // namespace

bool begin(sys::Config config) {
  prepare_for_launching_threads();
  auto* fresh = new State(std::move(config));  // never destroyed: see state.hpp
  fresh->began_s = monotonic_seconds();
  fresh->process_id = getpid();
  fresh->site_by_slot.resize(timer::LaunchTable::kSize);
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
  std::string metrics_path;
  try {
    path = record::output_path({.output_template = fresh->config.output_template,
                                .directory = fresh->config.directory,
                                .directory_is_set = fresh->config.directory_is_set,
                                .rank = fresh->config.rank},
                               fresh->run.host_name, fresh->process_id);
    if (!fresh->config.metrics_template.empty()) {
      metrics_path = record::metrics_path(
          {.output_template = fresh->config.metrics_template, .rank = fresh->config.rank},
          fresh->run.host_name, fresh->process_id);
    }
  } catch (const sys::ConfigError& error) {
    sys::turn_off("configuration", error.what());
    return false;
  }
  if (metrics_path == path) {
    sys::turn_off("configuration", ("INLINE_PROF_METRICS=" + fresh->config.metrics_template +
                                    ": is the name of the profile; expected a file of its own")
                                       .c_str());
    return false;
  }
  for (const std::string& file : {path, metrics_path}) {
    if (file.empty()) continue;
    if (const std::string error = record::prepare_directory(file); !error.empty()) {
      sys::turn_off("output", error.c_str());
      return false;
    }
  }
  make_writer(*fresh, std::move(path), std::move(metrics_path));
  fresh->exit_when_done.store(fresh->config.exit_when_done || early_exit_when_done.load());
  if (const auto early = early_iterations.load(); early > 0 && counts(*fresh, Mark::kCall)) {
    fresh->iteration.store(early);
    fresh->run.iteration_source = "macro";
    fresh->phase.store(Phase::kDiscovering);
  }
  using Source = sys::IterationSource;
  const Source source = fresh->config.iteration_source;
  looking_for_period.store((source == Source::kAuto || source == Source::kPeriod) &&
                           fresh->settings.mode != schedule::Mode::kUnitTest);
  if (fresh->settings.mode == schedule::Mode::kUnitTest) {
    fresh->run.iteration_source = "unit_test";
    fresh->phase.store(Phase::kUnitTests);
  }
  the_state.store(fresh, std::memory_order_release);
  return true;
}

void wait_for_trigger() {
  if (const State* run = state()) trigger::install(run->config);
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
    if (timer == nullptr) return;
    // One set per device: the first context's.
    if (!run->calibrated_devices.insert(timer->device_id()).second) return;
    run->calibrating.fetch_add(1);
  }
  timer::CalibrationResult result = timer::calibrate(context, timer->device_id());
  const std::lock_guard lock(run->run.mutex);
  run->calibrating.fetch_sub(1);
  if (!result.note.empty()) run->run.warnings.push_back(std::move(result.note));
  for (record::Calibration& each : result.states) {
    run->run.calibrations.push_back(std::move(each));
  }
}

void context_gone(CUcontext context) {
  State* run = state();
  if (run == nullptr) return;
  clone_measurement::context_gone(context);
  const std::lock_guard lock(run->mutex);
  for (timer::ContextTimer& timer : run->timers) {
    if (timer.context() == context) lose_context(*run, timer);
  }
}

void primary_context_reset(CUdevice device) {
  State* run = state();
  if (run == nullptr) return;
  const std::lock_guard lock(run->mutex);
  for (timer::ContextTimer& timer : run->timers) {
    if (timer.device_id() == device) lose_context(*run, timer);
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
  lose_stream(*run, stream);
}

void thread_may_launch() {
  note_first_launch_of_thread();
  State* run = state();
  if (run == nullptr) return;
  const std::lock_guard lock(run->mutex);
  if (run->phase.load(std::memory_order_relaxed) == Phase::kMeasuring) expect_new_thread();
}

void module_gone(const void* module) {
  State* run = state();
  if (run == nullptr) return;
  const std::lock_guard lock(run->mutex);
  lose_module(*run, module);
}

void library_gone(CUlibrary library) {
  State* run = state();
  const auto get_module = sys::cuda().cuLibraryGetModule;
  if (run == nullptr || get_module == nullptr) return;
  const std::lock_guard lock(run->mutex);
  // It has a module in each context in which one of its kernels was launched.
  for (const timer::ContextTimer& timer : run->timers) {
    if (!timer.is_alive()) continue;
    const timer::ContextScope scope(timer.context());
    CUmodule module = nullptr;
    if (scope && get_module(&module, library) == CUDA_SUCCESS) lose_module(*run, module);
  }
  lose_module(*run, library);
}

void iteration_starts(Mark mark) {
  State* run = state();
  if (run == nullptr) {
    early_iterations.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (!sys::is_on() || !counts(*run, mark) || trigger::is_paused()) return;
  bool is_over = false;
  {
    const std::lock_guard lock(run->mutex);
    // What was discovered up to the pause was not a whole iteration.
    if (trigger::was_paused()) {
      void_iteration();
      if (run->phase.load() == Phase::kDiscovering) forget_discovery(*run);
    }
    if (mark == Mark::kCall) looking_for_period.store(false);
    if (run->run.iteration_source == "none") {
      const std::lock_guard run_lock(run->run.mutex);
      run->run.iteration_source = source_text(*run, mark);
    }
    is_over = run_controller::start_iteration(*run);
  }
  cupti::follow_filter();
  if (is_over && run->exit_when_done.load()) {
    static_cast<void>(run->writer->wait(kLongestWriteMs));
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): the user asked for it
  }
}

void say(std::string warning) {
  if (State* run = state()) warn(*run, std::move(warning));
}

void exit_when_done() {
  early_exit_when_done.store(true);
  if (State* run = state()) run->exit_when_done.store(true);
}

void finish_at_exit() {
  State* run = state();
  if (run == nullptr || run->process_id != getpid()) return;
  if (run->phase.load(std::memory_order_acquire) == Phase::kDone) {  // asks for no lock
    run->writer->wait_or_complain(kExitWaitMs);
    return;
  }
  {
    const std::lock_guard lock(run->mutex);
    if (run->sites.empty()) return;  // a context but no launch: nothing to report
  }
  const Closing closing = close_run(*run, End::kExit);
  if (!closing.was_over) {  // else another thread was quicker
    sys::turn_off_silently();
    return run->writer->finish_within(closing.is_complete, kExitWaitMs);
  }
  run->writer->wait_or_complain(kExitWaitMs);
}

void forget_everything() noexcept {
  the_state.store(nullptr, std::memory_order_release);
}

}  // namespace session
}  // namespace inline_prof::hook
