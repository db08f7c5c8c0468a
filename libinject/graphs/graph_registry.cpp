#include "graphs/graph_registry.hpp"

#include "graphs/graph_clone.hpp"
#include "hook/observer.hpp"
#include "launch/kernel_handles.hpp"
#include "launch/kernel_name.hpp"
#include "launch/launch_filter.hpp"
#include "sys/cuda_api.hpp"
#include "sys/handle_table.hpp"
#include "sys/large_stack.hpp"
#include "timer/driver_scope.hpp"

#include <algorithm>
#include <list>
#include <unordered_set>

namespace inline_prof::graphs {
namespace {

// Estimated size of a copied node; the driver does not tell it.
constexpr std::uint64_t kBytesPerNode = 1024;

// A graph that is changed more often than this is probably changed before each launch: copying it
// each time would slow the application down.
constexpr int kMostUpdates = 4;

constinit sys::HandleTable<CUgraphExec, ExecutableGraph, 4096> execs;

// So many graphs are followed at a time, destroyed ones of the same run among them.  A training
// program has one for each of its batch shapes; one that makes a graph of another shape in each
// step would fill the memory.
constexpr std::size_t kMostGraphs = 1024;

struct Registry {
  std::list<ExecutableGraph> all;
  int next_number = 0;
  // By signature: graphs whose execs the application has destroyed.
  std::unordered_multimap<std::uint64_t, ExecutableGraph*> vacant;
  std::unordered_map<CUgraph, bool> with_references;  // the application's graphs that hold some
  std::atomic<std::uint64_t> copied_nodes{0};
  int made_late = 0;  // graphs that are no others' successors, while something is measured
};

Registry& registry() {
  static auto* const graphs = new Registry;  // never destroyed: hooks may run at exit
  return *graphs;
}

// --- reading an application's graph

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 1099511628211ULL;  // FNV-1a, 8 bytes at a time
}

bool nodes_of(CUgraph graph, std::vector<CUgraphNode>& nodes) {
  std::size_t count = 0;
  const auto& api = sys::graph_api();
  if (api.get_nodes == nullptr || api.get_nodes(graph, nullptr, &count) != CUDA_SUCCESS) {
    return false;
  }
  nodes.resize(count);
  if (count > 0 && api.get_nodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return false;
  nodes.resize(std::min(count, nodes.size()));
  return true;
}

// A graph's nodes, read without the registry's mutex.
struct Reading {
  std::vector<CUgraphNode> handles;
  std::vector<GraphNode> nodes;
  std::uint64_t signature = 14695981039346656037ULL;
  std::uint32_t kernels = 0;
  bool is_collective = false;
  std::string why_whole;
};

// Kernels of a child graph, including nested ones.
int kernels_inside(CUgraphNode node, std::string& why_whole);

void read_kernel(CUgraphNode handle, GraphNode& node, Reading& reading) {
  const auto& api = sys::graph_api();
  CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
  if (api.get_kernel == nullptr || api.get_kernel(handle, &parameters) != CUDA_SUCCESS) {
    reading.why_whole = "the driver does not tell its kernels' parameters";
    return;
  }
  // cuda.h, CUDA_KERNEL_NODE_PARAMS_v2: `kern` is "used if func is NULL"; launches take both.
  node.function =
      parameters.func != nullptr ? parameters.func : reinterpret_cast<CUfunction>(parameters.kern);
  node.grid = {parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ};
  node.block = {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ};
  node.dynamic_shared_bytes = parameters.sharedMemBytes;
  CUkernelNodeAttrValue value{};
  if (api.get_attribute != nullptr &&
      api.get_attribute(handle, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value) ==
          CUDA_SUCCESS &&
      value.deviceUpdatableKernelNode.deviceUpdatable != 0) {
    // cuda.h, CUlaunchAttribute: "Graphs containing one or more device-updatable node also do not
    // allow multiple instantiation."
    reading.why_whole = "a kernel updates its nodes on the device";
  }
}

// Nothing of a node of another type, or of one that the driver does not show.
launch::Copy copy_of_node(CUgraphNode handle, CUgraphNodeType type) {
  const auto& api = sys::graph_api();
  if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
    CUDA_MEMCPY3D box{};
    if (api.get_memcpy != nullptr && api.get_memcpy(handle, &box) == CUDA_SUCCESS)
      return launch::copy_of(&box);
  } else if (type == CU_GRAPH_NODE_TYPE_MEMSET) {
    CUDA_MEMSET_NODE_PARAMS fill{};
    if (api.get_memset != nullptr && api.get_memset(handle, &fill) == CUDA_SUCCESS) {
      return {.kind = launch::CopyKind::kFill,
              .bytes = std::uint64_t{fill.elementSize} * fill.width * fill.height};
    }
  } else if (type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) {
    CUDA_BATCH_MEM_OP_NODE_PARAMS operations{};
    if (api.get_memory_operations != nullptr &&
        api.get_memory_operations(handle, &operations) == CUDA_SUCCESS)
      return launch::copy_of(operations.paramArray, operations.count);
  }
  return {};
}

void read_node(CUgraphNode handle, const NotesByNode& notes, Reading& reading) {
  const auto& api = sys::graph_api();
  GraphNode node;
  if (api.get_type == nullptr || api.get_type(handle, &node.type) != CUDA_SUCCESS)
    reading.why_whole = "the driver does not tell its nodes' types";
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      read_kernel(handle, node, reading);
      ++reading.kernels;
      break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      // Graphs may stand in each other without end.
      sys::on_large_stack([&] { node.child_kernels = kernels_inside(handle, reading.why_whole); });
      reading.kernels += static_cast<std::uint32_t>(node.child_kernels);
      break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      // cuda.h, cuGraphClone: such graphs "cannot be cloned".
      reading.why_whole = "it allocates memory";
      break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      reading.why_whole = "it has conditional nodes";
      break;
    default:
      node.copied = copy_of_node(handle, node.type);
      if (node.is_work()) node.function = launch::key_of(node.copied.kind);
      break;
  }
  if (const auto known = notes.find(handle); known != notes.end()) {
    node.notes = known->second;
    reading.is_collective = reading.is_collective || known->second->is_collective;
  }
  reading.signature = mix(mix(reading.signature, static_cast<std::uint64_t>(node.type)),
                          reinterpret_cast<std::uintptr_t>(node.function));
  for (const unsigned extent : node.grid)
    reading.signature = mix(reading.signature, extent);
  reading.handles.push_back(handle);
  reading.nodes.push_back(std::move(node));
}

