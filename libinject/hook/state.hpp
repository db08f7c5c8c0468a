// Everything that the guest knows about the run.  Made at the first GPU call, never destroyed:
// hooks may be entered while the process ends.
#pragma once

#include "hook/adaptive_course.hpp"
#include "hook/graph_registry.hpp"
#include "hook/kernel_handles.hpp"
#include "hook/label.hpp"
#include "hook/launch.hpp"
#include "record/prof_writer.hpp"
#include "record/run_record.hpp"
#include "record/writer_thread.hpp"
#include "schedule/plan.hpp"
#include "schedule/request.hpp"
#include "schedule/settings.hpp"
#include "sys/config.hpp"
#include "timer/context_timer.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace inline_prof::hook {

enum class Phase : int {
  kBeforeIterations,   // launches are counted, no iteration has begun
  kWithoutIterations,  // none will: launches of every kernel are sampled in turn
  kDiscovering,        // warm-up
  kMeasuring,
  kReceipt,    // all samples are recorded; what measuring costs is measured
  kDraining,   // all is recorded, not all is read
  kUnitTests,  // mode unit_test: no iterations, each test runs its own course
  kDone,
};

struct StreamInfo {
  CUstream handle = nullptr;
  timer::ContextTimer* timer = nullptr;
  int index = 0;  // in order of first appearance
  std::uint64_t launches = 0;
  bool is_alive = true;
};

struct KernelInfo {
  std::string name;        // as the driver gives it
  std::string event_name;  // readable, without blanks
  int static_shared_bytes = 0;
  int registers = 0;
};

// One kernel on one stream: its events, whichever of its handles is launched.
struct KernelOnStream {
  std::string event_name;
  int handles = 0;
  int next_occurrence = 0;
};

// What stands behind a slot of the launch table: a kernel, a label or a graph on one stream.
struct Met {
  timer::LaunchSlot* slot = nullptr;
  StreamInfo* stream = nullptr;
  // One of these is not null.
  const KernelInfo* kernel = nullptr;
  Label* label = nullptr;
  HostGraph* graph = nullptr;
  record::LaunchShape first_shape;  // of a kernel
  std::string event_name;           // of a kernel, once it has one
  // By occurrence; null where the launch was part of a label.  Of a graph: the replays as a whole.
  std::vector<record::EventRecord*> events;
  record::EventRecord* sampled = nullptr;          // in a run without iterations
  timer::ContextTimer::Pair* open_pair = nullptr;  // of a label, in mode one_shot
  int open_occurrence = -1;                        // of a label that has started and not stopped
  std::uint32_t usual_count = 0;                   // launches in most iterations of the warm-up
  int usual_votes = 0;
};

// What was launched inside a label, beside further labels.
struct LabelInside {
  std::vector<record::EventRecord*> ops;  // vendor calls
  int other_launches = 0;
};

// The blocks of iterations after the last sample: armed, not armed, not armed, armed, and again.
struct ReceiptCourse {
  std::int64_t first = 0;  // iteration
  std::int64_t block = 0;  // iterations of a block
  std::int64_t lead = 0;   // iterations by which the host may run ahead of the GPU
  std::int64_t end = 0;    // the iteration after the last block
};

// Events that are measured in the same iteration: one name on all devices and streams.
struct Target {
  std::vector<record::EventRecord*> events;
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
      0};  // contexts whose calibration goes on, each on a thread of the host's
  std::atomic<bool> throw_samples_away{false};  // pairs are recorded for their cost alone

  // Guards everything below.  Held for look-ups and small insertions, never during I/O.
  std::mutex mutex;
  std::deque<timer::ContextTimer> timers;
  std::deque<StreamInfo> streams;
  std::map<KernelIdentity, std::unique_ptr<KernelInfo>> kernels;
  std::unordered_map<std::string, int> kernel_event_names;  // how many kernels share a name
  std::map<std::pair<const KernelInfo*, int>, KernelOnStream> kernels_on_streams;
  std::map<std::pair<std::string, int>, int> op_occurrences;  // by name and stream index
  std::unordered_map<const record::EventRecord*, LabelInside> insides;
  std::vector<std::unique_ptr<Met>> met_by_slot;
  std::vector<Met*> met;  // in order of first appearance
  std::int64_t next_index = 0;
  int discovery = 0;  // how often events were discovered anew
  std::unordered_map<const record::EventRecord*, Met*> met_of_event;
  std::vector<Target> targets;
  schedule::Plan plan;
  std::size_t plain_targets = 0;  // the first ones; kernels inside graphs have visits of their own
  std::unique_ptr<AdaptiveCourse> adaptive;  // null for the other policies
  ReceiptCourse receipt;
  std::vector<std::vector<std::size_t>> armed_lately;  // targets of the last armed iterations
  bool boundary_is_guessed = false;  // a period was found; nobody has said where iterations begin
  std::vector<std::string> never_met;
  std::size_t next_sampled = 0;  // whose turn it is in a run without iterations
  int draining_iterations = 0;
  bool is_complete = false;  // once it is over
  std::unordered_map<std::string, UnitTest> unit_tests;
  UnitTest* running_test = nullptr;
};

