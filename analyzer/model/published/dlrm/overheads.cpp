#include "base/error_metrics.hpp"
#include "model/published/dlrm/trace_iteration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace inline_prof::model {
namespace {

using read::TraceEvent;
using read::TraceKind;

// Times that the profiler itself adds, in microseconds.
constexpr double kHostEventUs = 2.0;
constexpr double kGpuEventUs = 4.0;
constexpr double kLaunchUs = 10.0;

constexpr const char* kSynchronize = "cudaStreamSynchronize";
constexpr const char* kCopyOperator = "aten::to";
constexpr double kLongestGapUs = 200.0;

bool is_overlooked(const TraceEvent& event) {
  static constexpr std::array<std::string_view, 5> names{
      "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "cudaPeakAtLastError",
      "cudaStreamGetCaptureInfo", "cudaEventQuery", "cudaEventRecord"};
  return std::ranges::find(names, event.name) != names.end();
}

bool is_launch(const TraceEvent& event) {
  return event.name == "cudaLaunchKernel" || event.name == "cudaMemcpyAsync" ||
         event.name == kSynchronize;
}

// How many events the profiler recorded for an operator, itself included.
std::size_t recorded_events(const EventTree& tree, NodeId node) {
  std::size_t count = 1;
  for (const NodeId child : tree.nodes[node].children) {
    if (!is_overlooked(tree.event(child))) count += recorded_events(tree, child);
  }
  return count;
}

struct Launch {
  NodeId node = kNoNode;
  std::size_t events_before = 0;  // since the launch before, or since the operator's start
};

// Depth first.  `visited` counts nodes since the last runtime call that may be a launch.
void add_launches(const EventTree& tree, NodeId node, std::size_t& visited, std::size_t& dropped,
                  std::vector<Launch>& launches) {
  for (const NodeId child : tree.nodes[node].children) {
    const TraceEvent& event = tree.event(child);
    ++visited;
    const bool is_leaf = tree.nodes[child].children.empty();
    if (is_leaf && event.kind == TraceKind::kRuntime && !is_overlooked(event)) {
      if (is_launch(event)) {
        launches.push_back({child, visited - 1 + dropped});
        dropped = 0;
      } else {
        dropped += visited - 1;
      }
      visited = 0;
    }
    add_launches(tree, child, visited, dropped, launches);
  }
}

std::vector<Launch> launches_below(const EventTree& tree, NodeId op) {
  std::vector<Launch> launches;
  std::size_t visited = 0;
  std::size_t dropped = 0;
  add_launches(tree, op, visited, dropped, launches);
  return launches;
}

double recording_us(std::size_t events) {
  return kHostEventUs * static_cast<double>(events);
}

// Returns the event that an operator lies in, annotations aside.
NodeId container(const EventTree& tree, NodeId op) {
  NodeId node = tree.nodes[op].parent;
  while (node != kNoNode && tree.event(node).kind == TraceKind::kAnnotation)
    node = tree.nodes[node].parent;
  return node;
}

using Samples = std::vector<double>;
using Collected = HostTimes<Samples>;

Spread spread(const Samples& samples) {
  Samples raised;
  for (const double sample : samples)
    raised.push_back(std::max(sample, 0.0));
  const Samples kept = base::without_outliers(raised);
  Spread result;
  result.count = kept.size();
  if (kept.empty()) return result;
  const auto count = static_cast<double>(kept.size());
  for (const double sample : kept)
    result.mean += sample;
  result.mean /= count;
  double squares = 0.0;
  for (const double sample : kept)
    squares += (sample - result.mean) * (sample - result.mean);
  result.std = std::sqrt(squares / count);
  return result;
}

ByShape spreads(const Collected::ByShape& samples) {
  ByShape result;
  for (const auto& [name, shapes] : samples) {
    for (const auto& [shape, values] : shapes)
      result[name][shape] = spread(values);
  }
  return result;
}

void add_launches_of(const EventTree& tree, NodeId op, const std::vector<Launch>& launches,
                     Collected& all) {
  const TraceEvent& event = tree.event(op);
  const TraceEvent& first = tree.event(launches.front().node);
  const TraceEvent& last = tree.event(launches.back().node);
  all.before[event.name][event.shapes].push_back(first.start_us - event.start_us -
                                                 recording_us(launches.front().events_before));
  std::size_t up_to_last = 0;
  for (const Launch& launch : launches)
    up_to_last += launch.events_before + 1;
  const double events_after =
      static_cast<double>(recorded_events(tree, op)) - static_cast<double>(up_to_last);
  all.after[event.name][event.shapes].push_back(event.end_us() - last.end_us() -
                                                kHostEventUs * events_after);

  Samples& among = all.among[event.name][event.shapes];
  if (launches.size() == 1) among.push_back(0.0);
  const auto [calls, is_first] = all.launches.emplace(event.name, std::vector<std::string>{});
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const TraceEvent& call = tree.event(launches[i].node);
    if (i > 0) {
      among.push_back(call.start_us - tree.event(launches[i - 1].node).end_us() -
                      recording_us(launches[i].events_before));
    }
    if (call.name == kSynchronize) continue;
    all.launch[call.name].push_back(kLaunchUs - kHostEventUs - kGpuEventUs);
    if (is_first) calls->second.push_back(call.name);
  }
}

void add_operator(const EventTree& tree, NodeId op, NodeId previous, Collected& all) {
  const std::vector<Launch> launches = launches_below(tree, op);
  const TraceEvent& event = tree.event(op);
  if (event.name == kCopyOperator && launches.empty()) return;
  if (previous != kNoNode && container(tree, previous) == container(tree, op)) {
    const double gap = event.start_us - tree.event(previous).end_us();
    if (gap > kHostEventUs && gap < kLongestGapUs) all.between.push_back(gap - kHostEventUs);
  }
  if (!launches.empty()) return add_launches_of(tree, op, launches, all);
  all.among[event.name][event.shapes].push_back(event.duration_us -
                                                recording_us(recorded_events(tree, op)));
}

}  // namespace

Overheads overheads(const EventTree& tree) {
  Collected all;
  NodeId previous = kNoNode;
  for (const NodeId op : tree.operators) {
    add_operator(tree, op, previous, all);
    previous = op;
  }
  Overheads result{.between = spread(all.between),
                   .before = spreads(all.before),
                   .after = spreads(all.after),
                   .among = spreads(all.among),
                   .launch = {},
                   .launches = std::move(all.launches)};
  for (const auto& [name, samples] : all.launch)
    result.launch[name] = spread(samples);
  return result;
}

std::map<std::string, double> means(const ByShape& by_shape) {
  std::map<std::string, double> result;
  for (const auto& [name, shapes] : by_shape) {
    double sum = 0.0;
    double count = 0.0;
    for (const auto& [shape, spread] : shapes) {
      sum += spread.mean * static_cast<double>(spread.count);
      count += static_cast<double>(spread.count);
    }
    result[name] = count > 0 ? sum / count : 0.0;
  }
  return result;
}

std::vector<NodeId> launches_of(const EventTree& tree, NodeId op) {
  std::vector<NodeId> nodes;
  for (const Launch& launch : launches_below(tree, op))
    nodes.push_back(launch.node);
  return nodes;
}

}  // namespace inline_prof::model
