// The iterations of a trace as the DLRM models see them: which operator called which, what the host
// adds to each (T1 to T5), the kernels that have a model, and the end-to-end time of an iteration
// on one rank (iteration.md beside this file).
#pragma once

#include "model/published/dlrm/embedding.hpp"
#include "model/published/dlrm/product_table.hpp"
#include "read/iteration_input.hpp"
#include "read/torch_trace/event_list.hpp"

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace inline_prof::model {

// Nodes are numbers, in the order of their start.
using NodeId = std::size_t;
inline constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();

struct EventNode {
  const read::TraceEvent* event = nullptr;
  NodeId parent = kNoNode;
  std::vector<NodeId> children;
};

// Refers to the trace it was made from.
struct EventTree {
  std::vector<EventNode> nodes;  // of the host
  std::vector<NodeId>
      operators;  // outermost ones; annotations do not count as anything around them
  std::vector<std::size_t> starts;  // places in `operators` where an iteration begins
  std::map<std::int64_t, const read::TraceEvent*> kernels;  // by correlation; the last one wins
  double start_us = 0.0;
  double end_us = 0.0;  // start of the last event, which the original drops

  [[nodiscard]] const read::TraceEvent& event(NodeId node) const { return *nodes[node].event; }
  // Returns the kernel that a call launched; null if the trace does not have it.
  [[nodiscard]] const read::TraceEvent* kernel_of(NodeId call) const;
};

// The mark at which an iteration begins.
inline constexpr const char* kForwardMark = "## Forward ##";

// `iterations`: use only so many from the first mark on; 0 for everything.
// Throws read::InputError if there is no operator.
[[nodiscard]] EventTree event_tree(const read::Trace& trace, std::size_t iterations = 0);

// Microseconds in which each stream was busy, and any of them.
struct StreamTimes {
  std::map<std::int64_t, double> busy_us;
  double total_us = 0.0;
};
[[nodiscard]] StreamTimes stream_times(const EventTree& tree);

// Mean and population standard deviation of samples without negative ones and outliers.
struct Spread {
  double mean = 0.0;
  double std = 0.0;
  std::size_t count = 0;
};

template <typename Value>
struct HostTimes {
  // By the operator's name and shapes.
  using ByShape = std::map<std::string, std::map<std::string, Value>>;

  Value between;   // T1: from an operator to the next one
  ByShape before;  // T2: from the start of an operator to its first launch
  ByShape after;   // T3: from its last launch to its end
  ByShape among;   // T5: from a launch to the next; the whole operator, if it launches nothing
  std::map<std::string, Value> launch;                       // T4: in the call, by the call's name
  std::map<std::string, std::vector<std::string>> launches;  // the calls of an operator, once
};
using Overheads = HostTimes<Spread>;
using ByShape = Overheads::ByShape;

[[nodiscard]] Overheads overheads(const EventTree& tree);

// Returns the means by operator alone, over all shapes: each shape's, weighed by its samples.
[[nodiscard]] std::map<std::string, double> means(const ByShape& spreads);

// Returns the calls below `op` that start something on the GPU or wait for it, in their order.
[[nodiscard]] std::vector<NodeId> launches_of(const EventTree& tree, NodeId op);

// The parameters of the operators' models.  The defaults are the original's V100; its L2 is 6 MiB,
// and four times that stands in the code.
struct OperatorModels {
  const ProductTable* products = nullptr;  // null: matrix products have no prediction
  LookupMachine machine{.dram_gb_per_s = 809,
                        .l2_gb_per_s = 2888,
                        .throughput_gflops = 12200,
                        .l2_bytes = 25165824,
                        .sm_count = 80};
};

struct OperatorKernels {
  bool is_known = false;         // one of the operators that have a model
  std::vector<double> times_us;  // one for each kernel that the model knows of
  std::string error;             // the exception with which the original ends; "" if it does not
  std::string reason;
};

// Unknown operators take no time in the original.
[[nodiscard]] OperatorKernels operator_kernels(const EventTree& tree, NodeId op,
                                               const OperatorModels& models);

// Microseconds.
struct WalkResult {
  std::string error;   // "KeyError" where a cost is missing, and nothing else holds; else ""
  std::string reason;  // which one
  double end_to_end = 0.0;
  double gpu_active = 0.0;
  double busiest_stream = 0.0;            // kernels alone, on the stream that has most of them
  double exposed_collective_share = 0.0;  // of the end-to-end time

  // Times of host and streams at the end.
  double host = 0.0;
  double compute_stream = 0.0;
  double collective_stream = 0.0;
  double compute_busy = 0.0;
  double collective_busy = 0.0;
  double exposed_collective = 0.0;  // may be negative

  [[nodiscard]] double idle() const { return end_to_end - gpu_active; }
};

// Walks over the operators behind the first mark, in their order; over all of them if there is no
// mark.  Every kernel takes 5 us more than it says.
[[nodiscard]] WalkResult walk(const read::IterationGraph& graph);

enum class KernelTimes { kPredicted, kMeasured };

struct TraceIteration {
  EventTree tree;
  StreamTimes streams;
  Overheads costs;
  // One for each of tree.operators.
  std::vector<OperatorKernels> predicted;
  double total_us = 0.0;                     // of all predicted kernels, one after the other
  std::vector<read::IterationGraph> graphs;  // one for each iteration, as the next
  std::vector<WalkResult> walks;
  WalkResult mean;  // of them
};

// Evaluates a trace, which the result refers to.  Throws read::InputError.
[[nodiscard]] TraceIteration trace_iteration(const read::Trace& trace, std::size_t iterations,
                                             KernelTimes kernels, const OperatorModels& models);

}  // namespace inline_prof::model
