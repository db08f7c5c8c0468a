#include "model/published/dlrm/trace_iteration.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace inline_prof::model {
namespace {

using read::TraceEvent;
using read::TraceKind;
using Events = std::vector<const TraceEvent*>;

constexpr double kLongLoadingUs = 100.0;

// Early versions of Kineto gave runtime calls threads that do not exist.
bool is_misplaced(const TraceEvent& event) {
  if (event.kind != TraceKind::kRuntime) return false;
  const auto thread = read::number_of(event.thread);
  const auto process = read::number_of(event.process);
  return thread && process && *process != 0 && *thread < 0 && std::abs(*thread / *process) > 2;
}

bool is_mark(const TraceEvent& event) {
  return event.name == kForwardMark;
}

// Leaves out what is loaded between iterations, and the events before the first mark and behind the
// last iteration that is wanted; 0: all of them.
Events chosen_events(const read::Trace& trace, std::size_t iterations) {
  Events events;
  for (const TraceEvent& event : trace.events) {
    if (!is_misplaced(event)) events.push_back(&event);
  }
  std::ranges::stable_sort(events, [](const auto* left, const auto* right) {
    if (left->start_us != right->start_us) return left->start_us < right->start_us;
    return left->duration_us > right->duration_us;
  });
  if (std::ranges::none_of(events, [](const auto* each) { return is_mark(*each); })) iterations = 0;
  Events kept;
  bool is_loading = false;
  std::size_t marks = 0;
  for (const TraceEvent* event : events) {
    if (is_mark(*event)) {
      is_loading = false;
      if (++marks > iterations && iterations > 0) break;
    }
    if (event->name.find("DataLoader") != std::string::npos && event->duration_us > kLongLoadingUs)
      is_loading = true;
    if (!is_loading && (marks > 0 || iterations == 0)) kept.push_back(event);
  }
  return kept;
}

// Returns the innermost of these events, the outer ones first, that `event` lies in.  Drops those
// that have ended.
NodeId around(const EventTree& tree, std::vector<NodeId>& open, const TraceEvent& event) {
  while (!open.empty() && tree.event(open.back()).end_us() < event.start_us)
    open.pop_back();
  const auto it = std::find_if(open.rbegin(), open.rend(), [&](NodeId node) {
    return tree.event(node).end_us() >= event.end_us();
  });
  return it == open.rend() ? kNoNode : *it;
}

// Threads are told apart by name: they need not be numbers.
using ThreadName = std::pair<std::string, std::string>;

ThreadName thread_of(const TraceEvent& event) {
  return {event.process, event.thread};
}

// The thread that marks the iterations, else that of the first operator.
ThreadName main_thread(const Events& events) {
  const TraceEvent* first = nullptr;
  for (const TraceEvent* event : events) {
    if (is_mark(*event)) return thread_of(*event);
    if (first == nullptr && event->kind == TraceKind::kOperator) first = event;
  }
  return first == nullptr ? ThreadName{} : thread_of(*first);
}

// The deepest call that is followed: PyTorch's stay below a hundred, Python's stack below a
// thousand.
constexpr std::size_t kDeepest = 2000;

void add_nodes(const read::Trace& trace, const Events& events, EventTree& tree) {
  std::vector<std::size_t> depths;
  const ThreadName main = main_thread(events);
  std::map<ThreadName, std::vector<NodeId>> threads;  // events that are open
  for (const TraceEvent* event : events) {
    if (event->kind == TraceKind::kGpu) {
      if (event->correlation) tree.kernels[*event->correlation] = event;
      continue;
    }
    std::vector<NodeId>& own = threads[thread_of(*event)];
    NodeId parent = around(tree, own, *event);
    // The work of autograd's threads belongs to the call of the main thread that waits for them.
    if (parent == kNoNode) parent = around(tree, threads[main], *event);
    const NodeId node = tree.nodes.size();
    tree.nodes.push_back({event, parent, {}});
    depths.push_back(parent == kNoNode ? 0 : depths[parent] + 1);
    if (depths.back() > kDeepest) {
      throw read::InputError(fmt::format("{}: \"{}\" at {} us lies in more than {} other events",
                                         trace.label, event->name, event->start_us, kDeepest));
    }
    if (parent != kNoNode) tree.nodes[parent].children.push_back(node);
    own.push_back(node);
  }
}

// Operators that lie in no other operator.
void add_operators(EventTree& tree) {
  std::vector<bool> is_inside(tree.nodes.size(), false);
  for (NodeId node = 0; node < tree.nodes.size(); ++node) {
    const TraceEvent& event = tree.event(node);
    if (is_mark(event)) tree.starts.push_back(tree.operators.size());
    const NodeId parent = tree.nodes[node].parent;
    is_inside[node] =
        parent != kNoNode && (is_inside[parent] || tree.event(parent).kind == TraceKind::kOperator);
    if (event.kind == TraceKind::kOperator && !is_inside[node]) tree.operators.push_back(node);
  }
}

}  // namespace

const TraceEvent* EventTree::kernel_of(NodeId call) const {
  const auto& correlation = event(call).correlation;
  const auto kernel = correlation ? kernels.find(*correlation) : kernels.end();
  return kernel == kernels.end() ? nullptr : kernel->second;
}

EventTree event_tree(const read::Trace& trace, std::size_t iterations) {
  Events events = chosen_events(trace, iterations);
  EventTree tree;
  if (!events.empty()) {
    tree.start_us = events.front()->start_us;
    tree.end_us = events.back()->start_us;
    events.pop_back();
  }
  add_nodes(trace, events, tree);
  add_operators(tree);
  if (tree.operators.empty()) {
    throw read::InputError(fmt::format("{}: no operator (\"cat\": \"cpu_op\")", trace.label));
  }
  return tree;
}

StreamTimes stream_times(const EventTree& tree) {
  StreamTimes times;
  std::vector<std::pair<double, double>> intervals;
  for (const auto& [correlation, kernel] : tree.kernels) {
    times.busy_us[kernel->stream.value_or(0)] += kernel->duration_us;
    intervals.emplace_back(kernel->start_us, kernel->end_us());
  }
  std::ranges::sort(intervals);
  double busy_until = -std::numeric_limits<double>::infinity();
  for (const auto& [start, end] : intervals) {
    times.total_us += std::max(0.0, end - std::max(start, busy_until));
    busy_until = std::max(busy_until, end);
  }
  return times;
}

}  // namespace inline_prof::model
