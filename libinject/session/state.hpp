// Everything that the injected library knows about the run.  Made at the first GPU call, never
// destroyed: hooks may be entered while the process ends.
#pragma once

#include "launch/kernel_handles.hpp"
#include "record/run_record.hpp"
#include "record/writer_thread.hpp"
#include "schedule/plan.hpp"
#include "schedule/request.hpp"
#include "schedule/settings.hpp"
#include "session/adaptive_controller.hpp"
#include "session/launch_site.hpp"
#include "session/operator_calls.hpp"
#include "session/phase.hpp"
#include "sys/config.hpp"
#include "timer/context_timer.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace inline_prof::hook {

// The blocks of iterations after the last sample: armed, not armed, not armed, armed, and again.
struct OverheadBlocks {
  std::int64_t first = 0;  // iteration
  std::int64_t block = 0;  // iterations of a block
  std::int64_t lead = 0;   // iterations by which the application may run ahead of the GPU
  std::int64_t end = 0;    // the iteration after the last block
};

// Events that are measured in the same iteration: one name on all devices and streams.
struct Target {
  std::vector<record::EventRecord*> events;
};

// How far the measuring of a phase has come, while the program is in another one (phases.hpp).
struct Course {
  std::vector<Target> targets{};
  schedule::Plan plan{};
  std::size_t plain_targets = 0;
  std::vector<std::size_t> in_graphs{};
  std::unique_ptr<AdaptiveController> adaptive{};
  std::int64_t position = 0;                // of the last iteration, counted from the phase's first
  std::vector<std::uint64_t> signatures{};  // of iterations
};

// Whether iterations still launch what they launched in the warm-up (phases.hpp).
struct PhaseWatch {
  std::vector<double> first_deviations{};
  double most = 0;    // of a deviation, as long as nothing has changed
  int differing = 0;  // iterations in a row
  std::int64_t last_good = 0;
  std::int64_t next_hint = 0;
  int hints_in_vain = 0;
  bool has_other_grids = false;  // that is what differs in the last one
  bool is_put_off = false;       // what hints at another phase may have another cause
};

// Between PROFILE_UNIT_TEST_START(name) and _STOP(), in mode unit_test.
struct UnitTest {
  std::string name;
  std::uintptr_t tag = 0;  // keeps its launches apart from other tests' in the launch table
  std::int64_t runs = 0;
};

struct State {
  explicit State(sys::Config wanted) : config(std::move(wanted)) {}

  sys::Config config;
  int process_id = 0;
  schedule::Request request;
  schedule::Settings settings;
  record::RunRecord run;
  std::unique_ptr<record::WriterThread> writer;
  std::optional<std::vector<std::string>> static_copies;  // the writer's alone

  std::atomic<Phase> phase{Phase::kBeforeIterations};
  std::atomic<std::int64_t> iteration{0};
  std::atomic<bool> exit_when_done{false};
  std::atomic<bool> table_full{false};
  std::atomic<int> calibrating{
      0};  // contexts whose calibration goes on, each on a thread of the application's
  std::atomic<bool> asks_for_operators{false};  // also shortly before they are learned
  std::atomic<bool> learns_operators{false};    // in this iteration
  std::atomic<bool> throw_samples_away{false};  // pairs are recorded for their cost alone

  // Guards everything below.  Held for look-ups and small insertions, never during I/O.
  std::mutex mutex;
  std::deque<timer::ContextTimer> timers;
  std::deque<StreamInfo> streams;
  std::map<KernelIdentity, std::unique_ptr<KernelInfo>> kernels;
  std::vector<std::unique_ptr<KernelInfo>> unloaded_kernels;  // until one of the name comes again
  std::set<int> calibrated_devices;
  std::unordered_map<std::string, int> kernel_event_names;  // how many kernels share a name
  std::map<std::pair<const KernelInfo*, int>, KernelOnStream> kernels_on_streams;
  std::map<std::pair<std::string, int>, int> op_occurrences;  // by name and stream index
  std::unordered_map<const record::EventRecord*, LabelInside> insides;
  std::vector<std::unique_ptr<LaunchSite>> site_by_slot;
  std::vector<LaunchSite*> sites;    // in order of first appearance
  bool some_are_lost = false;        // sites: their handles have gone (rebinding.hpp)
  bool some_were_forgotten = false;  // sites, before the first iteration: there was no more room
  std::int64_t next_index = 0;
  int discovery = 0;  // how often events were discovered anew
  std::unordered_map<const record::EventRecord*, LaunchSite*> site_of_event;
  LearnedKernels learned_kernels;
  std::vector<Target> targets;
  schedule::Plan plan;
  std::size_t plain_targets = 0;  // the first ones; kernels inside graphs are measured afterwards
  std::vector<std::size_t> in_graphs;            // targets of those
  std::unique_ptr<AdaptiveController> adaptive;  // null for the other policies
  std::vector<std::uint64_t> signatures;         // of iterations of the phase
  std::vector<Course> courses;                   // by phase; that of the present one is empty
  int phase_index = 0;                           // in run.phases
  std::int64_t phase_start = 0;                  // the iteration before the phase's first
  double began_s = 0;                            // on the monotonic clock
  double phase_began_s = 0;
  std::string phase_reason = "the first iterations";
  bool is_fresh = false;         // events were forgotten as this iteration began
  std::int64_t first_index = 0;  // next_index as the phase began
  PhaseWatch watch;
  std::atomic<int> looks{0};  // for another phase
  // Iterations that were watched, and those that differed between others that did not.
  std::int64_t watched = 0;
  std::int64_t briefly_other = 0;
  int brief_visits = 0;
  std::int64_t idle_iterations = 0;
  OverheadBlocks overhead;
  std::vector<std::vector<std::size_t>> armed_lately;  // targets of the last armed iterations
  bool boundary_is_guessed = false;  // iterations come from a period, not from a mark
  std::vector<std::string> never_met;
  std::size_t unmatched_labels = 0;  // labels that were stopped but not started
  std::size_t next_sampled = 0;      // whose turn it is in a run without iterations
  // There: launches before its clock started, before each sample, and before the sample at whose
  // end the run's time was read last.
  std::uint64_t launches_before_clock = 0;
  std::vector<std::uint64_t> launches_before_samples;
  std::uint64_t launches_timed = 0;
  int draining_iterations = 0;
  bool is_complete = false;  // once it is over
  std::unordered_map<std::string, UnitTest> unit_tests;
  UnitTest* running_test = nullptr;
};

// Of an iteration in the present phase, counted from 1.
[[nodiscard]] inline std::int64_t position_of(const State& state, std::int64_t iteration) noexcept {
  return iteration - state.phase_start;
}

// Null before the first GPU call, and in a forked child.
[[nodiscard]] State* state() noexcept;

// What stands for a stream in the launch table: the stream, and the unit test that is running.
[[nodiscard]] inline const void* table_key(const State& state, const void* stream) noexcept {
  const auto tag = state.running_test == nullptr ? 0 : state.running_test->tag;
  // Only compared, never dereferenced.  NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(stream) ^ tag);
}

}  // namespace inline_prof::hook