int kernels_inside(CUgraphNode node, std::string& why_whole) {
  const auto& api = sys::graph_api();
  CUgraph child = nullptr;
  std::vector<CUgraphNode> handles;
  if (api.get_child == nullptr || api.get_child(node, &child) != CUDA_SUCCESS ||
      !nodes_of(child, handles)) {
    why_whole = "the driver does not show its child graphs";
    return 0;
  }
  Reading inside;
  for (CUgraphNode handle : handles)
    read_node(handle, {}, inside);
  if (!inside.why_whole.empty()) why_whole = "in a child graph: " + inside.why_whole;
  return static_cast<int>(inside.kernels);
}

Reading read(CUgraph graph) {
  Reading reading;
  std::vector<CUgraphNode> handles;
  if (!nodes_of(graph, handles)) {
    reading.why_whole = "the driver does not list its nodes";
    return reading;
  }
  const NotesByNode notes = capture_notes::of(graph);
  reading.nodes.reserve(handles.size());
  reading.handles.reserve(handles.size());
  for (CUgraphNode handle : handles)
    read_node(handle, notes, reading);
  return reading;
}

// --- the private copy

// A graph with these nodes whose exec has been destroyed, or null.
ExecutableGraph* vacant_graph(std::uint64_t signature) {
  const auto known = registry().vacant.find(signature);
  return known == registry().vacant.end() ? nullptr : known->second;
}

// A graph that is made while others are measured may be another phase's.  A program that makes new
// ones all the time must not wait for their copies.
constexpr int kMostMadeLate = 64;

bool is_of_a_phase_to_come(const hook::GraphNeeds& needs) {
  return registry().made_late < kMostMadeLate && needs.may_come_later;
}

