// Graphs as the host builds them, and executable snapshots of them.
#pragma once

#include "driver/context.hpp"
#include "driver/memory.hpp"
#include "driver/user_object.hpp"
#include "simgpu.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace simgpu {

// The arguments of a kernel in a graph.

struct Kernel;

// cuda.h, cuGraphAddKernelNode: "The kernelParams or extra array, as well as the argument values it
// points to, are copied during this call."  Arguments given one by one can be copied where the
// kernel's PTX tells their sizes; of a kernel of the runtime's only the name is known, and its
// arguments are not kept.
class KernelArguments {
 public:
  KernelArguments(const Kernel& kernel, void* const* parameters, void* const* extra);
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;

  // cuda.h, cuGraphKernelNodeGetParams: "The params will contain either kernelParams or extra,
  // according to which of these was most recently set on the node."  The other one is null.
  [[nodiscard]] void** parameters() const { return is_packed_ ? nullptr : pointers_.data(); }
  [[nodiscard]] void** extra() const { return is_packed_ ? extra_.data() : nullptr; }

 private:
  void copy_packed(void* const* extra);

  std::vector<std::vector<char>> values_;  // one per parameter
  mutable std::vector<void*> pointers_;    // to the values; the vendor's structures are not const
  bool is_packed_ = false;
  std::vector<char> buffer_;
  std::size_t buffer_bytes_ = 0;
  mutable std::array<void*, 5> extra_{};
};

using LaunchAttributes = std::map<CUlaunchAttributeID, CUlaunchAttributeValue>;

// Who asked the device for work, and when: for the log.
struct CallOrigin {
  int thread = 0;            // the kernel's number for it
  std::uint64_t launch = 0;  // kernels that the process had launched directly before
  Nanoseconds asked = 0;     // the host's clock
  Nanoseconds waited = 0;    // when the thread last came back from waiting for a device; 0: never
};

struct KernelWork {
  Kernel* kernel = nullptr;
  Context* context = nullptr;
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned dynamic_shared_bytes = 0;
  simgpu_work work{0, 0};
  std::uint32_t correlation_id = 0;  // of the launch, for the observer
  CallOrigin origin{};               // of the launch

  // Only a node of a graph has these.
  std::shared_ptr<const KernelArguments> arguments{};
  std::shared_ptr<const MeetingSource> meetings{};  // of a collective
  LaunchAttributes attributes{};
  bool given_as_kernel = false;  // by CUkernel and context, not by CUfunction

  [[nodiscard]] int priority() const;
  [[nodiscard]] bool is_cooperative() const;
};

// `slices` planes of `rows` rows of `width` bytes; a plain copy has one row.
struct CopyWork {
  void* destination = nullptr;
  const void* source = nullptr;
  std::size_t destination_pitch = 0, source_pitch = 0;
  std::size_t width = 0, rows = 1;
  std::size_t slices = 1;
  std::size_t destination_slice = 0, source_slice = 0;  // bytes from one plane to the next
  Context* context = nullptr;                           // of a node

  [[nodiscard]] std::size_t bytes() const { return width * rows * slices; }
  [[nodiscard]] bool is_flat() const { return rows == 1 && slices == 1; }
};

// `rows` rows of `width` elements of 1, 2 or 4 bytes.
struct FillWork {
  void* destination = nullptr;
  std::size_t pitch = 0;
  unsigned value = 0;
  unsigned element_bytes = 1;
  std::size_t width = 0, rows = 1;
  Context* context = nullptr;  // of a node

  [[nodiscard]] std::size_t bytes() const { return width * rows * element_bytes; }
};

struct RecordWork {
  std::shared_ptr<Event> event;
};

struct WaitWork {
  std::shared_ptr<Event> event;
};

struct EmptyWork {};

struct HostWork {
  CUhostFn function = nullptr;
  void* data = nullptr;
};

struct Graph;

struct ChildWork {
  Graph* graph = nullptr;  // owned by the node
};

// Memory of an allocation node.  Its address is fixed for as long as the node or an executable
// graph with it lives.
class GraphMemory {
 public:
  GraphMemory(Memory& memory, const Allocation& allocation, unsigned long long owner_graph);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  [[nodiscard]] CUdeviceptr address() const { return base_; }

