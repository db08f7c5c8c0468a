#include "driver/graph_run.hpp"

#include "driver/host_calls.hpp"
#include "driver/timeline_log.hpp"
#include "driver/transfers.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace simgpu {
namespace {

// Which body of a conditional node runs: CUDA_CONDITIONAL_NODE_PARAMS, at phGraph_out.  A loop that
// is entered is left after one pass: no kernel computes the value that would keep it going.
const ExecBody* chosen_body(const ConditionalWork& work, const ExecNode& node) {
  const unsigned value = work.handle->value();
  std::size_t chosen = 0;
  switch (work.type) {
    case CU_GRAPH_COND_TYPE_IF:  // "If size == 2, phGraph_out[1] will be executed when [...] zero."
      chosen = value != 0 ? 0 : 1;
      break;
    case CU_GRAPH_COND_TYPE_WHILE:
      chosen = value != 0 ? 0 : node.bodies.size();
      break;
    case CU_GRAPH_COND_TYPE_SWITCH:  // "If the condition >= size, no body graph is executed."
      chosen = value;
      break;
  }
  return chosen < node.bodies.size() ? node.bodies[chosen].get() : nullptr;
}

}  // namespace

GraphRun::GraphRun(const Launch& launch, std::shared_ptr<const ExecBody> body,
                   const std::string& prefix)
    : launch_(launch), body_(std::move(body)), runs_(body_->nodes.size()) {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    places_.push_back(prefix + std::to_string(body_->nodes[i].place));
    prepare(runs_[i], body_->nodes[i], places_[i] + "/");
  }
}

void GraphRun::prepare(NodeRun& run, const ExecNode& node, const std::string& prefix) {
  if (!node.is_enabled) return;
  if (const auto* kernel = std::get_if<KernelWork>(&node.work)) {
    if (kernel->meetings) run.meeting = kernel->meetings->next();
  } else if (const auto* wait = std::get_if<WaitWork>(&node.work)) {
    run.event = wait->event->record;
  } else if (const auto* host = std::get_if<HostWork>(&node.work)) {
    run.host_call = std::make_shared<HostCall>();
    run.host_call->function = host->function;
    run.host_call->data = host->data;
  } else if (std::holds_alternative<ChildWork>(node.work)) {
    run.inner = std::make_unique<GraphRun>(launch_, node.bodies.front(), prefix);
  } else if (const auto* conditional = std::get_if<ConditionalWork>(&node.work)) {
    const ExecBody* chosen = chosen_body(*conditional, node);
    for (std::size_t i = 0; i < node.bodies.size(); ++i) {
      if (node.bodies[i].get() != chosen) continue;
      run.inner =
          std::make_unique<GraphRun>(launch_, node.bodies[i], prefix + std::to_string(i) + "/");
    }
  }
}

void GraphRun::begin_records() {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (const auto* record = std::get_if<RecordWork>(&body_->nodes[i].work)) {
      runs_[i].event = std::make_shared<Completion>();
      record->event->record = runs_[i].event;
      record->event->capture = nullptr;
      record->event->captured.clear();
    }
    if (runs_[i].inner) runs_[i].inner->begin_records();
  }
}

// True once all that the node depends on has ended, or begun where that is enough:
// CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER "activates when all blocks of the kernel have begun
// execution"; CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC when they have triggered, which the model
// says.
bool GraphRun::find_begin(NodeRun& run, const ExecNode& node, Nanoseconds start) const {
  run.begin = start;
  for (const ExecEdge& edge : node.dependencies) {
    const NodeRun& before = runs_[edge.from];
    if (!before.is_done) return false;
    Nanoseconds ready = before.end;
    if (edge.data.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER) ready = before.begin;
    if (edge.data.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC)
      ready = launch_.simulator.programmatic_begin(before.begin, before.end);
    run.begin = std::max(run.begin, ready);
  }
  return true;
}

bool GraphRun::follows_kernel(const ExecNode& node) const {
  return std::any_of(node.dependencies.begin(), node.dependencies.end(), [&](const ExecEdge& edge) {
    return std::holds_alternative<KernelWork>(body_->nodes[edge.from].work);
  });
}

// True if the node has run: `run.end` is known.
bool GraphRun::run_node(NodeRun& run, const ExecNode& node) {
  Simulator& s = launch_.simulator;
  run.end = run.begin;
  // cuGraphNodeSetEnabled: "Disabled nodes are functionally equivalent to empty nodes".
  if (!node.is_enabled) return true;
  const NodePlace place{.graph = launch_.graph_ordinal,
                        .is_clone = launch_.is_clone,
                        .node = places_[static_cast<std::size_t>(&run - runs_.data())]};
  if (const auto* kernel = std::get_if<KernelWork>(&node.work)) {
    if (run.meeting && !run.meeting->is_complete(run.begin)) return false;
    const auto ready = run.meeting ? run.meeting->all_there() : run.begin;
    KernelWork launched = *kernel;
    launched.correlation_id = launch_.correlation_id;
    launched.origin = launch_.origin;
    ++s.graph_kernels;
    run.end = s.run_kernel(launch_.stream, launched, run.begin, ready, &place);
  } else if (const auto* copy = std::get_if<CopyWork>(&node.work)) {
    move_bytes(*copy);
    run.end += s.transfer_duration(copy->destination, copy->source, copy->bytes());
    log_timeline(launch_.stream, "copy", "", launch_.origin, &place, run.begin, run.end);
  } else if (const auto* fill = std::get_if<FillWork>(&node.work)) {
    fill_bytes(*fill);
    run.end += s.transfer_duration(fill->destination, nullptr, fill->bytes());
    log_timeline(launch_.stream, "fill", "", launch_.origin, &place, run.begin, run.end);
  } else if (std::holds_alternative<RecordWork>(node.work)) {
    run.end +=
        s.record_duration(launch_.stream, s.model.events.graph_pair_bias_us, follows_kernel(node));
    run.event->end = run.end;
    run.event->done = true;
  } else if (std::holds_alternative<WaitWork>(node.work)) {
    if (run.event && !run.event->done) return false;
    if (run.event) run.end = std::max(run.end, run.event->end);
  } else if (run.host_call) {
    const HostClock& clock = s.engine.host_clock;
    if (!run.host_call_started) start_host_call(run.host_call, clock, run.begin);
    run.host_call_started = true;
    if (!run.host_call->returned.load(std::memory_order_acquire)) return false;
    if (clock.is_real()) run.end = std::max(run.end, clock.now());
  } else if (run.inner) {
    if (!run.inner->advance(run.begin)) return false;
    run.end = run.inner->end();
  }
  return true;
}

bool GraphRun::advance(Nanoseconds start) {
  end_ = std::max(end_, start);
  bool all_done = true;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    NodeRun& run = runs_[i];
    if (run.is_done) continue;
    run.is_done = find_begin(run, body_->nodes[i], start) && run_node(run, body_->nodes[i]);
    all_done &= run.is_done;
    if (run.is_done) end_ = std::max(end_, run.end);
  }
  return all_done;
}

void GraphRun::add_open_meetings(std::vector<Meeting*>& open) const {
  for (const NodeRun& run : runs_) {
    if (run.is_done) continue;
    if (run.meeting && run.meeting->has_begun()) open.push_back(run.meeting.get());
    if (run.inner) run.inner->add_open_meetings(open);
  }
}

}  // namespace simgpu
