// Kernels inside graphs are measured one after the other, after the schedule's other events.  For
// each, the writer's thread builds a clone of the graph with events around the kernel.  The clone's
// first replays are dropped, the next ones are samples, and it is destroyed before the next
// kernel's is built.
#pragma once

#include "graphs/graph_clone.hpp"
#include "hook/launch.hpp"
#include "schedule/request.hpp"
#include "timer/context_timer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace inline_prof::session {

class Session;
struct LaunchSite;

class GraphMeasurement {
 public:
  explicit GraphMeasurement(Session& session) : session_(session) {}

  // With the session's mutex held.

  // `targets` are kernels inside graphs, in the order in which they are measured.
  void plan(const std::vector<std::size_t>& targets);
  // Another phase begins: nothing is measured until the next plan.
  void pause();
  // The target whose clone is launched in the iteration that begins; none while a clone is being
  // built.
  [[nodiscard]] std::optional<std::size_t> next();
  // A watched run measures a few further samples of this kernel, after those of the last one:
  // called instead of next() in iterations that may measure it.
  [[nodiscard]] std::optional<std::size_t> visit(std::size_t target);
  // All samples are recorded: the last clone is destroyed as well.
  void finish();

  // Without the mutex.

  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

  // A graph launch that the schedule has chosen, before it reaches the driver: `event` is a kernel
  // inside `graph`, which is launched on `stream`.  The ticket has no pair for a warm-up replay.
  // If it has a clone, the caller must call after_replay().
  [[nodiscard]] hook::LaunchTicket before_replay(const graphs::ExecutableGraph& graph,
                                                 CUstream stream, record::EventRecord& event,
                                                 timer::ContextTimer& timer,
                                                 std::int64_t iteration);
  void after_replay(timer::ContextTimer::Pair* pair, bool launched);

  // Called on the writer's thread, every 10 ms or when there is work: builds and destroys clones.
  // False once there is nothing left to do.
  [[nodiscard]] bool tick();

 private:
  struct CloneRun {
    int attempts = 0;
    std::uint32_t samples_before = 0;
    std::size_t target = 0;
    record::EventRecord* event = nullptr;
    graphs::TimedNodes nodes{};
    CUcontext context = nullptr;
  };
  enum class Stage : int {
    kIdle,
    kOrdered,  // to be built by the writer's thread
    kReady,    // launched for warm-up and samples
    kRefused,  // it cannot be built; why_not_ says why
    kLeaving,  // to be destroyed by the writer's thread once the GPU has finished with it
    kLeft,
  };
  enum class Outlook { kGoesOn, kIsOver, kBeginsAgain };

  void begin_visit(std::size_t target);
  void add_runs(std::size_t target);
  [[nodiscard]] bool is_through() const;
  [[nodiscard]] Outlook outlook();
  void say_why_not(record::EventRecord& event, std::string why_not);
  void order();
  void leave(bool again);
  void build();
  [[nodiscard]] bool is_read(const CloneRun& clone_run) const;
  [[nodiscard]] bool is_read_by_now();

  Session& session_;
  graphs::LiveClone& clone_ = graphs::live_clone();

  // Written by the thread at an iteration's start and by the writer's thread in turn; `stage_` says
  // whose turn it is.
  std::vector<CloneRun> runs_;
  std::size_t current_ = 0;
  bool is_left_for_good_ = true;
  std::optional<std::size_t> visited_{};  // target
  std::atomic<bool> has_runs_{false};
  int idle_iterations_ = 0;
  std::uint32_t launched_before_ = 0;
  std::string why_not_;
  std::atomic<Stage> stage_{Stage::kIdle};

  std::atomic<int> warm_ups_left_{0};
  std::atomic<std::uint32_t> launched_{0};
  std::atomic<std::uint32_t> recorded_{0};
  std::atomic<int> refused_{0};  // consecutive refusals by the driver
  std::atomic<bool> is_over_{true};
};

// The events of a launched graph: one for each kernel in it, or for each library call and label of
// its capture; if that is impossible, one for the whole graph.  With the session's mutex held.
void meet_replay(Session& session, LaunchSite& site, const hook::Launch& launch,
                 std::uint32_t occurrence);
// Decides what becomes of each graph: events for its kernels, or one for the whole.
void settle_graphs(Session& session);

// The names of the events that the schedule lists; none if any event may be asked for.
[[nodiscard]] std::optional<std::unordered_set<std::string>> names_asked_for(
    const schedule::Request& request);

}  // namespace inline_prof::session
