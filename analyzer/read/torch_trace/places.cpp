#include "read/text_lines.hpp"
#include "read/torch_trace/trace_events.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace inline_prof::read::torch_trace {
namespace {

constexpr std::string_view kBackwardNode = "autograd::engine::evaluate_function: ";

// "## forward:over_arch ##" and "Optimizer.step#AdamW.step" as people write programs: without the
// ornaments that make annotations stand out in a viewer.
std::string annotation_text(std::string_view name) {
  while (name.starts_with('#') || name.starts_with(' '))
    name.remove_prefix(1);
  while (name.ends_with('#') || name.ends_with(' '))
    name.remove_suffix(1);
  return std::string(name);
}

// Finds what encloses a point of time on one thread, the outermost first.
class Enclosing {
 public:
  explicit Enclosing(const TraceEvents& trace) : trace_(trace) {}

  // `begin` and `end` are the thread's events.  Times must not decrease from call to call.
  void start(std::size_t begin, std::size_t end) {
    next_ = begin;
    end_ = end;
    open_.clear();
  }
  const std::vector<std::size_t>& at(double us) {
    for (; next_ < end_ && trace_.host[next_].start_us <= us; ++next_) {
      close(trace_.host[next_].start_us);
      open_.push_back(next_);
    }
    close(us);
    return open_;
  }

 private:
  void close(double us) {
    while (!open_.empty() && trace_.host[open_.back()].end_us < us)
      open_.pop_back();
  }

  const TraceEvents& trace_;
  std::size_t next_ = 0;
  std::size_t end_ = 0;
  std::vector<std::size_t> open_;
};

// The operators of forward passes, by what their backward passes know of them.
class ForwardOperators {
 public:
  explicit ForwardOperators(const TraceEvents& trace) : trace_(trace) {
    for (std::size_t i = 0; i < trace.host.size(); ++i) {
      const HostEvent& event = trace.host[i];
      if (event.kind != HostKind::kOperator) continue;
      start_of_[{event.thread, event.start_us}] = i;
      if (event.sequence < 0 || event.forward_thread != 0 || is_backward(event)) continue;
      // Operators carry the number that the next node will get: the last one made the node.
      by_sequence_[event.sequence].push_back(i);
    }
    for (const BackwardFlow& flow : trace.flows) {
      const auto forward = start_of_.find({flow.forward_thread, flow.forward_us});
      const auto backward = start_of_.find({flow.backward_thread, flow.backward_us});
      if (forward != start_of_.end() && backward != start_of_.end())
        by_flow_[backward->second] = forward->second;
    }
  }

  [[nodiscard]] bool is_backward(const HostEvent& event) const {
    return trace_.names.text(event.name).starts_with(kBackwardNode);
  }

  // The forward operator whose gradient one of `enclosing` computes.
  [[nodiscard]] std::optional<std::size_t> forward_of(
      const std::vector<std::size_t>& enclosing) const {
    for (const std::size_t i : enclosing) {
      if (const auto flow = by_flow_.find(i); flow != by_flow_.end()) return flow->second;
      const HostEvent& event = trace_.host[i];
      if (event.kind != HostKind::kOperator || event.sequence < 0) continue;
      if (event.forward_thread == 0 && !is_backward(event)) continue;
      const auto found = by_sequence_.find(event.sequence);
      if (found == by_sequence_.end()) continue;
      std::optional<std::size_t> best;
      for (const std::size_t forward : found->second) {
        const HostEvent& candidate = trace_.host[forward];
        if (candidate.start_us < event.start_us &&
            (!best || trace_.host[*best].start_us < candidate.start_us))
          best = forward;
      }
      if (best) return best;
    }
    return std::nullopt;
  }

