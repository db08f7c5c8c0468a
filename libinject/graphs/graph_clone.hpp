// A clone of an application's graph with two event nodes around one kernel:
//
//   before:  predecessors -> node -> successors
//   now:     predecessors -> start -> node -> stop -> successors
//
// Nodes that could run concurrently with the kernel still can.  Only the overlap of the kernel with
// its own neighbours is gone while it is timed: programmatic edges become full ones.
#pragma once

#include "graphs/graph_registry.hpp"
#include "record/event_record.hpp"

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace inline_prof::graphs {

inline constexpr const char* kChanged = "the program changed or destroyed the graph meanwhile";

// `first` to `last`: indices into ExecutableGraph::nodes, which form a chain.
struct TimedNodes {
  ExecutableGraph* graph = nullptr;
  std::size_t first = 0;
  std::size_t last = 0;
};

class GraphClone {
 public:
  // Clones, instantiates and uploads, which takes milliseconds: not for the application's threads.
  // Null if that fails, with the reason.
  [[nodiscard]] static std::unique_ptr<GraphClone> build(const TimedNodes& nodes, CUcontext context,
                                                         std::string& why_not);
  ~GraphClone();
  GraphClone(const GraphClone&) = delete;
  GraphClone& operator=(const GraphClone&) = delete;

  [[nodiscard]] ExecutableGraph& graph() const noexcept { return *nodes_.graph; }
  [[nodiscard]] CUgraphExec exec() const noexcept { return exec_; }
  // False if the application has changed its graph since.
  [[nodiscard]] bool is_fresh() const noexcept {
    return generation_.load(std::memory_order_relaxed) ==
           nodes_.graph->generation.load(std::memory_order_acquire);
  }
  // Sets the events that later launches record; cuda.h, cuGraphExecEventRecordNodeSetEvent:
  // "already enqueued or running launches of hGraphExec are not affected".
  [[nodiscard]] bool set_events(CUevent start, CUevent stop) noexcept;
  // Applies changes of kernels that the application has made while this was built.  False if that
  // fails.  With the registry's mutex held.
  [[nodiscard]] bool catch_up() noexcept;
  // Returns the clone of `node` in ExecutableGraph::copy, to which changes of the application are
  // mirrored.
  [[nodiscard]] CUgraphNode clone_node_of(CUgraphNode node) const noexcept;
  // `clone_node` stands between the events.
  [[nodiscard]] bool times(CUgraphNode clone_node) const noexcept;
  void follow(std::uint64_t generation) noexcept {
    generation_.store(generation, std::memory_order_relaxed);
  }
  [[nodiscard]] CUcontext context() const noexcept { return context_; }
  // The context has been destroyed, and with it everything here.
  void forget() noexcept { context_ = nullptr; }

 private:
  GraphClone(const TimedNodes& nodes, CUcontext context) : nodes_(nodes), context_(context) {}

  [[nodiscard]] bool copy(std::string& why_not);
  [[nodiscard]] bool put_events_around(std::string& why_not);
  [[nodiscard]] bool make_exec(std::string& why_not);

  TimedNodes nodes_;
  CUcontext context_;
  std::atomic<std::uint64_t> generation_{0};
  CUgraph definition_ = nullptr;
  CUgraphNode first_ = nullptr;
  CUgraphNode last_ = nullptr;
  std::vector<CUgraphNode> timed_;  // from first_ to last_
  std::vector<CUgraphNode> disabled_;
  CUgraphNode start_node_ = nullptr;
  CUgraphNode stop_node_ = nullptr;
  CUevent start_ = nullptr;  // for launches that are not measured
  CUevent stop_ = nullptr;
  CUgraphExec exec_ = nullptr;
  unsigned long long flags_ = 0;
};

// The edges of a graph's node, with their data.
struct Edges {
  std::vector<CUgraphNode> nodes;  // at the other ends
  std::vector<CUgraphEdgeData> data;

  [[nodiscard]] std::size_t size() const { return nodes.size(); }
  // True if a node waits until all nodes that it depends on have ended.
  [[nodiscard]] bool are_full() const;
  // A full edge, which waits for longer, can take the place of each: none carries other data than
  // that it leaves from a kernel's programmatic port.
  [[nodiscard]] bool can_be_full() const;
};

[[nodiscard]] CUresult edges_to(CUgraphNode node, Edges& edges);
[[nodiscard]] CUresult edges_from(CUgraphNode node, Edges& edges);

// The clone that is launched in place of the application's graph: one at a time.
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
