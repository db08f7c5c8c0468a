#include "session/session.hpp"

#include "cupti/cupti_client.hpp"
#include "launch/launch_filter.hpp"
#include "launch/launching_threads.hpp"
#include "libraries/static_copies.hpp"
#include "record/output_file.hpp"
#include "schedule/error.hpp"
#include "schedule/read_request.hpp"
#include "session/termination.hpp"
#include "session/trigger.hpp"
#include "sys/cuda_api.hpp"
#include "sys/large_stack.hpp"
#include "sys/lifecycle.hpp"
#include "sys/log.hpp"
#include "sys/process.hpp"
#include "timer/device_facts.hpp"
#include "timer/driver_scope.hpp"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace inline_prof::session {
namespace {

constinit std::atomic<Session*> the_one{nullptr};

// Calls of the application before the first GPU call.
constinit std::atomic<std::int64_t> early_iterations{0};
constinit std::atomic<bool> early_exit_when_done{false};

constexpr int kExitWaitMs = 2000;
constexpr int kExitPollMs = 200;
constexpr int kNvmlWaitMs = 100;
constexpr int kLongestWriteMs = 60'000;  // if the user has asked for the end after the write

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

bool counts(const sys::Config& config, IterationMark mark) {
  using Source = sys::IterationSource;
  switch (config.iteration_source) {
    case Source::kAuto:
      return mark != IterationMark::kRange;
    case Source::kMacro:
      return mark == IterationMark::kCall;
    case Source::kOptimizer:
      return mark != IterationMark::kLaunch;
    case Source::kNvtx:
      return mark == IterationMark::kRange;
    case Source::kKernel:
    case Source::kPeriod:
      return mark == IterationMark::kLaunch;
  }
  return false;
}

std::string source_text(const sys::Config& config, IterationMark mark) {
  using Source = sys::IterationSource;
  switch (config.iteration_source) {
    case Source::kOptimizer:
      return "optimizer";
    case Source::kNvtx:
      return "nvtx:" + config.iteration_glob;
    case Source::kKernel:
      return "kernel:" + config.iteration_glob;
    case Source::kPeriod:
      return "period:" + std::to_string(config.iteration_period);
    case Source::kAuto:
    case Source::kMacro:
      break;
  }
  return mark == IterationMark::kCall ? "macro" : "auto";
}

}  // namespace

Session* the_session() noexcept {
  return the_one.load(std::memory_order_acquire);
}

Session::Session(sys::Config wanted) : config(std::move(wanted)), process_id_(getpid()) {}

bool Session::open() {
  try {
    const std::string directory = config.directory_is_set ? config.directory : "";
    auto found = schedule::find_request(config.schedule_path, directory);
    request = std::move(found.request);
    settings = schedule::settle(choices_of(config), request);
    check_settings(settings);
    describe_run(found.path);
  } catch (const schedule::ScheduleError& error) {
    sys::turn_off("schedule", error.what());
    return false;
  }
  for (const std::string& warning : settings.warnings)
    warn(warning);
  if (const auto* spec = std::get_if<schedule::Spec>(&request)) {
    for (const std::string& warning : spec->warnings)
      warn(warning);
  }
  if (config.watch_share > 0 && settings.mode != schedule::Mode::kFineGrained) {
    warn("INLINE_PROF_WATCH: mode " + run.mode +
         " is not watched, fine_grained is: the run stops measuring when it has its samples");
  }
  if (!config.on_change.empty()) change_command.emplace(config.on_change);
  names_asked_for_ = names_asked_for(request);
  if (!open_outputs()) return false;
  exits_when_done_.store(config.exit_when_done || early_exit_when_done.load());
  if (const auto early = early_iterations.load();
      early > 0 && counts(config, IterationMark::kCall)) {
    set_iteration(early);
    run.iteration_source = "macro";
    enter(RunState::kDiscovering);
  }
  using Source = sys::IterationSource;
  if (settings.mode == schedule::Mode::kUnitTest) {
    run.iteration_source = "unit_test";
    enter(RunState::kUnitTests);
  } else if (config.iteration_source == Source::kAuto ||
             config.iteration_source == Source::kPeriod) {
    launch::filter.add(launch::LaunchFilter::kSearching);
  }
  return true;
}