 private:
  const TraceEvents& trace_;
  std::map<std::pair<std::uint32_t, double>, std::size_t> start_of_;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> by_sequence_;
  std::unordered_map<std::size_t, std::size_t> by_flow_;
};

class Finder {
 public:
  explicit Finder(const TraceEvents& trace) : trace_(trace), forward_(trace) {
    found_.of_work.resize(trace.works.size());
    found_.layers.id_of("");
    found_.has_modules = std::ranges::count(trace.host, HostKind::kModule, &HostEvent::kind) > 0;
    for (std::size_t i = 0; i < trace.host.size(); ++i) {
      auto& [begin, end] = threads_.try_emplace(trace.host[i].thread, i, i).first->second;
      end = i + 1;
    }
  }

  Places find() {
    find_forward_layers();
    Enclosing enclosing(trace_);
    for (auto& [thread, launches] : launches_by_thread()) {
      const auto events = threads_.find(thread);
      if (events == threads_.end()) continue;
      enclosing.start(events->second.first, events->second.second);
      for (const auto& [us, work] : launches)
        place(found_.of_work[work], enclosing.at(us));
    }
    shorten_layers();
    find_what_launches_met();
    return std::move(found_);
  }

 private:
  using Launches = std::vector<std::pair<double, std::size_t>>;

  std::map<std::uint32_t, Launches> launches_by_thread() {
    std::map<std::uint32_t, Launches> launches;
    for (std::size_t i = 0; i < trace_.works.size(); ++i) {
      const GpuWork& work = trace_.works[i];
      const auto launch = [&](const auto& by) {
        found_.of_work[i].launched_us = by.start_us;
        launches[by.thread].emplace_back(by.start_us, i);
      };
      const auto call = trace_.calls.find(work.correlation);
      if (call != trace_.calls.end()) {
        launch(call->second);
      } else if (const HostEvent* const named = named_operator(work); named != nullptr) {
        launch(*named);
      }
    }
    for (auto& [thread, of_thread] : launches)
      std::ranges::stable_sort(of_thread);
    return launches;
  }

  // The operator that a kernel without a launch on record names; null if there is none.
  const HostEvent* named_operator(const GpuWork& work) {
    if (work.external_id < 0 || work.external_id == work.correlation) return nullptr;
    if (operator_of_id_.empty()) {
      for (const HostEvent& event : trace_.host)
        if (event.kind == HostKind::kOperator) operator_of_id_.emplace(event.external_id, &event);
    }
    const auto found = operator_of_id_.find(work.external_id);
    return found == operator_of_id_.end() || found->second->start_us > work.start_us
               ? nullptr
               : found->second;
  }

  void find_what_launches_met() {
    double first_us = std::numeric_limits<double>::infinity();
    for (const Place& place : found_.of_work)
      if (place.launched_us >= 0) first_us = std::min(first_us, place.launched_us);
    std::map<std::uint32_t, std::vector<double>> waits;  // their ends, by thread
    for (const auto& [correlation, call] : trace_.calls) {
      // The profiler waits when it starts, before anything is launched.
      if (call.end_us > first_us &&
          trace_.names.text(call.name).find("Synchronize") != std::string::npos)
        waits[call.thread].push_back(call.end_us);
    }
    for (auto& [thread, ends] : waits)
      std::sort(ends.begin(), ends.end());
    std::map<std::pair<std::int32_t, std::int64_t>, double> busy_until_us;  // by stream
    for (std::size_t i = 0; i < trace_.works.size(); ++i) {
      const GpuWork& work = trace_.works[i];
      double& busy_us = busy_until_us[{work.device, work.stream}];
      if (const auto call = trace_.calls.find(work.correlation); call != trace_.calls.end()) {
        Place& place = found_.of_work[i];
        place.tight = place.launched_us < busy_us ? Tight::kYes : Tight::kNo;
        const std::vector<double>& ends = waits[call->second.thread];
        const auto next = std::upper_bound(ends.begin(), ends.end(), place.launched_us);
        if (next != ends.begin()) place.after_wait_us = place.launched_us - *std::prev(next);
      }
      busy_us = std::max(busy_us, work.start_us + work.duration_us);
    }
  }

