#include "graphs/graph_clone.hpp"

#include "sys/cuda_api.hpp"
#include "timer/driver_scope.hpp"

#include <algorithm>
#include <thread>
#include <unistd.h>

namespace inline_prof::graphs {
namespace {

std::string failed(const char* function, CUresult result) {
  return std::string(function) + ": error " + std::to_string(result);
}

constexpr const char* kSwitchedOff = "the program has switched it off";
// A full edge in place of one that waits for the launch alone could dead-lock kernels that are
// meant to run together.
constexpr const char* kLaunchOrder = "it runs beside its neighbours (launch-order edges)";

bool replaceable_edges(CUresult (*ask)(CUgraphNode, Edges&), CUgraphNode node, Edges& edges,
                       std::string& why_not) {
  if (const CUresult result = ask(node, edges); result != CUDA_SUCCESS) {
    why_not = failed("cuGraphNodeGetDependencies", result);
    return false;
  }
  if (!edges.can_be_full()) why_not = kLaunchOrder;
  return edges.can_be_full();
}

// How long to wait for the upload before the clone is launched anyway.
constexpr int kLongestUploadMs = 200;

bool is_programmatic(const CUgraphEdgeData& edge) {
  return edge.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC && edge.to_port == 0 &&
         edge.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
}

bool is_full(const CUgraphEdgeData& edge) {
  return edge.from_port == 0 && edge.to_port == 0 && edge.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
}

using Query = CUresult(CUDAAPI*)(CUgraphNode, CUgraphNode*, CUgraphEdgeData*, std::size_t*);

// cuda.h, cuGraphNodeGetDependencies: entries beyond the last are set to null, and the number is
// that of those obtained.  Asking for the number alone may be refused where edges carry data.
CUresult ask(Query query, CUgraphNode node, Edges& edges) {
  if (query == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  constexpr std::size_t most = std::size_t{1} << 20;
  for (std::size_t room = 16;; room *= 4) {
    edges.nodes.assign(room, nullptr);
    edges.data.assign(room, {});
    std::size_t count = room;
    const CUresult result = query(node, edges.nodes.data(), edges.data.data(), &count);
    if (result == CUDA_SUCCESS && count >= room && room < most) continue;  // there may be more
    count = result == CUDA_SUCCESS ? std::min(count, room) : 0;
    edges.nodes.resize(count);
    edges.data.resize(count);
    return result;
  }
}

// How often a mirrored change waits for a launch of the clone that another thread is making.
constexpr int kMostWaits = 1000;

}  // namespace

std::unique_ptr<GraphClone> GraphClone::build(const TimedNodes& nodes, CUcontext context,
                                              std::string& why_not) {
  const timer::ContextScope current(context);
  const timer::CaptureModeScope capture_mode;
  if (!current) {
    why_not = "its context cannot be made current";
    return nullptr;
  }
  std::unique_ptr<GraphClone> clone(new GraphClone(nodes, context));
  if (!clone->copy(why_not) || !clone->put_events_around(why_not) || !clone->make_exec(why_not)) {
    return nullptr;
  }
  return clone;
}

GraphClone::~GraphClone() {
  if (context_ == nullptr) return;
  const timer::ContextScope current(context_);
  const timer::CaptureModeScope capture_mode;
  const auto& api = sys::graph_api();
  if (exec_ != nullptr) api.destroy_exec(exec_);
  if (definition_ != nullptr) api.destroy(definition_);
  if (start_ != nullptr) sys::cuda().cuEventDestroy(start_);
  if (stop_ != nullptr) sys::cuda().cuEventDestroy(stop_);
}

bool GraphClone::copy(std::string& why_not) {
  const std::lock_guard lock(mutex());
  const ExecutableGraph& graph = *nodes_.graph;
  if (graph.copy == nullptr || nodes_.last >= graph.nodes.size()) {
    why_not = graph.why_whole.empty() ? "the program has destroyed the graph" : graph.why_whole;
    return false;
  }
  generation_ = graph.generation.load(std::memory_order_acquire);
  flags_ = graph.flags;
  const auto& api = sys::graph_api();
  if (const CUresult result = api.clone(&definition_, graph.copy); result != CUDA_SUCCESS) {
    definition_ = nullptr;
    why_not = failed("cuGraphClone", result);
    return false;
  }
  if (api.find_in_clone(&first_, graph.nodes[nodes_.first].copy, definition_) != CUDA_SUCCESS ||
      api.find_in_clone(&last_, graph.nodes[nodes_.last].copy, definition_) != CUDA_SUCCESS) {
    why_not = "cuGraphNodeFindInClone fails";
    return false;
  }
  for (std::size_t i = nodes_.first; i <= nodes_.last; ++i)
    timed_.push_back(clone_node_of(graph.nodes[i].copy));
  for (const GraphNode& node : graph.nodes) {
    if (node.is_enabled) continue;
    CUgraphNode clone_node = clone_node_of(node.copy);
    if (clone_node == nullptr || times(clone_node)) {
      why_not = kSwitchedOff;
      return false;
    }
    disabled_.push_back(clone_node);
  }
  return true;
}

bool GraphClone::put_events_around(std::string& why_not) {
  const auto& api = sys::graph_api();
  const auto& cuda = sys::cuda();
  Edges before;
  Edges after;
  if (!replaceable_edges(edges_to, first_, before, why_not) ||
      !replaceable_edges(edges_from, last_, after, why_not)) {
    return false;
  }
  if (cuda.cuEventCreate(&start_, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
      cuda.cuEventCreate(&stop_, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
    why_not = "cuEventCreate fails";
    return false;
  }
  const auto is_done = [&](CUresult result) {
    if (result != CUDA_SUCCESS) why_not = failed("cuGraphAddEventRecordNode", result);
    return result == CUDA_SUCCESS;
  };
  if (!is_done(api.add_event_record(&start_node_, definition_, before.nodes.data(), before.size(),
                                    start_)) ||
      !is_done(api.add_event_record(&stop_node_, definition_, &last_, 1, stop_)))
    return false;
  const std::vector<CUgraphNode> firsts(before.size(), first_);
  const std::vector<CUgraphNode> lasts(after.size(), last_);
  const std::vector<CUgraphNode> stops(after.size(), stop_node_);
  return (firsts.empty() ||
          is_done(api.remove_dependencies(definition_, before.nodes.data(), firsts.data(),
                                          before.data.data(), firsts.size()))) &&
         (lasts.empty() ||
          is_done(api.remove_dependencies(definition_, lasts.data(), after.nodes.data(),
                                          after.data.data(), lasts.size()))) &&
         is_done(api.add_dependencies(definition_, &start_node_, &first_, nullptr, 1)) &&
         (stops.empty() ||
          is_done(api.add_dependencies(definition_, stops.data(), after.nodes.data(), nullptr,
                                       stops.size())));
}

bool GraphClone::make_exec(std::string& why_not) {
  const auto& api = sys::graph_api();
  const auto& cuda = sys::cuda();
  // Uploaded below, on a stream of our own.
  const auto flags =
      flags_ & ~static_cast<unsigned long long>(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                                CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
  if (const CUresult result = api.instantiate(&exec_, definition_, flags); result != CUDA_SUCCESS) {
    exec_ = nullptr;
    why_not = failed("cuGraphInstantiate", result);
    return false;
  }
  for (CUgraphNode node : disabled_) {
    if (api.set_exec_enabled != nullptr && api.set_exec_enabled(exec_, node, 0) == CUDA_SUCCESS)
      continue;
    why_not = "cuGraphNodeSetEnabled fails";
    return false;
  }
  CUstream stream = nullptr;
  if (cuda.cuStreamCreate == nullptr || cuda.cuStreamDestroy == nullptr ||
      cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) {
    return true;  // the first launch uploads it
  }
  if (api.upload(exec_, stream) == CUDA_SUCCESS &&
      cuda.cuEventRecord(stop_, stream) == CUDA_SUCCESS) {
    for (int waited = 0;
         waited < kLongestUploadMs && cuda.cuEventQuery(stop_) == CUDA_ERROR_NOT_READY; ++waited)
      usleep(1000);
  }
  cuda.cuStreamDestroy(stream);
  return true;
}

bool GraphClone::set_events(CUevent start, CUevent stop) noexcept {
  const auto set = sys::graph_api().set_event;
  return set(exec_, start_node_, start) == CUDA_SUCCESS &&
         set(exec_, stop_node_, stop) == CUDA_SUCCESS;
}

bool GraphClone::catch_up() noexcept {
  if (is_fresh()) return true;
  const ExecutableGraph& graph = *nodes_.graph;
  const auto& api = sys::graph_api();
  if (graph.copy == nullptr || api.set_exec_kernel == nullptr) return false;
  const timer::ContextScope current(context_);
  const timer::CaptureModeScope capture_mode;
  if (!current) return false;
  for (const GraphNode& node : graph.nodes) {
    if (!node.is_kernel()) continue;
    CUgraphNode clone_node = clone_node_of(node.copy);
    CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
    if (clone_node == nullptr || api.get_kernel(node.copy, &parameters) != CUDA_SUCCESS ||
        api.set_exec_kernel(exec_, clone_node, &parameters) != CUDA_SUCCESS) {
      return false;
    }
    if (!node.is_enabled && times(clone_node)) return false;
    if (api.set_exec_enabled != nullptr &&
        api.set_exec_enabled(exec_, clone_node, node.is_enabled ? 1 : 0) != CUDA_SUCCESS) {
      return false;
    }
  }
  follow(graph.generation.load(std::memory_order_acquire));
  return true;
}

bool GraphClone::times(CUgraphNode clone_node) const noexcept {
  return std::find(timed_.begin(), timed_.end(), clone_node) != timed_.end();
}

CUgraphNode GraphClone::clone_node_of(CUgraphNode node) const noexcept {
  CUgraphNode clone_node = nullptr;
  if (sys::graph_api().find_in_clone(&clone_node, node, definition_) != CUDA_SUCCESS)
    return nullptr;
  return clone_node;
}

bool Edges::are_full() const {
  return std::all_of(data.begin(), data.end(), is_full);
}

bool Edges::can_be_full() const {
  return std::all_of(data.begin(), data.end(), [](const CUgraphEdgeData& edge) {
    return is_full(edge) || is_programmatic(edge);
  });
}

CUresult edges_to(CUgraphNode node, Edges& edges) {
  return ask(sys::graph_api().get_dependencies, node, edges);
}

CUresult edges_from(CUgraphNode node, Edges& edges) {
  return ask(sys::graph_api().get_dependents, node, edges);
}

LiveClone& live_clone() {
  static auto* const one = new LiveClone;  // never destroyed: hooks may run at exit
  return *one;
}

std::string LiveClone::build(const TimedNodes& nodes, CUcontext context,
                             const record::EventRecord* event) {
  std::string why_not;
  auto clone = GraphClone::build(nodes, context, why_not);
  if (clone == nullptr) return why_not;
  // From here on the application's changes are mirrored to this clone as well, so that none is
  // missed.
  const std::lock_guard registry(mutex());
  if (!clone->catch_up()) return kChanged;  // destroyed without the registry's mutex
  event_.store(event, std::memory_order_relaxed);
  clone_.store(clone.release(), std::memory_order_release);
  return {};
}

void LiveClone::destroy(bool context_is_gone) {
  GraphClone* clone = clone_.load(std::memory_order_acquire);
  if (clone == nullptr) return;
  while (!try_lock())
    std::this_thread::yield();
  clone_.store(nullptr, std::memory_order_release);
  if (context_is_gone) clone->forget();
  delete clone;
  give_back();
}

void LiveClone::destroy_clone_of(const ExecutableGraph& graph) {
  const std::lock_guard lock(building);
  const GraphClone* clone = clone_.load(std::memory_order_acquire);
  if (clone != nullptr && &clone->graph() == &graph) destroy();
}

void LiveClone::context_gone(CUcontext context) {
  const std::lock_guard lock(building);
  const GraphClone* clone = clone_.load(std::memory_order_acquire);
  if (clone != nullptr && clone->context() == context) destroy(true);
}

GraphClone* LiveClone::take(const ExecutableGraph& graph, const record::EventRecord& event,
                            bool& is_stale) noexcept {
  if (!try_lock()) return nullptr;
  GraphClone* clone = clone_.load(std::memory_order_acquire);
  is_stale = clone != nullptr && !clone->is_fresh();
  if (clone != nullptr && !is_stale && &clone->graph() == &graph &&
      event_.load(std::memory_order_relaxed) == &event) {
    return clone;
  }
  give_back();
  return nullptr;
}

bool LiveClone::may_be_fresh() noexcept {
  if (!try_lock()) return true;
  const GraphClone* clone = clone_.load(std::memory_order_acquire);
  const bool is_fresh = clone != nullptr && clone->is_fresh();
  give_back();
  return is_fresh;
}

void LiveClone::mirror(const ExecutableGraph& graph, CUgraphNode node,
                       CUresult (*change)(CUgraphExec, CUgraphNode, void*), void* argument,
                       Mirrored mirrored) {
  for (int waits = 0; !try_lock(); ++waits) {
    if (waits == kMostWaits) return;  // stale from here on
    std::this_thread::yield();
  }
  GraphClone* clone = clone_.load(std::memory_order_acquire);
  if (clone != nullptr && &clone->graph() == &graph) {
    CUgraphNode clone_node = clone->clone_node_of(node);
    // A disabled kernel takes no time, and must not be sampled.
    const bool is_followed = clone_node != nullptr &&
                             (mirrored == Mirrored::kAlways || !clone->times(clone_node)) &&
                             change(clone->exec(), clone_node, argument) == CUDA_SUCCESS;
    if (is_followed) clone->follow(graph.generation.load(std::memory_order_acquire));
  }
  give_back();
}

}  // namespace inline_prof::graphs