// Null before the first GPU call, and in a forked child.
[[nodiscard]] State* state() noexcept;

// What stands for a stream in the launch table: the stream, and the unit test that is running.
[[nodiscard]] inline const void* table_key(const State& state, const void* stream) noexcept {
  const auto tag = state.running_test == nullptr ? 0 : state.running_test->tag;
  // Compared and never followed, so the optimiser loses nothing by not knowing where it points.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(stream) ^ tag);
}

// discovery.cpp; with the mutex held.
[[nodiscard]] timer::ContextTimer* timer_of(State& state, CUcontext context);
[[nodiscard]] const KernelInfo* kernel_of(State& state, CUfunction function);
// Counts the events of one name on one stream, kernels' by the kernel.
[[nodiscard]] int next_occurrence(State& state, const std::string& name, const StreamInfo& stream);
[[nodiscard]] const std::string& event_name_of(State& state, const KernelInfo& kernel,
                                               const StreamInfo& stream, int& occurrence);
[[nodiscard]] StreamInfo* stream_of(State& state, CUstream stream);
[[nodiscard]] Met* met_label(State& state, Label& label, CUstream stream);
// `op_name`: of the vendor call that begins with this launch; empty: none.  Null: the list is full.
record::EventRecord* add_event(State& state, Met& met, std::uint32_t launch_occurrence,
                               const std::string& op_name);
void forget_discovery(State& state);  // events are discovered anew, from this iteration on
void fold_counts(State& state);       // an iteration ends: counts go to the totals
[[nodiscard]] StreamInfo* busiest_stream(State& state, const timer::ContextTimer& timer);

// discovery.cpp; takes the mutex.
void meet(State& state, const Launch& launch, bool is_captured);

// graph_events.cpp; with the mutex held.
void meet_replay(State& state, Met& met, const Launch& launch, std::uint32_t occurrence);
// What each graph got: its kernels, or itself as a whole.
void settle_graphs(State& state);
// False where a list of events names nothing that `nodes` have.  No mutex.
[[nodiscard]] bool schedule_asks_for(const State& state, const std::vector<GraphNode>& nodes);

// without_iterations.cpp; with the mutex held.
void begin_without_iterations(State& state);
void sample_from_now_on(State& state, Met& met);
void count_calls(State& state);  // of every event, so far
void list_unsampled(
    State& state);  // the run was too short for samples: what it launched, and how often
[[nodiscard]] std::uint32_t launches_to_next_sample(const Met& met);
void leave_without_iterations(State& state);
void choose_next_sample(State& state);

// one_shot.cpp; with the mutex held.
void begin_one_shot(State& state);
void stop_one_shot(State& state);

// unit_test.cpp; take the mutex.
void start_unit_test(const char* name);
void stop_unit_test();

// planning.cpp; with the mutex held.
void forget_events(State& state, const std::function<bool(const record::EventRecord&)>& unwanted);
void make_plan(State& state);
// What was discovered becomes what can be measured.
void settle_discovery(State& state);
void count_host_bytes(State& state);
// Says it, and writes it into prof.json.  After profiling went off the file is the only place for
// words: the one line has been said.
void warn(State& state, std::string warning);

// arming.cpp; with the mutex held.
void arm(State& state, std::span<const std::size_t> targets, std::int64_t iteration);
void disarm() noexcept;
// An armed function was launched more or less often than in the iterations of the warm-up, or the
// iteration was none: which launch was measured is not known.  Returns how many samples go.
std::uint32_t drop_samples_of_irregular_iteration() noexcept;

}  // namespace inline_prof::hook
