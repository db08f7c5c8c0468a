// One launch of an executable graph, or of a graph inside one.
#pragma once

#include "driver/simulator.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace simgpu {

// Nodes that do not depend on each other run beside each other.  What decides when a node ends may
// lie outside: another rank, a call into the host, an event of a stream that waits; the rest of
// the graph goes on meanwhile.
class GraphRun {
 public:
  struct Launch {
    Simulator& simulator;
    Stream& stream;
    std::uint32_t correlation_id;
    CallOrigin origin;
    int graph_ordinal;
    bool is_clone;
  };

  // `prefix` is the place of the node that this graph is in, with a '/', or nothing.
  GraphRun(const Launch& launch, std::shared_ptr<const ExecBody> body, const std::string& prefix);

  // From now on the events of the graph stand for this launch.  After the constructor, which has
  // taken what the graph's waits stand for.
  void begin_records();

  // Runs what can run, and returns whether all nodes have.  The graph is at the head of its stream
  // since `start`.
  bool advance(Nanoseconds start);
  [[nodiscard]] Nanoseconds end() const { return end_; }

  void add_open_meetings(std::vector<Meeting*>& open) const;

 private:
  struct NodeRun {
    std::shared_ptr<Meeting> meeting;
    std::shared_ptr<HostCall> host_call;
    bool host_call_started = false;
    CompletionPtr event;              // waited for, or recorded
    std::unique_ptr<GraphRun> inner;  // a child graph
    bool is_done = false;
    Nanoseconds begin = 0, end = 0;
  };

  void prepare(NodeRun& run, const ExecNode& node, const std::string& prefix);
  [[nodiscard]] bool find_begin(NodeRun& run, const ExecNode& node, Nanoseconds start) const;
  bool run_node(NodeRun& run, const ExecNode& node);
  [[nodiscard]] bool follows_kernel(const ExecNode& node) const;

  const Launch launch_;
  const std::shared_ptr<const ExecBody> body_;
  std::vector<NodeRun> runs_;  // parallel to the body's nodes
  std::vector<std::string> places_;
  Nanoseconds end_ = 0;
};

}  // namespace simgpu