  // Backward passes ask for the layers of operators that launched nothing themselves.
  void find_forward_layers() {
    Enclosing enclosing(trace_);
    for (const auto& [thread, events] : threads_) {
      enclosing.start(events.first, events.second);
      for (std::size_t i = events.first; i < events.second; ++i) {
        const HostEvent& event = trace_.host[i];
        const auto& around = enclosing.at(event.start_us);
        if (event.kind == HostKind::kOperator && event.sequence >= 0)
          layer_of_[i] = layer_of(around);
      }
    }
  }

  std::string layer_of(const std::vector<std::size_t>& enclosing) const {
    std::string modules, annotations, outermost;
    for (const std::size_t i : enclosing) {
      const HostEvent& event = trace_.host[i];
      const std::string& name = trace_.names.text(event.name);
      switch (event.kind) {
        case HostKind::kModule:
          modules.append(modules.empty() ? "" : "/").append(name);
          break;
        case HostKind::kAnnotation:
          if (profiler_step(name) || is_of_collective(name)) break;
          annotations.append(annotations.empty() ? "" : "/").append(annotation_text(name));
          break;
        case HostKind::kOperator:
          if (outermost.empty()) outermost = name;
          break;
      }
    }
    if (!modules.empty()) return modules;
    return annotations.empty() ? outermost : annotations;
  }

  void place(Place& place, const std::vector<std::size_t>& enclosing) {
    for (const std::size_t i : enclosing) {
      if (trace_.host[i].kind == HostKind::kOperator)
        place.operation = static_cast<std::int32_t>(i);
      if (trace_.host[i].kind == HostKind::kAnnotation)
        place.annotation = static_cast<std::int32_t>(i);
    }
    if (const auto forward = forward_.forward_of(enclosing)) {
      if (const auto layer = layer_of_.find(*forward);
          layer != layer_of_.end() && !layer->second.empty()) {
        place.layer = found_.layers.id_of(layer->second + ".backward");
        return;
      }
    }
    place.layer = found_.layers.id_of(layer_of(enclosing));
  }

  // All paths of modules begin with the model's own name, which tells nothing: it is left out where
  // one model made them all.
  void shorten_layers() {
    if (!found_.has_modules) return;
    while (true) {
      std::optional<std::string> first;
      for (std::uint32_t id = 0; id < found_.layers.size(); ++id) {
        const std::string& path = found_.layers.text(id);
        const std::size_t slash = path.find('/');
        if (slash == std::string::npos) continue;
        if (first && path.compare(0, slash, *first) != 0) return;
        first = path.substr(0, slash);
      }
      if (!first) return;
      Names shorter;
      std::vector<std::uint32_t> renamed;
      for (std::uint32_t id = 0; id < found_.layers.size(); ++id) {
        const std::string& path = found_.layers.text(id);
        const std::size_t slash = path.find('/');
        renamed.push_back(
            shorter.id_of(slash == std::string::npos ? path : path.substr(slash + 1)));
      }
      for (Place& place : found_.of_work)
        place.layer = renamed[place.layer];
      found_.layers = std::move(shorter);
    }
  }

  const TraceEvents& trace_;
  ForwardOperators forward_;
  Places found_;
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> threads_;
  std::unordered_map<std::size_t, std::string> layer_of_;  // of forward operators
  std::unordered_map<std::int64_t, const HostEvent*> operator_of_id_;
};

}  // namespace

std::optional<std::int64_t> profiler_step(std::string_view name) {
  constexpr std::string_view prefix = "ProfilerStep#";
  if (!name.starts_with(prefix)) return std::nullopt;
  return number_of<std::int64_t>(name.substr(prefix.size()));
}

bool is_of_collective(std::string_view name) {
  return name.starts_with("nccl:") || name.starts_with("gloo:");
}

Places find_places(const TraceEvents& trace) {
  return Finder(trace).find();
}

}  // namespace inline_prof::read::torch_trace
