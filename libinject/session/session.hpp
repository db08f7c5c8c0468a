// One run: warm-up, plan, one armed event an iteration, output, end.
#pragma once

#include "hook/observer.hpp"
#include "record/run_record.hpp"
#include "record/writer_thread.hpp"
#include "schedule/request.hpp"
#include "schedule/settings.hpp"
#include "session/arming.hpp"
#include "session/contexts.hpp"
#include "session/control.hpp"
#include "session/discovery.hpp"
#include "session/graph_measurement.hpp"
#include "session/iteration_source.hpp"
#include "session/label_events.hpp"
#include "session/machine_watch.hpp"
#include "session/modes.hpp"
#include "session/operator_learning.hpp"
#include "session/phases.hpp"
#include "session/planning.hpp"
#include "session/rebinding.hpp"
#include "session/run_controller.hpp"
#include "session/sites.hpp"
#include "session/watching.hpp"
#include "sys/config.hpp"

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unistd.h>
#include <unordered_set>
#include <vector>

namespace inline_prof::session {

// How far the run is.
enum class RunState : int {
  kBeforeIterations,   // launches are counted, no iteration has begun
  kWithoutIterations,  // none will: launches of every kernel are sampled in turn
  kDiscovering,        // warm-up
  kMeasuring,
  kOverheadMeasurement,  // all samples are recorded; what measuring costs is measured
  kDraining,             // all is recorded, not all is read
  kUnitTests,            // mode unit_test: no iterations, each test has its own iterations
  kDone,
};

enum class End {
  kMeasured,  // every sample has been recorded and read
  kExit,      // the process ends by itself
  kBySignal,  // it is ended
};

// Composes the parts of a run.  Made at the first GPU call, never destroyed: hooks may be entered
// while the process ends.
class Session final : public hook::Observer {
 public:
  explicit Session(sys::Config wanted);

  // Finds the schedule and the names of the files.  False if the run cannot be profiled as
  // configured; then profiling is off and the reason has been reported.
  [[nodiscard]] bool open();

  [[nodiscard]] RunState state() const noexcept { return state_.load(std::memory_order_acquire); }
  void enter(RunState state) noexcept { state_.store(state, std::memory_order_release); }
  [[nodiscard]] std::int64_t iteration() const noexcept override {
    return iteration_.load(std::memory_order_relaxed);
  }
  std::int64_t begin_iteration() noexcept { return iteration_.fetch_add(1) + 1; }
  void set_iteration(std::int64_t iteration) noexcept { iteration_.store(iteration); }

  // Several kinds of marks may come; the one that the user has chosen counts.
  void iteration_starts(IterationMark mark);

  // The process ends once prof.json is written.
  void exit_when_done() noexcept { exits_when_done_.store(true); }
  [[nodiscard]] bool exits_when_done() const noexcept { return exits_when_done_.load(); }

  // Starts the thread that writes prof.json, at the first launch: a program that is ended in its
  // warm-up leaves a file, too.
  void start_writer();
  // Has finished samples read and the file written, on the writer's thread if it runs: this one may
  // hold locks of the driver's or ours.  Waits for some seconds at most.
  void finish_at_exit(bool may_hold_locks);
  // False in a child of the process, which may share its memory.
  [[nodiscard]] bool is_of_this_process() const { return process_id_ == getpid(); }
  // The same on the writer's thread, after a signal.
  void finish_and_die(int signal);
  // All samples are read: the hooks only forward, the file is written.
  void finish();
  // The same for a run that is watched from now on.
  void go_on_watching();

  // Reports it on stderr and in prof.json; after profiling has been turned off, in prof.json only.
  void warn(std::string warning);
  void count_host_bytes();
  [[nodiscard]] std::uint64_t samples_taken() const;
  // Launches of graphs that are not followed.
  [[nodiscard]] std::uint64_t graph_launch_count() const noexcept {
    return graph_launches_.load(std::memory_order_relaxed);
  }

  void count_refusal(timer::ContextTimer::BeginResult result) noexcept;

