#include "graphs/clone_measurement.hpp"

#include "session/armed_event.hpp"
#include "session/state.hpp"
#include "sys/lifecycle.hpp"

#include <thread>
#include <utility>

namespace inline_prof::hook::clone_measurement {
namespace {

// If a clone is ready and not launched in this many iterations, its kernel is given up: the program
// no longer launches that graph.
constexpr int kIdleIterations = 256;

// How often a measurement begins again because the application has changed or re-created its graph.
constexpr int kMostAttempts = 3;

constexpr int kMostRefusals = 16;

constexpr const char* kChanged = "the program changed or destroyed the graph meanwhile";

// How often a mirrored change waits for a launch of the clone that another thread is making.
constexpr int kMostWaits = 1000;

struct CloneRun {
  int attempts = 0;
  std::uint32_t samples_before = 0;
  std::size_t target = 0;
  record::EventRecord* event = nullptr;
  TimedNodes nodes{};
  CUcontext context = nullptr;
};

enum class Stage : int {
  kIdle,
  kOrdered,  // to be built by the writer's thread
  kReady,    // launched for warm-up and samples
  kRefused,  // it cannot be built; `why_not` says why
  kLeaving,  // to be destroyed by the writer's thread once the GPU has finished with it
  kLeft,
};

// Written by the thread at an iteration's start and by the writer's thread in turn; `stage` says
// whose turn it is.
struct Controller {
  std::vector<CloneRun> runs;
  std::size_t current = 0;
  bool is_left_for_good = true;
  std::atomic<bool> has_runs{false};
  int idle_iterations = 0;
  std::uint32_t launched_before = 0;

  std::atomic<Stage> stage{Stage::kIdle};
  std::string why_not;
  std::atomic<int> warm_ups_left{0};
  std::atomic<std::uint32_t> launched{0};
  std::atomic<std::uint32_t> recorded{0};
  std::atomic<int> refused{0};  // consecutive refusals by the driver
  std::atomic<bool> is_over{false};

