// Everything that the guest knows about the run.  Made at the first GPU call, never destroyed:
// hooks may be entered while the process ends.
#pragma once

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
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace inline_prof::hook {

enum class Phase : int {
  kBeforeIterations,   // launches are counted, no iteration has begun
  kWithoutIterations,  // none will: launches of every kernel are sampled in turn
  kDiscovering,        // warm-up
  kMeasuring,
  kDraining,  // all is recorded, not all is read
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

// What stands behind a slot of the launch table: a kernel or a label on one stream.
struct Met {
  timer::LaunchSlot* slot = nullptr;
  StreamInfo* stream = nullptr;
  const KernelInfo* kernel = nullptr;  // null for a label
  Label* label = nullptr;              // null for a kernel
  record::LaunchShape first_shape;     // of a kernel
  // By occurrence; null where the launch was part of a label, or was captured.
  std::vector<record::EventRecord*> events;
  record::EventRecord* sampled = nullptr;  // in a run without iterations
  int open_occurrence = -1;                // of a label that has started and not stopped
};

// Events that are measured in the same iteration: one name on all devices and streams.
struct Target {
  std::vector<record::EventRecord*> events;
};

struct State {
  explicit State(sys::Config wanted) : config(std::move(wanted)) {}

  sys::Config config;
  int process_id = 0;
  schedule::Request request;
  schedule::Settings settings;
  record::RunRecord run;
  std::unique_ptr<record::WriterThread> writer;

  std::atomic<Phase> phase{Phase::kBeforeIterations};
  std::atomic<std::int64_t> iteration{0};
  std::atomic<bool> exit_when_done{false};
  std::atomic<bool> table_full{false};

  // Guards everything below.  Held for look-ups and small insertions, never during I/O.
  std::mutex mutex;
  std::deque<timer::ContextTimer> timers;
  std::deque<StreamInfo> streams;
  std::unordered_map<CUfunction, std::unique_ptr<KernelInfo>> kernels;
  std::unordered_map<std::string, int> kernel_event_names;  // how many kernels share a name
  std::vector<std::unique_ptr<Met>> met_by_slot;
  std::vector<Met*> met;  // in order of first appearance
  std::int64_t next_index = 0;
  std::unordered_map<const record::EventRecord*, Met*> met_of_event;
  std::vector<Target> targets;
  schedule::Plan plan;
  std::vector<std::string> never_met;
  std::size_t next_sampled = 0;  // whose turn it is in a run without iterations
  int draining_iterations = 0;
};

// Null before the first GPU call, and in a forked child.
[[nodiscard]] State* state() noexcept;

// discovery.cpp; with the mutex held.
[[nodiscard]] timer::ContextTimer* timer_of(State& state, CUcontext context);
[[nodiscard]] StreamInfo* stream_of(State& state, CUstream stream);
[[nodiscard]] Met* met_label(State& state, Label& label, CUstream stream);
record::EventRecord* add_event(State& state, Met& met, int occurrence);  // null: the list is full
void fold_counts(State& state);  // an iteration ends: counts go to the totals
[[nodiscard]] StreamInfo* busiest_stream(State& state, const timer::ContextTimer& timer);

// discovery.cpp; takes the mutex.
void meet(State& state, const Launch& launch);

// without_iterations.cpp; with the mutex held.
void begin_without_iterations(State& state);
void sample_from_now_on(State& state, Met& met);
void list_unsampled(
    State& state);  // the run was too short for samples: what it launched, and how often
[[nodiscard]] std::uint32_t launches_to_next_sample(const Met& met);
void leave_without_iterations(State& state);
void choose_next_sample(State& state);

// planning.cpp; with the mutex held.
void make_plan(State& state);
void count_host_bytes(State& state);
// Says it, and writes it into prof.json.  After profiling went off the file is the only place for
// words: the one line has been said.
void warn(State& state, std::string warning);

// arming.cpp; with the mutex held.
void arm(State& state, std::size_t target, std::int64_t iteration);
void disarm() noexcept;

}  // namespace inline_prof::hook