  // --- reports of the wrappers (hook/observer.hpp)
  [[nodiscard]] hook::LaunchTicket before_launch(const hook::Launch& launch) override;
  void after_launch(const hook::Launch& launch, const hook::LaunchTicket& ticket,
                    bool launched) override;
  void end_pair(timer::ContextTimer::Pair& pair, const void* stream, hook::PairOf pair_of) override;
  void count_graph_launch() noexcept override;
  void context_created(CUcontext context) override { contexts.created(context); }
  void context_gone(CUcontext context) override;
  void primary_context_reset(CUdevice device) override;
  void primary_context_released(CUdevice device) override;
  void stream_gone(CUstream stream) override;
  void module_gone(const void* module) override;
  void library_gone(CUlibrary library) override;
  void thread_may_launch() override;
  void host_waits() override;
  void host_copies() override { source.note_host_wait(); }
  void ranks_reduce(std::size_t bytes) override { source.note_reduction(bytes); }
  [[nodiscard]] bool range_opens(const char* text) noexcept override {
    return source.note_range(text);
  }
  void capture_begins() noexcept override;
  void capture_ends() noexcept override { label_events.capture_ends(); }
  [[nodiscard]] hook::GraphNeeds graph_is_made() override;
  [[nodiscard]] hook::GraphNeeds graph_needs() override;
  void make_room_for_graphs() override { discovery.make_room_before_iterations(); }
  void warn_once(std::string warning) override;

  // --- set when the run is opened
  const sys::Config config;
  schedule::Request request;
  schedule::Settings settings;
  record::RunRecord run;
  std::unique_ptr<record::WriterThread> writer;
  std::optional<ChangeCommand> change_command;

  // Guards what follows, unless a part says otherwise.  Held for look-ups and small insertions,
  // never during I/O.
  std::mutex mutex;
  Contexts contexts{*this};
  Sites sites{*this};
  Discovery discovery{*this};
  Arming arming{*this};
  Rebinding rebinding{*this};
  IterationSource source{*this};
  Phases phases{*this};
  Planning planning{*this};
  GraphMeasurement graph_kernels{*this};
  OperatorLearning operators{*this};
  LabelEvents label_events{*this};
  WithoutIterations without_iterations{*this};
  OneShot one_shot{*this};
  UnitTests unit_tests{*this};
  Overhead overhead{*this};
  RunController controller{*this};
  Watching watching{*this};
  MachineWatch machine{*this};
  Control control{*this};
  Progress progress{*this};

 private:
  [[nodiscard]] bool is_searched(const hook::Launch& launch) const noexcept;
  [[nodiscard]] hook::LaunchTicket met_if_searched(hook::LaunchTicket ticket,
                                                   const hook::Launch& launch) const;
  void end_launch(const hook::Launch& launch, const hook::LaunchTicket& ticket, bool launched);
  [[nodiscard]] bool open_outputs();
  void make_writer(std::string path, std::string metrics_path);
  void describe_run(const std::string& schedule_path);
  [[nodiscard]] record::WriteFacts write_facts();
  [[nodiscard]] bool tick();
  void watch();
  [[nodiscard]] [[gnu::cold]] bool close_run(End end);
  [[nodiscard]] std::optional<bool> close_at_exit();
  void settle(End end);
  [[nodiscard]] hook::LaunchTicket begin_captured_launch(const hook::Launch& launch);
  void graph_was_launched();

  int process_id_ = 0;
  bool has_writer_started_ = false;
  std::optional<std::vector<std::string>> static_copies_;           // the writer's alone
  std::optional<std::unordered_set<std::string>> names_asked_for_;  // none: any
  std::atomic<RunState> state_{RunState::kBeforeIterations};
  std::atomic<std::int64_t> iteration_{0};
  std::atomic<bool> exits_when_done_{false};
  std::atomic<std::uint64_t> graph_launches_{0};  // of graphs that are not followed
  std::atomic<bool> is_complete_{false};          // once it is over, or is watched
};

// completeness.cpp.  With the session's mutex held:
// Decides whether the present phase has all that was asked for; the run goes on.
[[nodiscard]] bool settle_characterisation(Session& session);
// Decides, for good: a run ends once.  Says on stderr and in the file what is missing, and gives
// each event that is short of samples its reason.
[[nodiscard]] bool settle_completeness(Session& session, End end);
// Returns true if the plan is over, and most of what it asked for was not launched in its turn: the
// iterations that were found may be parts of longer ones, or a loop of the set-up.
[[nodiscard]] bool most_samples_are_missing(Session& session);

// Null before the first GPU call, and in a forked child.
[[nodiscard]] Session* the_session() noexcept;

// Makes the session and opens it, as Session::open().
[[nodiscard]] bool begin(sys::Config config);
// Called in a forked child, which has no run.
void forget_everything() noexcept;

// Calls of the application that may come before the first GPU call.
void iteration_starts();
void exit_when_done();

}  // namespace inline_prof::session
