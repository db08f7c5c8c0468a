// The clone that is launched in place of the application's graph: one at a time.
#pragma once

#include "graphs/graph_clone.hpp"
#include "record/event_record.hpp"

#include <atomic>
#include <mutex>
#include <string>

namespace inline_prof::graphs {

class LiveClone {
 public:
  // Held while a clone is built or destroyed.  Taken before the registry's.
  std::mutex building;

  // Builds the clone for `event`.  Returns an empty string, or the reason of failure.  With
  // `building` held.
  [[nodiscard]] std::string build(const TimedNodes& nodes, CUcontext context,
                                  const record::EventRecord* event);
  // Waits for a launch in progress, which takes microseconds.  With `building` held.
  void destroy(bool context_is_gone = false);

  // The application is about to destroy the graph's exec, or what it refers to.  Waits for a clone
  // of this graph that is being built.
  void destroy_clone_of(const ExecutableGraph& graph);
  void context_gone(CUcontext context);

  // Takes the clone for a launch of `graph` that measures `event`: null if there is no such clone,
  // it is stale, or another thread has it.  The caller must give it back.
  [[nodiscard]] GraphClone* take(const ExecutableGraph& graph, const record::EventRecord& event,
                                 bool& is_stale) noexcept;
  void give_back() noexcept { in_use_.clear(std::memory_order_release); }
  // True also if another thread has it: then the answer comes later.
  [[nodiscard]] bool may_be_fresh() noexcept;

  enum class Mirrored { kAlways, kNotIfTimed };
  // The application has changed a node of its exec: `change` does the same to the clone, if there
  // is one.  With the registry's mutex held.
  void mirror(const ExecutableGraph& graph, CUgraphNode node,
              CUresult (*change)(CUgraphExec, CUgraphNode, void*), void* argument,
              Mirrored mirrored);

 private:
  [[nodiscard]] bool try_lock() noexcept {
    return !in_use_.test_and_set(std::memory_order_acquire);
  }

  std::atomic<GraphClone*> clone_{nullptr};
  std::atomic<const record::EventRecord*> event_{nullptr};
  std::atomic_flag in_use_ = ATOMIC_FLAG_INIT;  // by a launch, or by the thread that destroys it
};

[[nodiscard]] LiveClone& live_clone();

}  // namespace inline_prof::graphs