// False if the schedule lists its events, and names nothing in `nodes`.
bool is_asked_for(const hook::GraphNeeds& needs, const std::vector<GraphNode>& nodes) {
  if (needs.names == nullptr) return true;
  return std::any_of(nodes.begin(), nodes.end(), [&](const GraphNode& node) {
    if (node.notes && needs.names->contains(node.notes->event_name)) return true;
    return node.is_work() && needs.names->contains(launch::readable_kernel_name(
                                 launch::identity_of(node.function).name));
  });
}

struct PrivateCopy {
  CUgraph graph = nullptr;
  std::string why_not;
};

// Copying costs the application about as much as creating the graph, so it is done only if the copy
// will be used.
std::string why_not_worth_it(const hook::GraphNeeds& needs, std::uint64_t signature) {
  const std::lock_guard lock(mutex());
  const ExecutableGraph* known = vacant_graph(signature);
  if (!needs.is_planned || (known == nullptr && is_of_a_phase_to_come(needs)))
    return known != nullptr && known->times_made > kOftenMade ? kMadeAnew : "";
  return known == nullptr || !known->why_whole.empty() ? "it was made after the warm-up" : "";
}

// Sets the nodes' clones.
PrivateCopy private_copy(CUgraph source, unsigned long long flags, Reading& reading,
                         const hook::GraphNeeds* needs) {
  const auto& api = sys::graph_api();
  if (!reading.why_whole.empty()) return {.why_not = reading.why_whole};
  if (!api.can_time_nodes()) return {.why_not = "the driver is older than 12.3"};
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0)
    return {.why_not = "it can be launched by the device"};
  if (needs == nullptr) return {.why_not = "there is no run"};
  if (std::string reason = why_not_worth_it(*needs, reading.signature); !reason.empty())
    return {.why_not = std::move(reason)};
  const std::uint64_t bytes = copy_bytes() + reading.nodes.size() * kBytesPerNode;
  if (!is_asked_for(*needs, reading.nodes))
    return {.why_not = "the schedule asks for nothing inside it"};
  if (bytes > needs->most_copy_bytes)
    return {.why_not = "copies of graphs would take more than INLINE_PROF_GRAPH_COPIES"};
  PrivateCopy copy;
  if (const CUresult result = api.clone(&copy.graph, source); result != CUDA_SUCCESS)
    return {.why_not = "cuGraphClone: error " + std::to_string(result)};
  for (std::size_t i = 0; i < reading.nodes.size(); ++i) {
    if (api.find_in_clone(&reading.nodes[i].copy, reading.handles[i], copy.graph) != CUDA_SUCCESS) {
      api.destroy(copy.graph);
      return {.why_not = "cuGraphNodeFindInClone fails"};
    }
  }
  return copy;
}

void drop_copy(ExecutableGraph& graph) {
  for (GraphNode& node : graph.nodes)
    node.copy = nullptr;
  if (graph.copy == nullptr) return;
  registry().copied_nodes.fetch_sub(graph.nodes.size(), std::memory_order_relaxed);
  sys::graph_api().destroy(std::exchange(graph.copy, nullptr));
}

// For a graph that is timed as a whole, only the names of its kernels are needed.
void keep_one_of_each_kernel(Reading& reading) {
  std::unordered_set<CUfunction> seen;
  std::vector<GraphNode> kept;
  for (GraphNode& node : reading.nodes) {
    if (node.is_work() && seen.insert(node.function).second) kept.push_back(std::move(node));
  }
  kept.shrink_to_fit();
  reading.nodes = std::move(kept);
  reading.handles.clear();
}

void install(ExecutableGraph& graph, CUgraph source, Reading reading, PrivateCopy copy) {
  drop_copy(graph);
  if (copy.graph == nullptr) keep_one_of_each_kernel(reading);
  graph.nodes = std::move(reading.nodes);
  graph.copy = copy.graph;
  graph.source = source;
  graph.signature = reading.signature;
  graph.kernels.store(reading.kernels, std::memory_order_relaxed);
  graph.why_whole = std::move(copy.why_not);
  graph.holds_references = reading.is_collective || registry().with_references.contains(source);
  graph.places.clear();
  for (std::size_t i = 0; i < reading.handles.size(); ++i)
    graph.places.emplace(reading.handles[i], i);
  if (graph.copy != nullptr)
    registry().copied_nodes.fetch_add(graph.nodes.size(), std::memory_order_relaxed);
}

