#include "session/graph_measurement.hpp"

#include "labels/layer_path.hpp"
#include "launch/copies.hpp"
#include "session/session.hpp"

#include <algorithm>
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

// A quarter of the list's capacity; 8 MiB.
constexpr std::size_t kMostInGraphs = record::EventList::kCapacity / 4;

constexpr const char* kWithOverlap =
    "its kernels overlap (programmatic edges); timed one by one they do not";

// `next` depends on `node` alone, and nothing else depends on `node`.
bool is_chain(const graphs::GraphNode& node, const graphs::GraphNode& next) {
  if (node.copy == nullptr || next.copy == nullptr) return false;
  graphs::Edges before;
  graphs::Edges after;
  return graphs::edges_to(next.copy, before) == CUDA_SUCCESS && before.size() == 1 &&
         before.nodes.front() == node.copy &&
         graphs::edges_from(node.copy, after) == CUDA_SUCCESS && after.size() == 1;
}

// The index of the last node that one library call or label launched from `first` on, if these form
// a chain.
std::size_t end_of_call(const std::vector<graphs::GraphNode>& nodes, std::size_t first) {
  const auto& notes = nodes[first].notes;
  std::size_t last = first;
  if (!notes || notes->event_name.empty()) return last;
  while (last + 1 < nodes.size() && nodes[last + 1].is_work() && nodes[last + 1].notes == notes &&
         is_chain(nodes[last], nodes[last + 1]))
    ++last;
  return last;
}

// A call whose kernels do not form a chain cannot be one event.
bool is_whole_call(const std::vector<graphs::GraphNode>& nodes, std::size_t first,
                   std::size_t last) {
  const auto& notes = nodes[first].notes;
  if (!notes || notes->event_name.empty()) return false;
  const auto same = [&](const graphs::GraphNode& node) { return node.notes == notes; };
  return !std::any_of(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(first), same) &&
         !std::any_of(nodes.begin() + static_cast<std::ptrdiff_t>(last) + 1, nodes.end(), same);
}

class Meeting {
 public:
  Meeting(Session& session, LaunchSite& site, std::uint32_t occurrence)
      : session_(session), site_(site), occurrence_(occurrence), layer_(labels::current_layer()) {}

  // The event of the whole graph encloses those of its parts.
  void meet() {
    record::EventRecord* whole = add("graph_" + std::to_string(site_.graph->number));
    if (whole == nullptr) return;
    whole->add_flag(record::Flag::kGraphWhole);
    describe_by_xla(*whole, {});
    whole->start_index = session_.discovery.next_index();
    const auto& nodes = site_.graph->nodes;
    if (site_.graph->why_whole.empty()) {
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].is_work())
          i = add_kernels(i);
        else if (nodes[i].child_kernels > 0)
          add_child(i);
      }
    }
    for (const graphs::GraphNode& node : nodes) {
      if (node.is_work()) add_kernel_name(*whole, session_.sites.kernel_of(node.function)->name);
    }
    whole->end_index = session_.discovery.next_index();
    site_.events[occurrence_] = whole;
  }

 private:
  // An event of this graph launch on its stream; null if the list is full.
  record::EventRecord* add(std::string name) {
    auto event = std::make_unique<record::EventRecord>();
    event->occurrence = session_.discovery.next_occurrence(name, *site_.stream);
    event->event_name = std::move(name);
    event->layer_name = layer_;
    return session_.discovery.add(std::move(event), site_, occurrence_);
  }

  // Returns the index of the last node of the event that begins at `first`.
  std::size_t add_kernels(std::size_t first) {
    const auto& nodes = site_.graph->nodes;
    const graphs::GraphNode& node = nodes[first];
    const KernelInfo& kernel = *session_.sites.kernel_of(node.function);
    std::size_t last = end_of_call(nodes, first);
    const bool is_call = is_whole_call(nodes, first, last);
    if (!is_call) last = first;
    int occurrence = 0;
    record::EventRecord* event =
        add(is_call ? node.notes->event_name
                    : session_.discovery.event_name_of(kernel, *site_.stream, occurrence));
    if (event == nullptr) return last;
    if (!is_call) event->occurrence = occurrence;
    event->add_flag(record::Flag::kGraphNode);
    note_overlap(*event, nodes[first].copy, nodes[last].copy);
    event->first_node = static_cast<int>(first);
    event->last_node = static_cast<int>(last);
    if (node.notes && !node.notes->layer.empty()) event->layer_name = node.notes->layer;
    if (node.notes && node.notes->of_call) OperatorLearning::describe(*event, *node.notes->of_call);
    if (node.notes && !is_call && !node.notes->event_name.empty()) {
      std::string& layer = event->layer_name;
      layer.append(layer.empty() ? "" : ".").append(node.notes->event_name);
    }
    if (node.notes && node.notes->op && (is_call || node.notes->event_name.empty()))
      event->op = std::make_unique<record::Op>(*node.notes->op);
    describe_by_xla(*event, kernel.name);
    for (std::size_t i = first; i <= last; ++i)
      add_kernel_name(*event, session_.sites.kernel_of(nodes[i].function)->name);
    if (first == last && !node.is_kernel()) {
      event->is_copy = true;
      if (event->op == nullptr)
        event->op = std::make_unique<record::Op>(launch::op_of(node.copied, "graph"));
    } else if (first == last) {
      event->shape = record::LaunchShape{.grid = node.grid,
                                         .block = node.block,
                                         .dynamic_shared_bytes = node.dynamic_shared_bytes,
                                         .static_shared_bytes = kernel.static_shared_bytes,
                                         .registers = kernel.registers};
    }
    session_.discovery.set_indices(*event);
    return last;
  }

  // An event between a kernel and its neighbours ends their overlap.
  void note_overlap(record::EventRecord& event, CUgraphNode first, CUgraphNode last) {
    graphs::Edges before;
    graphs::Edges after;
    if (first == nullptr || last == nullptr || graphs::edges_to(first, before) != CUDA_SUCCESS ||
        graphs::edges_from(last, after) != CUDA_SUCCESS || (before.are_full() && after.are_full()))
      return;
    site_.graph->overlaps = true;
    if (before.can_be_full() && after.can_be_full()) event.add_flag(record::Flag::kPdlRemoved);
  }

  // CUDA does not say which node of a clone corresponds to a node of a child graph.
  void add_child(std::size_t place) {
    record::EventRecord* event = add("graph_" + std::to_string(site_.graph->number) + ".child");
    if (event == nullptr) return;
    event->add_flag(record::Flag::kGraphChild);
    event->first_node = event->last_node = static_cast<int>(place);
    event->reason = "the kernels of a graph inside a graph are timed together";
    session_.discovery.set_indices(*event);
  }

  Session& session_;
  LaunchSite& site_;
  std::uint32_t occurrence_;
  std::string layer_;
};

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
    if (clone_run.event->sample_count() == 0 && recorded_.load() == 0)
      say_why_not(*clone_run.event, graphs::kChanged);
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
  if (clone_run.event->sample_count() == 0)
    say_why_not(*clone_run.event, "the program replays the graph no more");
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
        (!visited_ && event->sample_count() >= repeat))
      continue;
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

