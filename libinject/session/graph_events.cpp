#include "session/graph_events.hpp"

#include "graphs/graph_clone.hpp"
#include "labels/layer_path.hpp"
#include "launch/copies.hpp"
#include "session/session.hpp"

#include <algorithm>

namespace inline_prof::session {
namespace {

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
         is_chain(nodes[last], nodes[last + 1])) {
    ++last;
  }
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
        graphs::edges_from(last, after) != CUDA_SUCCESS ||
        (before.are_full() && after.are_full())) {
      return;
    }
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
  if (graph.stream != launch.stream && graph.why_whole.empty()) {
    graph.why_whole = "it is replayed on several streams";
  }
  if (graph.why_whole.empty() && session.run.events.size() + graph.nodes.size() > kMostInGraphs) {
    graph.why_whole = "there are more kernels in graphs than there is room for";
  }
  Meeting(session, site, occurrence).meet();
}

void settle_graphs(Session& session) {
  const std::lock_guard lock(graphs::mutex());
  const bool only_whole = session.settings.mode != schedule::Mode::kFineGrained;
  const auto why_whole = [&](graphs::ExecutableGraph& graph) -> const std::string& {
    if (only_whole && graph.why_whole.empty()) {
      graph.why_whole = "kernels inside graphs are timed in mode fine_grained";
    }
    if (graph.times_made > graphs::kOftenMade && graph.why_whole.empty()) {
      graph.why_whole = graphs::kMadeAnew;
    }
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