// Finds the names of prof.json and of the metrics, and makes the writer.
bool Session::open_outputs() {
  std::string path;
  std::string metrics_path;
  try {
    path = record::output_path({.output_template = config.output_template,
                                .directory = config.directory,
                                .directory_is_set = config.directory_is_set,
                                .rank = config.rank},
                               run.host_name, process_id_);
    if (!config.metrics_template.empty()) {
      metrics_path =
          record::metrics_path({.output_template = config.metrics_template, .rank = config.rank},
                               run.host_name, process_id_);
    }
    control.open(sys::expand_output_template(config.control_template, "INLINE_PROF_CONTROL",
                                             run.host_name, process_id_, config.rank));
  } catch (const sys::ConfigError& error) {
    sys::turn_off("configuration", error.what());
    return false;
  }
  if (metrics_path == path) {
    sys::turn_off("configuration", ("INLINE_PROF_METRICS=" + config.metrics_template +
                                    ": is the name of the profile; expected a file of its own")
                                       .c_str());
    return false;
  }
  for (const std::string& file : {path, metrics_path}) {
    if (file.empty()) continue;
    using record::Existing;
    const Existing existing = file == path ? Existing::kStays : Existing::kIsReplaced;
    if (const std::string error = record::prepare_directory(file, existing); !error.empty()) {
      sys::turn_off("output", error.c_str());
      return false;
    }
  }
  make_writer(std::move(path), std::move(metrics_path));
  return true;
}

void Session::describe_run(const std::string& schedule_path) {
  run.host_name = sys::host_name();
  run.command = sys::command_name();
  run.started_at = sys::utc_time_now();
  run.rank = config.rank;
  run.world_size = config.world_size;
  run.local_rank = config.local_rank;
  run.mode = schedule::mode_name(settings.mode);
  run.policy = schedule::policy_name(settings.policy);
  run.backend = config.backend == sys::Backend::kCupti ? "cupti" : "driver";
  run.schedule = schedule_path;
  run.warmup = settings.warmup;
  run.repeat = settings.repeat;
  run.warnings = config.warnings;
}

void Session::make_writer(std::string path, std::string metrics_path) {
  writer = std::make_unique<record::WriterThread>(
      run, record::WriterThread::Options{
               .path = std::move(path),
               .metrics_path = std::move(metrics_path),
               .run_name = config.run_name.empty() ? run.command : config.run_name,
               .checkpoint_seconds = static_cast<int>(config.checkpoint_seconds),
               .tick = [this] { return tick(); },
               .facts = [this] { return write_facts(); },
               // In the warm-up events are still being described.
               .ready =
                   [this] {
                     const RunState now = state();
                     if (!run.phases.empty()) return true;
                     return now != RunState::kBeforeIterations && now != RunState::kDiscovering &&
                            now != RunState::kUnitTests;
                   },
               .look = [this] { control.look(); },
               .watch = [this] { watch(); },
               .on_signal = [this](int signal) { finish_and_die(signal); },
               .close = [this] { return close_at_exit(); },
               .on_alone =
                   [this] {
                     // As if this were the last thread, which a call of NVML's that never returns
                     // keeps it from being.
                     if (!machine.stop(kNvmlWaitMs)) std::exit(0);  // NOLINT(concurrency-mt-unsafe)
                   },
               .on_written = [] { stop_listening_for_termination(); }});
}

void Session::start_writer() {
  if (std::exchange(has_writer_started_, true)) return;
  writer->start();
  listen_for_termination(*writer);
}

record::WriteFacts Session::write_facts() {
  watching.update_record();
  record::WriteFacts facts;
  facts.complete = watching.has_begun() && is_complete_;
  facts.process_id = process_id_;
  facts.simulated = timer::driver_is_simulated();
  facts.libraries = timer::loaded_library_versions();
  facts.cuda_errors = sys::vendor_error_count();
  facts.cross_check = cupti::collect();
  // Once, after the events are known: it reads the files of what is loaded.
  if (state() != RunState::kDiscovering && !static_copies_)
    static_copies_ = libraries::static_copies(run);
  if (static_copies_) facts.not_seen = *static_copies_;
  const std::lock_guard lock(run.mutex);
  facts.iteration_confidence = run.iteration_source == "none" ? 0 : run.iteration_confidence;
  return facts;
}

// Called every 10 ms on the writer's thread.
bool Session::tick() {
  watching.plan_new_phase();
  if (graph_kernels.tick()) return true;
  const std::lock_guard lock(mutex);
  if (state() != RunState::kWithoutIterations) return false;
  without_iterations.choose_next_sample();
  return true;
}

// Called every second on the writer's thread.
void Session::watch() {
  machine.every_second();
  trigger::retry_to_wake();
  watching.every_second();
  if (state() != RunState::kMeasuring) return;
  if (watching.is_paused() || (watching.is_on() && watching.waits_for_iteration())) return;
  const std::lock_guard lock(mutex);
  if (source.is_guessed() || source.is_told_by_launches()) phases.watch(iteration());
}