  // Held while a copy is built or destroyed.
  std::mutex building;
  std::atomic<GraphClone*> live{nullptr};
  std::atomic<record::EventRecord*> live_event{nullptr};
  std::atomic_flag in_use = ATOMIC_FLAG_INIT;  // by a launch, or by the thread that destroys it
};

Controller& controller() {
  static auto* const one = new Controller;  // never destroyed: hooks may run at exit
  return *one;
}

// With `building` held.  Waits for a launch in progress, which takes microseconds.
void destroy_live(Controller& all, bool context_is_gone) {
  GraphClone* clone = all.live.load(std::memory_order_acquire);
  if (clone == nullptr) return;
  while (all.in_use.test_and_set(std::memory_order_acquire))
    std::this_thread::yield();
  all.live.store(nullptr, std::memory_order_release);
  if (context_is_gone) clone->forget();
  delete clone;
  all.in_use.clear(std::memory_order_release);
}

void say_why_not(State& state, record::EventRecord& event, std::string why_not) {
  const std::lock_guard lock(state.run.mutex);
  event.add_flag(record::Flag::kNotMeasurable);
  event.reason = std::move(why_not);
}

void order(State& state, Controller& all) {
  CloneRun& clone_run = all.runs[all.current];
  ++clone_run.attempts;
  clone_run.samples_before = clone_run.event->sample_count();
  clone_run.event->reserve(static_cast<std::uint32_t>(state.settings.repeat));
  all.idle_iterations = 0;
  all.launched_before = 0;
  all.launched.store(0);
  all.recorded.store(0);
  all.refused.store(0);
  all.warm_ups_left.store(static_cast<int>(state.config.graph_warmup));
  all.stage.store(Stage::kOrdered, std::memory_order_release);
  state.writer->nudge();
}

// Ends the measurement of this kernel, because it is complete or impossible; or starts it again.
void leave(State& state, Controller& all, bool again) {
  all.is_left_for_good = !again;
  if (!again && all.current + 1 == all.runs.size()) {
    all.is_over = true;  // this clone stays for the overhead measurement
    return;
  }
  all.stage.store(Stage::kLeaving, std::memory_order_release);
  state.writer->nudge();
}

bool is_through(const Controller& all, const State& state) {
  return all.runs[all.current].samples_before + all.recorded.load(std::memory_order_relaxed) >=
         static_cast<std::uint32_t>(state.settings.repeat);
}

// Another thread may be about to launch or destroy it; then the next iteration tries again.
bool has_fresh_copy(Controller& all) {
  if (all.in_use.test_and_set(std::memory_order_acquire)) return true;
  const GraphClone* clone = all.live.load(std::memory_order_acquire);
  const bool is_fresh = clone != nullptr && clone->is_fresh();
  all.in_use.clear(std::memory_order_release);
  return is_fresh;
}

// Called at an iteration's start, with a clone that is ready: is there anything left to measure?
enum class Outlook { kGoesOn, kIsOver, kBeginsAgain };
Outlook outlook(State& state, Controller& all) {
  const CloneRun& clone_run = all.runs[all.current];
  if (is_through(all, state)) return Outlook::kIsOver;
  if (!has_fresh_copy(all)) {
    if (clone_run.attempts < kMostAttempts) return Outlook::kBeginsAgain;
    if (clone_run.event->sample_count() == 0 && all.recorded.load() == 0) {
      say_why_not(state, *clone_run.event, kChanged);
    }
    return Outlook::kIsOver;
  }
  if (all.refused.load(std::memory_order_relaxed) >= kMostRefusals) {
    say_why_not(state, *clone_run.event, "cuGraphExecEventRecordNodeSetEvent fails");
    return Outlook::kIsOver;
  }
  const auto launched = all.launched.load(std::memory_order_relaxed);
  all.idle_iterations = launched == all.launched_before ? all.idle_iterations + 1 : 0;
  all.launched_before = launched;
  if (all.idle_iterations < kIdleIterations) return Outlook::kGoesOn;
  if (clone_run.event->sample_count() == 0) {
    say_why_not(state, *clone_run.event, "the program replays the graph no more");
  }
  return Outlook::kIsOver;
}

void build(Controller& all) {
  const std::lock_guard lock(all.building);
  if (all.stage.load(std::memory_order_acquire) != Stage::kOrdered) return;
  const CloneRun clone_run = all.runs[all.current];
  std::string why_not;
  auto clone = GraphClone::build(clone_run.nodes, clone_run.context, why_not);
  if (clone == nullptr) {
    all.why_not = std::move(why_not);
    all.stage.store(Stage::kRefused, std::memory_order_release);
    return;
  }
  {
    // From here on the application's changes are mirrored to this clone as well, so that none is
    // missed.
    const std::lock_guard registry(graphs::mutex());
    if (!clone->catch_up()) {
      all.why_not = kChanged;
      all.stage.store(Stage::kRefused, std::memory_order_release);
      return;  // destroyed without either mutex
    }
    all.live_event.store(clone_run.event, std::memory_order_relaxed);
    all.live.store(clone.release(), std::memory_order_release);
  }
  all.stage.store(Stage::kReady, std::memory_order_release);
}

// True once every pair has been read, which means that the GPU has finished with the clone.
bool is_read(const State& state, const CloneRun& clone_run) {
  for (const timer::ContextTimer& timer : state.timers) {
    if (timer.context() == clone_run.context && timer.is_alive() && timer.pending() > 0)
      return false;
  }
  return true;
}

// On the writer's thread, while other threads may add contexts.
bool is_read_by_now(State& state, const Controller& all) {
  const std::lock_guard lock(state.mutex);
  return all.stage.load() == Stage::kLeaving && is_read(state, all.runs[all.current]);
}

}  // namespace

void pause(State& /*state*/) {
  Controller& all = controller();
  const std::lock_guard lock(all.building);
  all.stage.store(Stage::kIdle, std::memory_order_release);
  destroy_live(all, false);
  all.runs.clear();
  all.current = 0;
  all.is_over = true;
}

void plan(State& state, const std::vector<std::size_t>& targets) {
  Controller& all = controller();
  const std::lock_guard lock(all.building);
  const auto repeat = static_cast<std::uint32_t>(state.settings.repeat);
  for (const std::size_t target : targets) {
    for (record::EventRecord* event : state.targets[target].events) {
      const auto known = state.site_of_event.find(event);
      if (known == state.site_of_event.end() || event->has(record::Flag::kNotMeasurable) ||
          event->sample_count() >= repeat) {
        continue;
      }
      const LaunchSite& site = *known->second;
      all.runs.push_back({.target = target,
                          .event = event,
                          .nodes = {.graph = site.graph,
                                    .first = static_cast<std::size_t>(event->first_node),
                                    .last = static_cast<std::size_t>(event->last_node)},
                          .context = site.stream->timer->context()});
    }
  }
  all.is_over = all.runs.empty();
  all.has_runs.store(!all.runs.empty(), std::memory_order_release);
}

std::optional<std::size_t> next(State& state) {
  Controller& all = controller();
  while (!all.is_over) {
    CloneRun& clone_run = all.runs[all.current];
    switch (all.stage.load(std::memory_order_acquire)) {
      case Stage::kIdle:
        order(state, all);
        return std::nullopt;
      case Stage::kOrdered:
        return std::nullopt;
      case Stage::kLeaving:
        if (is_read(state, clone_run)) state.writer->nudge();
        return std::nullopt;
      case Stage::kLeft:
        if (all.is_left_for_good) ++all.current;
        all.stage.store(Stage::kIdle, std::memory_order_release);
        break;
      case Stage::kReady:
        switch (outlook(state, all)) {
          case Outlook::kGoesOn:
            return clone_run.target;
          case Outlook::kIsOver:
            leave(state, all, false);
            break;
          case Outlook::kBeginsAgain:
            leave(state, all, true);
            break;
        }
        break;
      case Stage::kRefused:
        say_why_not(state, *clone_run.event, all.why_not);
        all.stage.store(Stage::kIdle, std::memory_order_release);
        all.is_over = ++all.current == all.runs.size();
        break;
    }
  }
  return std::nullopt;
}

bool is_over(const State& /*state*/) {
  return controller().is_over;
}

void finish(State& /*state*/) {
  Controller& all = controller();
  const std::lock_guard lock(all.building);
  all.is_over = true;
  all.stage.store(Stage::kIdle, std::memory_order_release);
  destroy_live(all, false);
  graphs::give_all_copies_up();
}

Replay before_replay(State& state, ExecutableGraph& graph, CUstream stream,
                     record::EventRecord& event, timer::ContextTimer& timer,
                     std::int64_t iteration) {
  Controller& all = controller();
  if (all.stage.load(std::memory_order_acquire) != Stage::kReady ||
      all.in_use.test_and_set(std::memory_order_acquire)) {
    return {};
  }
  GraphClone* clone = all.live.load(std::memory_order_acquire);
  if (clone == nullptr || &clone->graph() != &graph ||
      all.live_event.load(std::memory_order_relaxed) != &event || !clone->is_fresh()) {
    if (clone != nullptr && !clone->is_fresh()) state.run.dropped.stale_graph.fetch_add(1);
    all.in_use.clear(std::memory_order_release);
    return {};
  }
  if (all.warm_ups_left.load(std::memory_order_relaxed) > 0) {
    all.warm_ups_left.fetch_sub(1, std::memory_order_relaxed);
    all.launched.fetch_add(1, std::memory_order_relaxed);
    return {.clone = clone, .pair = nullptr};
  }
  timer::ContextTimer::Pair* pair = nullptr;
  const auto result = timer.take_for_replay(stream, event, iteration, pair);
  if (result != timer::ContextTimer::BeginResult::kOk) count_refusal(state, result);
  if (pair != nullptr && !clone->set_events(pair->start, pair->stop)) {
    timer.abandon(*pair);
    pair = nullptr;
    all.refused.fetch_add(1, std::memory_order_relaxed);
  }
  if (pair == nullptr) {
    all.in_use.clear(std::memory_order_release);
    return {};
  }
  all.refused.store(0, std::memory_order_relaxed);
  all.launched.fetch_add(1, std::memory_order_relaxed);
  return {.clone = clone, .pair = pair};
}

void after_replay(const Replay& replay, bool launched) {
  Controller& all = controller();
  if (replay.pair != nullptr) {
    if (launched) {
      replay.pair->timer->hand_over(*replay.pair);
      all.recorded.fetch_add(1, std::memory_order_relaxed);
    } else {
      replay.pair->timer->abandon(*replay.pair);
    }
  }
  all.in_use.clear(std::memory_order_release);
}

bool tick(State& state) {
  Controller& all = controller();
  switch (all.stage.load(std::memory_order_acquire)) {
    case Stage::kOrdered:
      build(all);
      break;
    case Stage::kLeaving:
      if (is_read_by_now(state, all)) {
        const std::lock_guard lock(all.building);
        if (all.stage.load() != Stage::kLeaving) break;
        destroy_live(all, false);
        all.stage.store(Stage::kLeft, std::memory_order_release);
      }
      break;
    default:
      break;
  }
  return all.has_runs.load(std::memory_order_acquire) && !all.is_over;
}

void destroy_clone_of(ExecutableGraph& graph) {
  Controller& all = controller();
  if (!all.has_runs.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(all.building);
  const GraphClone* clone = all.live.load(std::memory_order_acquire);
  if (clone != nullptr && &clone->graph() == &graph) destroy_live(all, false);
}

void context_gone(CUcontext context) {
  Controller& all = controller();
  if (!all.has_runs.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(all.building);
  const GraphClone* clone = all.live.load(std::memory_order_acquire);
  if (clone != nullptr && clone->context() == context) destroy_live(all, true);
}

void mirror(ExecutableGraph& graph, CUgraphNode node,
            CUresult (*change)(CUgraphExec, CUgraphNode, void*), void* argument,
            Mirrored mirrored) {
  Controller& all = controller();
  for (int waits = 0; all.in_use.test_and_set(std::memory_order_acquire); ++waits) {
    if (waits == kMostWaits) return;  // stale from here on
    std::this_thread::yield();
  }
  GraphClone* clone = all.live.load(std::memory_order_acquire);
  if (clone != nullptr && &clone->graph() == &graph) {
    CUgraphNode clone_node = clone->clone_node_of(node);
    // A disabled kernel takes no time, and must not be sampled.
    const bool is_followed = clone_node != nullptr &&
                             (mirrored == Mirrored::kAlways || !clone->times(clone_node)) &&
                             change(clone->exec(), clone_node, argument) == CUDA_SUCCESS;
    if (is_followed) {
      clone->follow(graph.generation.load(std::memory_order_acquire));
    }
  }
  all.in_use.clear(std::memory_order_release);
}

}  // namespace inline_prof::hook::clone_measurement