ExecutableGraph& add(std::uint64_t signature) {
  ExecutableGraph& graph = registry().all.emplace_back();
  graph.number = registry().next_number++;
  graph.signature = signature;
  return graph;
}

bool is_full() {
  return registry().all.size() >= kMostGraphs;
}

// A graph with these nodes whose exec has been destroyed, else a new one.  Null if there is no
// room.
ExecutableGraph* graph_for(std::uint64_t signature) {
  const auto vacant = registry().vacant.find(signature);
  if (vacant == registry().vacant.end()) return is_full() ? nullptr : &add(signature);
  ExecutableGraph* graph = vacant->second;
  registry().vacant.erase(vacant);
  return graph;
}

// Its exec has been destroyed.  Its nodes are not needed until it is created again.
void vacate(ExecutableGraph& graph) {
  if (graph.exec.exchange(nullptr) == nullptr) return;
  graph.generation.fetch_add(1, std::memory_order_release);
  drop_copy(graph);
  graph.source = nullptr;
  graph.places.clear();
  graph.nodes = {};
  registry().vacant.emplace(graph.signature, &graph);
}

// After the plan is made, only graphs in the plan matter.
bool is_of_interest(const hook::GraphNeeds& needs) {
  const std::lock_guard lock(mutex());
  return !needs.is_planned || !registry().vacant.empty() || is_of_a_phase_to_come(needs);
}

bool wants_room() {
  const std::lock_guard lock(mutex());
  return is_full() && !registry().vacant.empty();
}

}  // namespace

std::mutex& mutex() noexcept {
  static constinit std::mutex one;
  return one;
}

ExecutableGraph* of(CUgraphExec exec) noexcept {
  return execs.find(exec);
}

ExecutableGraph* known_or_new(CUgraphExec exec) {
  if (ExecutableGraph* known = of(exec)) return known;
  hook::Observer* session = hook::observer();
  const std::lock_guard lock(mutex());
  if (is_full() || session == nullptr || session->graph_needs().is_planned) return nullptr;
  auto* const place = execs.place_of(exec, true);
  if (place == nullptr) return nullptr;
  ExecutableGraph& graph = add(0);
  graph.why_whole = "it was made before profiling began, or by a call that is not seen";
  graph.exec.store(exec);
  place->store(&graph, std::memory_order_release);
  return &graph;
}

void made(CUgraphExec exec, CUgraph source, unsigned long long flags) {
  // The handle of one that went with its context, or where we did not see it.
  if (ExecutableGraph* former = of(exec)) {
    const std::lock_guard lock(mutex());
    vacate(*former);
    execs.place_of(exec, true)->store(nullptr, std::memory_order_release);
  }
  hook::Observer* session = hook::observer();
  if (session == nullptr) return;
  const hook::GraphNeeds needs = session->graph_is_made();
  if (!is_of_interest(needs)) return;
  if (wants_room()) session->make_room_for_graphs();
  const timer::CaptureModeScope capture_mode;
  Reading reading = read(source);
  PrivateCopy copy = private_copy(source, flags, reading, &needs);
  const std::lock_guard lock(mutex());
  auto* const place = execs.place_of(exec, true);
  if (needs.is_planned && vacant_graph(reading.signature) == nullptr) ++registry().made_late;
  ExecutableGraph* room = place == nullptr ? nullptr : graph_for(reading.signature);
  if (room == nullptr) {
    if (copy.graph != nullptr) sys::graph_api().destroy(copy.graph);
    return;
  }
  ExecutableGraph& graph = *room;
  install(graph, source, std::move(reading), std::move(copy));
  graph.flags = flags;
  ++graph.times_made;
  graph.generation.fetch_add(1, std::memory_order_release);
  graph.exec.store(exec, std::memory_order_release);
  place->store(&graph, std::memory_order_release);
  if ((launch::filter.is_boundary(&graph) || launch::filter.is_armed(&graph)) && sys::is_on())
    launch::filter.add_handle(exec);
}