void Session::iteration_starts(IterationMark mark) {
  if (!sys::is_on() || !counts(config, mark) || trigger::is_paused()) return;
  const bool is_call = mark == IterationMark::kCall;
  if (is_call && source.leaves_call_to_launch()) return;
  if (watching.passes_over()) return;
  bool is_over = false;
  {
    const std::lock_guard lock(mutex);
    // The iteration before the pause was not whole.
    if (trigger::was_paused()) {
      arming.void_iteration();
      if (state() == RunState::kDiscovering) discovery.begin_anew();
    }
    if (is_call) {
      source.give_way_to_calls();
      launch::filter.remove(launch::LaunchFilter::kSearching);
      // The launches that told iterations are wrong if a call comes elsewhere.
      if (source.is_told_by_launches()) source.note_end_of_iterations();
      source.note_call();
    }
    if (run.iteration_source == "none") {
      const std::lock_guard run_lock(run.mutex);
      run.iteration_source = source_text(config, mark);
    }
    is_over = controller.start_iteration();
    if (is_call) source.note_started();
  }
  cupti::follow_filter();
  if (is_over && exits_when_done()) {
    if (writer->is_running()) {
      static_cast<void>(writer->wait(kLongestWriteMs));
    } else {
      finish_at_exit(false);
    }
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): the user asked for it
  }
}

// Says what is missing.  Whether a run that was watched is complete is known since then.
void Session::settle(End end) {
  if (watching.is_on()) {
    sys::on_large_stack([&] { phases.settle_others(); });
  } else {
    const bool is_complete = settle_completeness(*this, end);
    if (!watching.has_begun()) is_complete_ = is_complete;
  }
  watching.stop();
  controller.close_record();
}

// Reads finished samples and reports what is missing, unless the run was over before.  Waits for
// 200 ms at most.  Returns whether the record is complete.
bool Session::close_run(End end) {
  const std::lock_guard lock(mutex);
  const RunState now = state();
  if (now == RunState::kDone) return is_complete_;
  for (int waited = 0; waited < kExitPollMs && !contexts.poll_all(); ++waited)
    usleep(1000);
  contexts.count_pending();
  if (now == RunState::kBeforeIterations && !phases.some_are_planned())
    without_iterations.list_unsampled();
  if (now == RunState::kBeforeIterations) static_cast<void>(without_iterations.count_calls());
  if (now == RunState::kWithoutIterations) without_iterations.extend_time_to_the_end();
  if (now < RunState::kMeasuring) sites.fold_counts();
  if (now == RunState::kDiscovering && !phases.some_are_planned()) {
    // The warm-up's events are all that there is.
    const std::lock_guard run_lock(run.mutex);
    run.phase_in_making = -1;
  }
  settle(end);
  enter(RunState::kDone);
  return is_complete_;
}

void Session::finish() {
  contexts.count_pending();
  for (timer::ContextTimer& timer : contexts.timers())
    timer.destroy_events();
  graph_kernels.finish();
  settle(End::kMeasured);
  enter(RunState::kDone);
  one_shot.stop();
  arming.disarm();
  sys::turn_off_silently();
  trigger::wake();
  writer->finish(is_complete_);
}

void Session::go_on_watching() {
  if (!std::exchange(phases.course().is_settled, true)) {
    const bool is_complete = settle_characterisation(*this);
    is_complete_ = is_complete && (is_complete_ || !watching.has_begun());
    controller.close_characterisation();
  }
  graph_kernels.pause();
  arming.disarm();
  enter(RunState::kMeasuring);
  watching.begin();
}

void Session::finish_and_die(int signal) {
  // First without a word to the driver: the interrupted thread may hold a lock of its.
  if (state() != RunState::kDone && writer->write_checkpoint_now().empty())
    hook::note_file_before_the_end(writer->path().c_str());
  const bool is_complete = close_run(End::kBySignal);
  sys::turn_off_silently();
  writer->write_now(is_complete);
  hook::die_of(signal);
}

void Session::finish_at_exit(bool may_hold_locks) {
  if (!is_of_this_process()) return;
  static_cast<void>(machine.stop(kNvmlWaitMs));
  if (writer->has_finished()) return;
  if (writer->is_running()) {
    if (state() == RunState::kDone) return writer->wait_or_complain(kExitWaitMs);
    writer->close_within(kExitWaitMs);
    return sys::turn_off_silently();
  }
  if (may_hold_locks) return;
  if (const std::optional<bool> is_complete = close_at_exit())
    writer->finish_within(*is_complete, kExitWaitMs);
}

// Returns whether the record is complete, or nothing if there is no record.
std::optional<bool> Session::close_at_exit() {
  if (state() != RunState::kDone) {
    const std::lock_guard lock(mutex);
    // A context but no launch: nothing to report.  A warm-up that has just begun again has no
    // sites, either.
    if (sites.all().empty() && run.launches_seen == 0 && run.graph_launches_seen == 0)
      return std::nullopt;
  }
  const bool is_complete = close_run(End::kExit);
  sys::turn_off_silently();
  return is_complete;
}

