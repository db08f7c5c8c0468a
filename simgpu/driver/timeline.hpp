// Virtual time: streams as queues of operations, and the engine that runs them.
//
// An operation normally runs when it is submitted: its start and end are known then, since kernel
// times come from the model and not from real work.  Only an operation that waits for the host
// (cuStreamWaitValue32), and whatever is ordered behind one, stays in its stream's queue; pump()
// tries those again at every API call.
#pragma once

#include "driver/host_clock.hpp"
#include "driver/model.hpp"
#include "driver/vendor_cuda.hpp"
#include "simgpu.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace simgpu {

struct Context;
struct Capture;
struct Node;

// The end of an operation, shared with whoever waits for it.
struct Completion {
  bool done = false;
  Nanoseconds end = 0;  // valid if done
};
using CompletionPtr = std::shared_ptr<Completion>;

// A condition on a word of host-visible memory.
struct ValueWait {
  CUdeviceptr address = 0;
  std::uint64_t value = 0;
  bool is_64_bit = false;
  unsigned flags = 0;  // CUstreamWaitValue_flags

  [[nodiscard]] bool satisfied() const;
};

// A call into the application (cuLaunchHostFunc), made by a thread of the simulator: the host's
// function may take a lock that the thread which launches it holds.
struct HostCall {
  CUhostFn function = nullptr;
  void* data = nullptr;
  std::atomic<bool> returned{false};
};

// The nodes that the next captured node of a stream follows, by edges with this data.
// Two arrays, because cuStreamGetCaptureInfo hands both out.
struct CaptureFront {
  std::vector<Node*> nodes;
  std::vector<CUgraphEdgeData> data;

  void clear();
  void set(Node& node);
  // An edge from a node that is there already is not doubled.
  void add(Node& node, const CUgraphEdgeData& edge);
};

// One rank's part of a collective kernel (simgpu.h): when it ends is known once all have begun.
class Meeting {
 public:
  explicit Meeting(const simgpu_meeting& contract) : contract_(contract) {}
  ~Meeting() { contract_.leave(contract_.state); }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // The kernel is at the head of its stream since `now`.  True once everybody is there; asked again
  // until then, the first answer to "when" holds.
  [[nodiscard]] bool is_complete(Nanoseconds now);
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  [[nodiscard]] Nanoseconds begun() const { return begun_; }
  [[nodiscard]] Nanoseconds all_there() const { return all_there_; }

  bool is_given_up = false;  // a query has waited for it in vain: the next ones do not

 private:
  simgpu_meeting contract_;
  bool has_begun_ = false;
  std::int64_t begun_ = 0;
  std::int64_t all_there_ = 0;
};

// A captured collective: each launch of its graph is a meeting of its own.
class MeetingSource {
 public:
  explicit MeetingSource(const simgpu_meeting& contract) : contract_(contract) {}
  ~MeetingSource() { contract_.leave(contract_.state); }
  MeetingSource(const MeetingSource&) = delete;
  MeetingSource& operator=(const MeetingSource&) = delete;

  [[nodiscard]] std::shared_ptr<Meeting> next() const;

 private:
  simgpu_meeting contract_;
};

class GraphRun;

struct Operation {
  Nanoseconds not_before = 0;          // submitted then; ends of what it depends on are folded in
  std::vector<CompletionPtr> after{};  // dependencies whose end is not known yet
  std::optional<ValueWait> wait{};
  bool wait_was_unsatisfied = false;  // looked at once already: it ends when the word changes
  std::shared_ptr<HostCall> host_call{};
  bool host_call_started = false;
  std::shared_ptr<Meeting> meeting{};
  std::shared_ptr<GraphRun> graph{};  // a launched graph, which ends when its nodes have
  std::function<Nanoseconds(Nanoseconds start)> run{};  // returns the end; null: takes no time
  CompletionPtr completion{};                           // may be null

  // Folds the ends that have become known into not_before.  True if nothing is left to wait for.
  bool dependencies_known();
};

enum class StreamKind { kLegacy, kPerThread, kCreated };

// Kernels of one rule, one after the other without a pause.
struct KernelsInARow {
  const Rule* rule = nullptr;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;

  // Returns how much longer the next kernel takes, which follows rule `next` and begins at `start`.
  [[nodiscard]] double droop(const Rule& next, Nanoseconds start) {
    constexpr Nanoseconds pause = 20'000;
    if (rule != &next || start > end + pause) {
      rule = &next;
      begin = start;
    }
    return start - begin >= from_microseconds(next.droop_after_us) ? next.droop : 1;
  }
};

struct Stream {
  Context* context = nullptr;
  StreamKind kind = StreamKind::kCreated;
  unsigned flags = 0;
  int priority = 0;
  int ordinal = 0;  // creation order on the device, the legacy stream is 0
  unsigned long long id = 0;

  Nanoseconds tail = 0;                    // end of the last operation that has run
  std::deque<Operation> queue;             // submitted, not yet run
  std::deque<Nanoseconds> launches_ahead;  // ends of launches the host has not yet seen finished
  std::uint64_t launch_ordinal = 0;
  KernelsInARow row;
  std::uint64_t record_ordinal = 0;
  bool kernel_since_record = false;
  Nanoseconds kernel_begin = 0;  // of the last kernel
  Nanoseconds kernel_end = 0;

  std::shared_ptr<Capture> capture;
  CaptureFront capture_front;

  // CUDA Runtime API, "Stream synchronization behavior": the legacy stream synchronises with every
  // stream of its context that was not created with the non-blocking flag, also with the per-thread
  // default streams.
  [[nodiscard]] bool is_blocking() const {
    return kind != StreamKind::kLegacy && (flags & CU_STREAM_NON_BLOCKING) == 0;
  }
};

class Engine {
 public:
  HostClock host_clock;

  explicit Engine(const Settings& settings) : host_clock(settings) {}

  [[nodiscard]] Nanoseconds host_now() const { return host_clock.now(); }

  // Puts `operation` behind what the stream holds, and behind what the rules of the legacy stream
  // put before it; runs it if that is all known.
  void submit(Stream& stream, Operation operation);

  // Runs what can run.  Called at every API call, because a plain store of the host may have
  // released a waiting stream meanwhile.
  void pump();

  // Folds "after everything that is in `stream` now" into `operation`.
  static void order_after(Stream& stream, Operation& operation);

  // Everything submitted to `stream` has run, and at which time it ended.
  [[nodiscard]] static bool has_run(const Stream& stream) { return stream.queue.empty(); }

  // A stream has written to `address` at device time `at`: waits that this satisfies continue from
  // there, not from the host's clock.
  void note_device_write(CUdeviceptr address, Nanoseconds at);

  // The collectives that have begun and wait for others.
  [[nodiscard]] std::vector<Meeting*> open_meetings() const;

  // Drops what is queued; for streams that are destroyed.
  void forget(Stream& stream);

 private:
  bool run_head(Stream& stream);
  static void run(Stream& stream, Operation& operation, Nanoseconds start);

  std::vector<Stream*> waiting_;  // streams with a queue, in the order in which they got one
};

}  // namespace simgpu