void updated_from(CUgraphExec exec, CUgraph source) {
  ExecutableGraph* graph = of(exec);
  if (graph == nullptr) return;
  unsigned long long flags = 0;
  {
    const std::lock_guard lock(mutex());
    graph->generation.fetch_add(1, std::memory_order_release);
    if (graph->copy == nullptr) return;
    if (++graph->times_updated > kMostUpdates)
      return give_copy_up(*graph, "the program changes it again and again");
    flags = graph->flags;
  }
  const timer::CaptureModeScope capture_mode;
  Reading reading = read(source);
  hook::GraphNeeds needs;
  hook::Observer* session = hook::observer();
  if (session != nullptr) needs = session->graph_needs();
  PrivateCopy copy = private_copy(source, flags, reading, session == nullptr ? nullptr : &needs);
  const std::lock_guard lock(mutex());
  install(*graph, source, std::move(reading), std::move(copy));
}

void references_held(CUgraph source) {
  const std::lock_guard lock(mutex());
  registry().with_references[source] = true;
  for (ExecutableGraph& graph : registry().all) {
    if (graph.source == source) graph.holds_references = true;
  }
}

void before_exec_is_destroyed(CUgraphExec exec) {
  ExecutableGraph* graph = of(exec);
  if (graph == nullptr) return;
  live_clone().destroy_clone_of(*graph);
  const timer::CaptureModeScope capture_mode;
  const std::lock_guard lock(mutex());
  if (auto* const place = execs.place_of(exec, false))
    place->store(nullptr, std::memory_order_release);
  vacate(*graph);
}

void before_graph_is_destroyed(CUgraph source) {
  capture_notes::forget(source);
  std::vector<ExecutableGraph*> holding;
  {
    const std::lock_guard lock(mutex());
    registry().with_references.erase(source);
    for (ExecutableGraph& graph : registry().all) {
      if (graph.source != source) continue;
      graph.source = nullptr;
      graph.places.clear();
      if (graph.holds_references && graph.copy != nullptr) holding.push_back(&graph);
    }
  }
  for (ExecutableGraph* graph : holding) {
    live_clone().destroy_clone_of(*graph);
    const timer::CaptureModeScope capture_mode;
    const std::lock_guard lock(mutex());
    give_copy_up(*graph, "others wait until all its copies are gone (NCCL, user objects)");
  }
}

CloneNode clone_node_of(CUgraphExec exec, CUgraphNode node) {
  ExecutableGraph* graph = of(exec);
  if (graph == nullptr) return {};
  const auto known = graph->places.find(node);
  if (known == graph->places.end()) return {.graph = graph, .place = nullptr, .node = nullptr};
  GraphNode& place = graph->nodes[known->second];
  return {.graph = graph, .place = &place, .node = place.copy};
}

void give_copy_up(ExecutableGraph& graph, std::string why) {
  graph.generation.fetch_add(1, std::memory_order_release);
  drop_copy(graph);
  graph.why_whole = std::move(why);
}

// How often a graph was made is worth knowing, as long as there is room.
void forget_vacant() {
  const std::lock_guard lock(mutex());
  if (!is_full()) return;
  for (const auto& [signature, graph] : registry().vacant) {
    if (launch::filter.is_boundary(graph))
      return;  // it tells where iterations begin, and will be made again
  }
  registry().vacant.clear();
  registry().all.remove_if(
      [](const ExecutableGraph& graph) { return graph.exec.load() == nullptr; });
}

void give_all_copies_up() {
  const timer::CaptureModeScope capture_mode;
  const std::lock_guard lock(mutex());
  for (ExecutableGraph& graph : registry().all)
    drop_copy(graph);
}

std::uint64_t registry_bytes() {
  const std::lock_guard lock(mutex());
  std::uint64_t bytes = sizeof execs;
  for (const ExecutableGraph& graph : registry().all) {
    bytes += sizeof graph + graph.nodes.capacity() * sizeof(GraphNode) +
             graph.places.size() * (sizeof(*graph.places.begin()) + 2 * sizeof(void*));
  }
  return bytes;
}

std::uint64_t copy_bytes() noexcept {
  return registry().copied_nodes.load(std::memory_order_relaxed) * kBytesPerNode;
}

}  // namespace inline_prof::graphs