void Session::warn(std::string warning) {
  if (*sys::off_reason() == '\0') sys::say(sys::LogLevel::kWarning, "%s", warning.c_str());
  const std::lock_guard lock(run.mutex);
  run.add_warning(std::move(warning));
}

void Session::warn_once(std::string warning) {
  {
    const std::lock_guard lock(run.mutex);
    if (std::find(run.warnings.begin(), run.warnings.end(), warning) != run.warnings.end()) return;
  }
  warn(std::move(warning));
}

void Session::count_host_bytes() {
  std::uint64_t bytes = sizeof(Session) + sizeof launch::filter.table +
                        contexts.timers().size() * sizeof(timer::ContextTimer);
  bytes += graphs::copy_bytes() + graphs::registry_bytes();
  for (record::EventRecord& event : run.events)
    bytes += sizeof(record::EventRecord) + event.capacity() * sizeof(record::Sample);
  run.host_bytes.store(bytes);
}

std::uint64_t Session::samples_taken() const {
  std::uint64_t count = 0;
  for (record::EventRecord& event : run.events)
    count += event.sample_count();
  return count;
}

void Session::context_gone(CUcontext context) {
  graphs::live_clone().context_gone(context);
  const std::lock_guard lock(mutex);
  for (timer::ContextTimer& timer : contexts.timers()) {
    if (timer.context() == context) rebinding.lose_context(timer);
  }
}

void Session::primary_context_reset(CUdevice device) {
  const std::lock_guard lock(mutex);
  for (timer::ContextTimer& timer : contexts.timers()) {
    if (timer.device_id() == device) rebinding.lose_context(timer);
  }
}

void Session::primary_context_released(CUdevice device) {
  const auto get_state = sys::cuda().cuDevicePrimaryCtxGetState;
  unsigned flags = 0;
  int active = 0;
  if (get_state != nullptr && get_state(device, &flags, &active) == CUDA_SUCCESS && active != 0)
    return;
  primary_context_reset(device);
}

void Session::stream_gone(CUstream stream) {
  const std::lock_guard lock(mutex);
  rebinding.lose_stream(stream);
}

void Session::module_gone(const void* module) {
  const std::lock_guard lock(mutex);
  rebinding.lose_module(module);
}

void Session::library_gone(CUlibrary library) {
  const auto get_module = sys::cuda().cuLibraryGetModule;
  if (get_module == nullptr) return;
  const std::lock_guard lock(mutex);
  // It has a module in each context in which one of its kernels was launched.
  for (const timer::ContextTimer& timer : contexts.timers()) {
    if (!timer.is_alive()) continue;
    const timer::ContextScope scope(timer.context());
    CUmodule module = nullptr;
    if (scope && get_module(&module, library) == CUDA_SUCCESS) rebinding.lose_module(module);
  }
  rebinding.lose_module(library);
}

void Session::thread_may_launch() {
  launch::note_first_launch_of_thread();
  const std::lock_guard lock(mutex);
  if (state() == RunState::kMeasuring && !watching.is_on()) arming.expect_new_thread();
}

void Session::host_waits() {
  source.note_host_wait();
  source.note_hint();
}

void Session::capture_begins() noexcept {
  source.ask_for_calls();  // replays will launch something else
  label_events.capture_begins();
}

hook::GraphNeeds Session::graph_needs() {
  const RunState now = state();
  return {.is_planned = now >= RunState::kMeasuring,
          .may_come_later = now == RunState::kMeasuring && phases.may_find_another(),
          .names = names_asked_for_ ? &*names_asked_for_ : nullptr,
          .most_copy_bytes = std::uint64_t{config.graph_copies_mib} << 20U};
}

hook::GraphNeeds Session::graph_is_made() {
  source.note_hint(IterationSource::kHintsOfGraph);
  return graph_needs();
}

bool begin(sys::Config config) {
  launch::prepare_for_launching_threads();
  auto* fresh = new Session(std::move(config));  // never destroyed: see session.hpp
  if (!fresh->open()) return false;
  the_one.store(fresh, std::memory_order_release);
  hook::the_observer.store(fresh, std::memory_order_release);
  return true;
}

void forget_everything() noexcept {
  hook::the_observer.store(nullptr, std::memory_order_release);
  trigger::let_wake(nullptr, nullptr);
  the_one.store(nullptr, std::memory_order_release);
}

void iteration_starts() {
  Session* session = the_session();
  if (session != nullptr) return session->iteration_starts(IterationMark::kCall);
  early_iterations.fetch_add(1, std::memory_order_relaxed);
}

void exit_when_done() {
  early_exit_when_done.store(true);
  if (Session* session = the_session()) session->exit_when_done();
}

}  // namespace inline_prof::session
