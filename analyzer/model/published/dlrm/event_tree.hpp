// Which operator called which, from a trace: docs/models/iteration_published.md.
#pragma once

#include "read/trace.hpp"

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

}  // namespace inline_prof::model
