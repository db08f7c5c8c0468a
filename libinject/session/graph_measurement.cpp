#include "session/graph_measurement.hpp"

#include "session/session.hpp"

#include <utility>

namespace inline_prof::session {
namespace {

// If a clone is ready and not launched in this many iterations, its kernel is given up: the program
// no longer launches that graph.
constexpr int kIdleIterations = 256;

// How often a measurement begins again because the application has changed or re-created its graph.
constexpr int kMostAttempts = 3;

constexpr int kMostRefusals = 16;

// A watched run takes so many samples with one clone, which costs as many warm-ups.
constexpr std::uint32_t kSamplesOfVisit = 16;

}  // namespace

bool GraphMeasurement::is_through() const {
  if (visited_) return recorded_.load(std::memory_order_relaxed) >= kSamplesOfVisit;
  return runs_[current_].samples_before + recorded_.load(std::memory_order_relaxed) >=
         static_cast<std::uint32_t>(session_.settings.repeat);
}

// Called at an iteration's start, with a clone that is ready.
GraphMeasurement::Outlook GraphMeasurement::outlook() {
  const CloneRun& clone_run = runs_[current_];
  if (is_through()) return Outlook::kIsOver;
  if (!clone_.may_be_fresh()) {
    if (clone_run.attempts < kMostAttempts) return Outlook::kBeginsAgain;
    if (clone_run.event->sample_count() == 0 && recorded_.load() == 0) {
      say_why_not(*clone_run.event, graphs::kChanged);
    }
    return Outlook::kIsOver;
  }
  if (refused_.load(std::memory_order_relaxed) >= kMostRefusals) {
    say_why_not(*clone_run.event, "cuGraphExecEventRecordNodeSetEvent fails");
    return Outlook::kIsOver;
  }
  const auto launched = launched_.load(std::memory_order_relaxed);
  idle_iterations_ = launched == launched_before_ ? idle_iterations_ + 1 : 0;
  launched_before_ = launched;
  if (idle_iterations_ < kIdleIterations) return Outlook::kGoesOn;
  if (clone_run.event->sample_count() == 0) {
    say_why_not(*clone_run.event, "the program replays the graph no more");
  }
  return Outlook::kIsOver;
}

void GraphMeasurement::build() {
  const std::lock_guard lock(clone_.building);
  if (stage_.load(std::memory_order_acquire) != Stage::kOrdered) return;
  const CloneRun clone_run = runs_[current_];
  why_not_ = clone_.build(clone_run.nodes, clone_run.context, clone_run.event);
  stage_.store(why_not_.empty() ? Stage::kReady : Stage::kRefused, std::memory_order_release);
}

void GraphMeasurement::after_replay(timer::ContextTimer::Pair* pair, bool launched) {
  if (pair != nullptr && launched) {
    pair->timer->hand_over(*pair);
    recorded_.fetch_add(1, std::memory_order_relaxed);
  } else if (pair != nullptr) {
    pair->timer->abandon(*pair);
  }
  clone_.give_back();
}

void GraphMeasurement::say_why_not(record::EventRecord& event, std::string why_not) {
  if (visited_) return;  // it has samples
  const std::lock_guard lock(session_.run.mutex);
  event.add_flag(record::Flag::kNotMeasurable);
  event.reason = std::move(why_not);
}

void GraphMeasurement::order() {
  CloneRun& clone_run = runs_[current_];
  ++clone_run.attempts;
  clone_run.samples_before = clone_run.event->sample_count();
  clone_run.event->reserve(static_cast<std::uint32_t>(session_.settings.repeat));
  idle_iterations_ = 0;
  launched_before_ = 0;
  launched_.store(0);
  recorded_.store(0);
  refused_.store(0);
  warm_ups_left_.store(static_cast<int>(session_.config.graph_warmup));
  stage_.store(Stage::kOrdered, std::memory_order_release);
  session_.writer->nudge();
}

// Ends the measurement of this kernel, because it is complete or impossible; or starts it again.
void GraphMeasurement::leave(bool again) {
  is_left_for_good_ = !again;
  if (!again && current_ + 1 == runs_.size() && !visited_) {
    is_over_ = true;  // this clone stays for the overhead measurement
    return;
  }
  stage_.store(Stage::kLeaving, std::memory_order_release);
  session_.writer->nudge();
}

// True once every pair has been read, which means that the GPU has finished with the clone.
bool GraphMeasurement::is_read(const CloneRun& clone_run) const {
  for (const timer::ContextTimer& timer : session_.contexts.timers()) {
    if (timer.context() != clone_run.context || !timer.is_alive()) continue;
    if (visited_ ? timer.has_pair_of(*clone_run.event) : timer.pending() > 0) return false;
  }
  return true;
}

// On the writer's thread, while other threads may add contexts.
bool GraphMeasurement::is_read_by_now() {
  const std::lock_guard lock(session_.mutex);
  return stage_.load() == Stage::kLeaving && is_read(runs_[current_]);
}

void GraphMeasurement::pause() {
  const std::lock_guard lock(clone_.building);
  stage_.store(Stage::kIdle, std::memory_order_release);
  clone_.destroy();
  runs_.clear();
  visited_.reset();
  current_ = 0;
  is_over_ = true;
}

void GraphMeasurement::add_runs(std::size_t target) {
  const auto repeat = static_cast<std::uint32_t>(session_.settings.repeat);
  for (record::EventRecord* event : session_.phases.course().targets[target].events) {
    const LaunchSite* site = session_.sites.of_event(event);
    if (site == nullptr || event->has(record::Flag::kNotMeasurable) ||
        (!visited_ && event->sample_count() >= repeat)) {
      continue;
    }
    runs_.push_back({.target = target,
                     .event = event,
                     .nodes = {.graph = site->graph,
                               .first = static_cast<std::size_t>(event->first_node),
                               .last = static_cast<std::size_t>(event->last_node)},
                     .context = site->stream->timer->context()});
  }
}

void GraphMeasurement::plan(const std::vector<std::size_t>& targets) {
  const std::lock_guard lock(clone_.building);
  for (const std::size_t target : targets)
    add_runs(target);
  is_over_ = runs_.empty();
  has_runs_.store(!runs_.empty(), std::memory_order_release);
}

void GraphMeasurement::begin_visit(std::size_t target) {
  const std::lock_guard lock(clone_.building);
  runs_.clear();
  current_ = 0;
  visited_ = target;
  stage_.store(Stage::kIdle, std::memory_order_release);
  add_runs(target);
  is_over_ = runs_.empty();
  has_runs_.store(!runs_.empty(), std::memory_order_release);
}

std::optional<std::size_t> GraphMeasurement::visit(std::size_t target) {
  if (visited_ == target) return next();
  switch (stage_.load(std::memory_order_acquire)) {
    case Stage::kReady:
      leave(false);
      return std::nullopt;
    case Stage::kOrdered:
      return std::nullopt;
    case Stage::kLeaving:
      session_.writer->nudge();
      return std::nullopt;
    default:
      begin_visit(target);
      return next();
  }
}

std::optional<std::size_t> GraphMeasurement::next() {
  while (!is_over_) {
    CloneRun& clone_run = runs_[current_];
    switch (stage_.load(std::memory_order_acquire)) {
      case Stage::kIdle:
        order();
        return std::nullopt;
      case Stage::kOrdered:
        return std::nullopt;
      case Stage::kLeaving:
        if (is_read(clone_run)) session_.writer->nudge();
        return std::nullopt;
      case Stage::kLeft:
        if (is_left_for_good_) ++current_;
        stage_.store(Stage::kIdle, std::memory_order_release);
        is_over_ = current_ == runs_.size();
        break;
      case Stage::kReady:
        switch (outlook()) {
          case Outlook::kGoesOn:
            return clone_run.target;
          case Outlook::kIsOver:
            leave(false);
            break;
          case Outlook::kBeginsAgain:
            leave(true);
            break;
        }
        break;
      case Stage::kRefused:
        say_why_not(*clone_run.event, why_not_);
        stage_.store(Stage::kIdle, std::memory_order_release);
        is_over_ = ++current_ == runs_.size();
        break;
    }
  }
  return std::nullopt;
}

void GraphMeasurement::finish() {
  const std::lock_guard lock(clone_.building);
  is_over_ = true;
  stage_.store(Stage::kIdle, std::memory_order_release);
  clone_.destroy();
  graphs::give_all_copies_up();
}

hook::LaunchTicket GraphMeasurement::before_replay(const graphs::ExecutableGraph& graph,
                                                   CUstream stream, record::EventRecord& event,
                                                   timer::ContextTimer& timer,
                                                   std::int64_t iteration) {
  if (stage_.load(std::memory_order_acquire) != Stage::kReady) return {};
  bool is_stale = false;
  graphs::GraphClone* clone = clone_.take(graph, event, is_stale);
  if (is_stale) session_.run.dropped.stale_graph.fetch_add(1);
  if (clone == nullptr) return {};
  hook::LaunchTicket ticket{.kind = hook::LaunchTicket::Kind::kReplay, .clone = clone->exec()};
  if (warm_ups_left_.load(std::memory_order_relaxed) > 0) {
    warm_ups_left_.fetch_sub(1, std::memory_order_relaxed);
    launched_.fetch_add(1, std::memory_order_relaxed);
    return ticket;
  }
  const auto result = timer.take_for_replay(stream, event, iteration, ticket.pair);
  if (result != timer::ContextTimer::BeginResult::kOk) session_.count_refusal(result);
  if (ticket.pair != nullptr && !clone->set_events(ticket.pair->start, ticket.pair->stop)) {
    timer.abandon(*ticket.pair);
    ticket.pair = nullptr;
    refused_.fetch_add(1, std::memory_order_relaxed);
  }
  if (ticket.pair == nullptr) {
    clone_.give_back();
    return {};
  }
  refused_.store(0, std::memory_order_relaxed);
  launched_.fetch_add(1, std::memory_order_relaxed);
  return ticket;
}

bool GraphMeasurement::tick() {
  switch (stage_.load(std::memory_order_acquire)) {
    case Stage::kOrdered:
      build();
      break;
    case Stage::kLeaving:
      if (is_read_by_now()) {
        const std::lock_guard lock(clone_.building);
        if (stage_.load() != Stage::kLeaving) break;
        clone_.destroy();
        stage_.store(Stage::kLeft, std::memory_order_release);
      }
      break;
    default:
      break;
  }
  return has_runs_.load(std::memory_order_acquire) && !is_over_;
}

}  // namespace inline_prof::session