std::optional<std::unordered_set<std::string>> names_asked_for(const schedule::Request& request) {
  std::unordered_set<std::string> names;
  if (const auto* list = std::get_if<schedule::EventNames>(&request)) {
    names.insert(list->names.begin(), list->names.end());
  } else if (const auto* samples = std::get_if<schedule::SampleList>(&request)) {
    for (const schedule::Sample& sample : samples->samples)
      names.insert(sample.key.event);
  } else if (const auto* spec = std::get_if<schedule::Spec>(&request)) {
    // Patterns are matched once the events are known.
    if (!schedule::asks_for_events(*spec) || !spec->patterns.empty()) return std::nullopt;
    for (const schedule::EventKey& key : schedule::listed_events(*spec))
      names.insert(key.event);
  } else {
    return std::nullopt;
  }
  return names;
}

void meet_replay(Session& session, LaunchSite& site, const hook::Launch& launch,
                 std::uint32_t occurrence) {
  const std::lock_guard lock(graphs::mutex());
  graphs::ExecutableGraph& graph = *site.graph;
  if (graph.stream == nullptr) graph.stream = launch.stream;
  if (graph.stream != launch.stream && graph.why_whole.empty())
    graph.why_whole = "it is replayed on several streams";
  if (graph.why_whole.empty() && session.run.events.size() + graph.nodes.size() > kMostInGraphs)
    graph.why_whole = "there are more kernels in graphs than there is room for";
  Meeting(session, site, occurrence).meet();
}

void settle_graphs(Session& session) {
  const std::lock_guard lock(graphs::mutex());
  const bool only_whole = session.settings.mode != schedule::Mode::kFineGrained;
  const auto why_whole = [&](graphs::ExecutableGraph& graph) -> const std::string& {
    if (only_whole && graph.why_whole.empty())
      graph.why_whole = "kernels inside graphs are timed in mode fine_grained";
    if (graph.times_made > graphs::kOftenMade && graph.why_whole.empty())
      graph.why_whole = graphs::kMadeAnew;
    return graph.why_whole;
  };
  for (record::EventRecord& event : session.run.events) {
    if (event.phase != session.phases.index() || !event.has(record::Flag::kGraphWhole)) continue;
    graphs::ExecutableGraph& graph = *session.sites.of_event(&event)->graph;
    event.reason = why_whole(graph).empty() ? kWithOverlap : why_whole(graph);
  }
  session.sites.forget_events([&](const record::EventRecord& event) {
    graphs::ExecutableGraph* graph = session.sites.of_event(&event)->graph;
    if (graph == nullptr) return false;
    if (!why_whole(*graph).empty()) return event.is_inside_graph();
    return event.has(record::Flag::kGraphWhole) && !graph->overlaps;
  });
}

}  // namespace inline_prof::session
