// A copy of an application's graph in which two events stand around one kernel:
//
//   before:  predecessors -> node -> successors
//   now:     predecessors -> start -> node -> stop -> successors
//
// Whatever ran beside the node may still do so; what is lost is overlap of the node with its own
// neighbours (programmatic launches), which is why those are not taken apart.
#pragma once

#include "graphs/graph_registry.hpp"

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace inline_prof::hook {

// `first` to `last`: places in ExecutableGraph::nodes, a chain.
struct TimedNodes {
  ExecutableGraph* graph = nullptr;
  std::size_t first = 0;
  std::size_t last = 0;
};

class GraphClone {
 public:
  // Copies, instantiates and uploads, which takes milliseconds: not on a thread of the
  // application's. Null where it cannot be, and why.
  [[nodiscard]] static std::unique_ptr<GraphClone> build(const TimedNodes& nodes, CUcontext context,
                                                         std::string& why_not);
  ~GraphClone();
  GraphClone(const GraphClone&) = delete;
  GraphClone& operator=(const GraphClone&) = delete;

  [[nodiscard]] ExecutableGraph& graph() const noexcept { return *nodes_.graph; }
  [[nodiscard]] CUgraphExec exec() const noexcept { return exec_; }
  // False where the application has changed its graph since.
  [[nodiscard]] bool is_fresh() const noexcept {
    return generation_.load(std::memory_order_relaxed) ==
           nodes_.graph->generation.load(std::memory_order_acquire);
  }
  // Future launches record these; cuda.h, cuGraphExecEventRecordNodeSetEvent: "already enqueued or
  // running launches of hGraphExec are not affected".
  [[nodiscard]] bool set_events(CUevent start, CUevent stop) noexcept;
  // The application has changed kernels while this was built: they are changed here, too.  False
  // where that cannot be.  With the registry's mutex held.
  [[nodiscard]] bool catch_up() noexcept;
  // What the application does to the node of its exec is done to the twin of
  // ExecutableGraph::copy's `node`.
  [[nodiscard]] CUgraphNode clone_node_of(CUgraphNode node) const noexcept;
  // `twin` stands between the events.
  [[nodiscard]] bool times(CUgraphNode clone_node) const noexcept;
  void follow(std::uint64_t generation) noexcept {
    generation_.store(generation, std::memory_order_relaxed);
  }
  [[nodiscard]] CUcontext context() const noexcept { return context_; }
  // The context is gone, and all of this with it.
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
  CUevent start_ = nullptr;  // of replays that are not measured
  CUevent stop_ = nullptr;
  CUgraphExec exec_ = nullptr;
  unsigned long long flags_ = 0;
};

}  // namespace inline_prof::hook
