#include "graphs/live_clone.hpp"

#include <thread>

namespace inline_prof::graphs {
namespace {

// How often a mirrored change waits for a launch of the clone that another thread is making.
constexpr int kMostWaits = 1000;

}  // namespace

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