  unsigned long long owner;      // id of the graph that allocates it
  bool is_live = false;          // a launch has allocated it, and nobody has freed it since
  bool freed_by_owner = false;   // by a node of that graph
  bool freed_elsewhere = false;  // by a node of another graph

 private:
  Memory& memory_;
  std::uintptr_t base_;
  std::uint64_t id_;
};

struct AllocateWork {
  std::shared_ptr<GraphMemory> memory;
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
};

struct FreeWork {
  std::shared_ptr<GraphMemory> memory;
};

using Work = std::variant<EmptyWork, KernelWork, CopyWork, FillWork, RecordWork, WaitWork, HostWork,
                          ChildWork, AllocateWork, FreeWork>;

[[nodiscard]] CUgraphNodeType type_of(const Work& work);

struct Node;

[[nodiscard]] bool same_data(const CUgraphEdgeData& left, const CUgraphEdgeData& right);
[[nodiscard]] inline bool is_default(const CUgraphEdgeData& data) {
  return same_data(data, CUgraphEdgeData{});
}

struct Edge {
  Node* from = nullptr;
  CUgraphEdgeData data{};
};

struct Node {
  Graph* graph = nullptr;
  Work work;
  std::vector<Edge> dependencies;
  unsigned long long id = 0;           // never used again
  unsigned long long cloned_from = 0;  // id of the node that cuGraphClone has copied

  // The graphs inside this node.
  [[nodiscard]] std::vector<Graph*> bodies() const;
};

struct Graph {
  unsigned long long id = 0;
  std::vector<std::unique_ptr<Node>> nodes;  // in order of creation
  std::shared_ptr<Capture> capture;          // set while a capture fills it: not destroyable
  Node* holder = nullptr;                    // the child graph node that it is in
  unsigned long long cloned_from = 0;        // id of the graph that cuGraphClone has copied
  int ordinal = 0;        // of the graph, or of the one that this is a copy of: truth.hpp
  bool is_clone = false;  // a copy of `ordinal`, by cuGraphClone
  UserReferences references;
  // The existing instantiation holds this if there may be only one.
  std::weak_ptr<const void> instantiation;
};

// True if `wanted` holds for a node of `graph` or of a graph inside it.
template <typename Predicate>
[[nodiscard]] bool any_node(const Graph& graph, const Predicate& wanted) {
  for (const auto& node : graph.nodes) {
    if (wanted(*node)) return true;
    for (const Graph* body : node->bodies()) {
      if (any_node(*body, wanted)) return true;
    }
  }
  return false;
}

[[nodiscard]] bool has_memory_nodes(const Graph& graph);

// One capture sequence, from cuStreamBeginCapture to cuStreamEndCapture.
struct Capture {
  unsigned long long id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  Stream* origin = nullptr;
  std::thread::id owner;
  Graph* graph = nullptr;
  bool fills_given_graph = false;  // cuStreamBeginCaptureToGraph: the graph is the host's
  bool invalidated = false;
  bool ended = false;
  std::vector<Stream*> streams;  // origin first
};

// The product of cuGraphInstantiate: nodes in an order in which they can run.  Never changed, so a
// launch that still waits in a stream keeps the version it was launched with.
struct ExecBody;

struct ExecEdge {
  std::size_t from = 0;  // index into the same body
  CUgraphEdgeData data{};
};

struct ExecNode {
  Work work;
  std::vector<ExecEdge> dependencies;
  std::vector<std::shared_ptr<const ExecBody>> bodies{};  // of a child graph
  unsigned long long origin = 0;  // id of the node in the graph that was instantiated
  std::size_t place = 0;          // of that node, in order of creation
  bool is_enabled = true;
};

struct ExecBody {
  std::vector<ExecNode> nodes;
  int graph_ordinal = 0;
  bool is_clone = false;
};

struct GraphExec {
  std::shared_ptr<const ExecBody> body;
  unsigned long long flags = 0;
  CompletionPtr last_launch;
  std::shared_ptr<const void> instantiation;  // Graph::instantiation
  UserReferences references;
};

}  // namespace simgpu
