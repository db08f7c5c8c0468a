// The application's executable graphs: what a launch of each runs, and a private copy of its
// definition, from which clones with events are made.
//
// A graph launch counts as a launch of its ExecutableGraph, which the launch table, the period
// search and the armed events treat like a kernel's handle.
#pragma once

#include "graphs/capture_notes.hpp"
#include "launch/copies.hpp"

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace inline_prof::graphs {

struct GraphNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUgraphNode copy = nullptr;     // the node in ExecutableGraph::copy, or null
  CUfunction function = nullptr;  // of a copy: its kind's key
  launch::Copy copied{};          // by a node that copies, fills or is an operation on memory
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  unsigned dynamic_shared_bytes = 0;
  int child_kernels = 0;   // of a child graph
  bool is_enabled = true;  // in the application's exec
  std::shared_ptr<const NodeNotes> notes;

  [[nodiscard]] bool is_kernel() const { return type == CU_GRAPH_NODE_TYPE_KERNEL; }
  // True if the node can be timed by itself.
  [[nodiscard]] bool is_work() const { return is_kernel() || copied.bytes > 0; }
};

// Never destroyed, since the launch table points to it.  A graph that the application destroys and
// creates again with the same nodes is the same ExecutableGraph.
struct ExecutableGraph {
  std::atomic<CUgraphExec> exec{nullptr};  // null: destroyed
  // Counts the application's changes of its exec; clones built before a change are stale.
  std::atomic<std::uint64_t> generation{0};
  std::atomic<std::uint32_t> kernels{0};  // run by one launch, including child graphs

  // Everything below is guarded by the registry's mutex.
  int number = 0;  // in order of first appearance
  std::uint64_t signature = 0;
  int times_made = 0;
  int times_updated = 0;
  std::vector<GraphNode> nodes;  // in the order of their creation
  CUgraph copy = nullptr;        // null: none
  CUgraph source = nullptr;      // the application's graph; null once it is destroyed
  std::unordered_map<CUgraphNode, std::size_t> places;  // of the source's nodes in `nodes`
  unsigned long long flags = 0;                         // of its instantiation
  bool holds_references = false;  // its user objects live until the last copy of the graph is gone
  const void* stream = nullptr;   // on which it is launched
  bool overlaps = false;          // some kernels with their neighbours, by programmatic edges
  std::string why_whole;          // why its kernels cannot be timed individually; empty if they can
};

// A graph that is re-created more often than this in the warm-up will be re-created while it is
// measured.
inline constexpr int kOftenMade = 3;
inline constexpr const char* kMadeAnew = "the program makes it anew again and again";

// Held for look-ups and small changes; never while graphs are copied or instantiated.
[[nodiscard]] std::mutex& mutex() noexcept;

// Returns null for an exec whose instantiation was not seen.  Lock-free.
[[nodiscard]] ExecutableGraph* of(CUgraphExec exec) noexcept;
// The same, but an unknown exec gets an ExecutableGraph without nodes.
[[nodiscard]] ExecutableGraph* known_or_new(CUgraphExec exec);

// Called after the application has made, updated or retained something.
void made(CUgraphExec exec, CUgraph graph, unsigned long long flags);
void updated_from(CUgraphExec exec, CUgraph graph);
void references_held(CUgraph graph);
// Called before the application destroys it.
void before_exec_is_destroyed(CUgraphExec exec);
void before_graph_is_destroyed(CUgraph graph);

// Called with the mutex held when the application has changed one node of its exec.  Returns the
// corresponding node of the copy, to which the caller makes the same change; if it is null, the
// copy must be given up.
struct CloneNode {
  ExecutableGraph* graph = nullptr;
  GraphNode* place = nullptr;
  CUgraphNode node = nullptr;
};
[[nodiscard]] CloneNode clone_node_of(CUgraphExec exec, CUgraphNode node);
// Called when the copy no longer matches the application's graph, with the mutex held.
void give_copy_up(ExecutableGraph& graph, std::string why);

// Forgets graphs whose execs have been destroyed.  With the run's mutex held, after the launch
// sites that refer to them were removed.
void forget_vacant();

// Called when measuring is over.
void give_all_copies_up();

// Estimated size of the private copies and of what is kept for them, in bytes.
[[nodiscard]] std::uint64_t copy_bytes() noexcept;
[[nodiscard]] std::uint64_t registry_bytes();

}  // namespace inline_prof::graphs
