// The application's executable graphs: what a replay of each launches, and a private copy from
// which one of its kernels can be timed.
//
// A replay is one launch of its ExecutableGraph: it stands in the launch table, in periods and
// among armed events as a kernel's handle does.
#pragma once

#include "graphs/capture_notes.hpp"

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace inline_prof::hook {

struct GraphNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUgraphNode copy = nullptr;  // in ExecutableGraph::copy; null where there is none
  CUfunction function = nullptr;
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  unsigned dynamic_shared_bytes = 0;
  int child_kernels = 0;   // of a child graph
  bool is_enabled = true;  // in the application's exec
  std::shared_ptr<const NodeNotes> words;

  [[nodiscard]] bool is_kernel() const { return type == CU_GRAPH_NODE_TYPE_KERNEL; }
};

// Lives for ever: the launch table points to it.  A graph that the application destroys and makes
// again with the same nodes is the same graph.
struct ExecutableGraph {
  std::atomic<CUgraphExec> exec{nullptr};  // null: destroyed
  // The application's changes of its exec that its copy has not seen: what was built before is
  // stale.
  std::atomic<std::uint64_t> generation{0};
  std::atomic<std::uint32_t> kernels{0};  // of one replay, child graphs included

  // The rest is guarded by the registry's mutex.
  int number = 0;  // in order of first appearance
  std::uint64_t signature = 0;
  int times_made = 0;
  int times_updated = 0;
  std::vector<GraphNode> nodes;  // in the order of their creation
  CUgraph copy = nullptr;        // null: none
  CUgraph source = nullptr;      // the application's graph; null once it is destroyed
  std::unordered_map<CUgraphNode, std::size_t> places;  // of the source's nodes in `nodes`
  unsigned long long flags = 0;                         // of its instantiation
  bool holds_references = false;  // others wait until the last copy of the graph is gone
  const void* stream = nullptr;   // of its replays
  std::string why_whole;          // why its kernels cannot be timed one by one; empty: they can
};

// A graph that is made anew more often than this in the warm-up will be made anew while it is
// measured.
inline constexpr int kOftenMade = 3;
inline constexpr const char* kMadeAnew = "the program makes it anew again and again";

namespace graphs {

// Held for look-ups and small changes; never while graphs are copied or made.
[[nodiscard]] std::mutex& mutex() noexcept;

// Null for an exec that was made where we did not see it.  Lock-free.
[[nodiscard]] ExecutableGraph* of(CUgraphExec exec) noexcept;
// The same; an exec that is met for the first time gets a ExecutableGraph without nodes.
[[nodiscard]] ExecutableGraph* known_or_new(CUgraphExec exec);

// After the application's calls.
void made(CUgraphExec exec, CUgraph graph, unsigned long long flags);
void updated_from(CUgraphExec exec, CUgraph graph);
void references_held(CUgraph graph);
// Before them.
void before_exec_is_destroyed(CUgraphExec exec);
void before_graph_is_destroyed(CUgraph graph);

// The application has changed one node of its exec: the copy's node, so that the caller can do the
// same to it; null where there is none, and then the copy is not used any more.  With the mutex
// held.
struct CloneNode {
  ExecutableGraph* graph = nullptr;
  GraphNode* place = nullptr;
  CUgraphNode node = nullptr;
};
[[nodiscard]] CloneNode clone_node_of(CUgraphExec exec, CUgraphNode node);
// No copy is right any more.  With the mutex held.
void give_copy_up(ExecutableGraph& graph, std::string why);

// Those whose execs have been destroyed.  Nobody may know them any more: with the run's mutex held,
// after the launch sites were forgotten.
void forget_vacant();

// Nothing will be measured any more.
void give_all_copies_up();

// Bytes that the private copies take, by estimate, and what is kept beside them.
[[nodiscard]] std::uint64_t copy_bytes() noexcept;
[[nodiscard]] std::uint64_t registry_bytes();

}  // namespace graphs
}  // namespace inline_prof::hook
