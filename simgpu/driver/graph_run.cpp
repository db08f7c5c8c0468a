#include "driver/graph_run.hpp"

#include "driver/graph_build.hpp"
#include "driver/host_clock.hpp"
#include "driver/observed.hpp"
#include "driver/transfers.hpp"
#include "driver/truth.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace simgpu {
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

namespace {

template <typename CloneRun>
void for_each_node(const ExecBody& body, const CloneRun& visit) {
  for (const ExecNode& node : body.nodes) {
    visit(node);
    for (const auto& inner : node.bodies)
      for_each_node(*inner, visit);
  }
}

// cuda.h, cuGraphLaunch: "If any allocations created by hGraphExec remain unfreed (from a previous
// launch) and hGraphExec was not instantiated with [...] AUTO_FREE_ON_LAUNCH, the launch will fail
// with ::CUDA_ERROR_INVALID_VALUE."
void allocate_and_free(const GraphExec& exec) {
  const bool frees_first = (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
  for_each_node(*exec.body, [&](const ExecNode& node) {
    const auto* allocate = std::get_if<AllocateWork>(&node.work);
    if (allocate != nullptr && allocate->memory->is_live && !frees_first) {
      throw Failure{CUDA_ERROR_INVALID_VALUE};
    }
  });
  for_each_node(*exec.body, [](const ExecNode& node) {
    if (const auto* allocate = std::get_if<AllocateWork>(&node.work)) {
      allocate->memory->is_live = !allocate->memory->freed_by_owner;
    } else if (const auto* freeing = std::get_if<FreeWork>(&node.work)) {
      freeing->memory->is_live = false;
    }
  });
}

bool fits_in_child(const ExecBody& body) {
  bool fits = true;
  for_each_node(body, [&](const ExecNode& node) {
    fits &= !std::holds_alternative<AllocateWork>(node.work) &&
            !std::holds_alternative<FreeWork>(node.work);
  });
  return fits;
}

}  // namespace

// A captured launch becomes a child graph node.
void Simulator::launch_graph(Stream& stream, GraphExec& exec) {
  if (capturing(stream)) {
    if (!fits_in_child(*exec.body)) refuse_stream_query(stream);
    std::vector<Edge> edges = captured_edges(stream, ChildWork{});
    Node& node = add_child_of_exec(*this, *stream.capture->graph, *exec.body, std::move(edges));
    stream.capture_front.set(node);
    return;
  }
  allocate_and_free(exec);
  wait_for_queue_space(stream);
  ++graph_launches;
  auto run =
      std::make_shared<GraphRun>(GraphRun::Launch{.simulator = *this,
                                                  .stream = stream,
                                                  .correlation_id = correlation_of_this_call(),
                                                  .origin = origin_of_this_call(),
                                                  .graph_ordinal = exec.body->graph_ordinal,
                                                  .is_clone = exec.body->is_clone},
                                 exec.body, "");
  run->begin_records();
  Operation operation;
  // cuda.h, cuGraphLaunch: "Each launch is ordered behind both any previous work in hStream and any
  // previous launches of hGraphExec."
  if (exec.last_launch) operation.after.push_back(exec.last_launch);
  operation.dependencies_known();
  operation.graph = run;
  operation.run = [&stream, run](Nanoseconds) {
    stream.launches_ahead.push_back(run->end());
    return run->end();
  };
  operation.completion = exec.last_launch = std::make_shared<Completion>();
  engine.submit(stream, std::move(operation));
}

// cuda.h, cuGraphUpload: "ordered behind both any previous work in hStream and any previous
// launches of hGraphExec".  It takes no time here.
void Simulator::upload_graph(Stream& stream, GraphExec& exec) {
  if (capturing(stream)) refuse_stream_query(stream);
  Operation operation;
  if (exec.last_launch) operation.after.push_back(exec.last_launch);
  operation.dependencies_known();
  engine.submit(stream, std::move(operation));
}

void Simulator::let_go() {
  std::erase_if(leaving, [&](const LeavingReferences& left) {
    return left.last_launch->done && left.last_launch->end <= engine.host_now();
  });
}

}  // namespace simgpu
