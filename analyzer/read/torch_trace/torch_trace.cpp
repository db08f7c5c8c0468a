#include "read/torch_trace/torch_trace.hpp"

#include "read/input_error.hpp"
#include "read/torch_trace/operations.hpp"
#include "read/torch_trace/trace_events.hpp"

#include <inline_prof/op_kind.hpp>
#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace inline_prof::read::torch_trace {
namespace {

struct Step {
  std::string_view source = "the whole trace";  // of the knowledge of where it begins
  std::int64_t number = 0;
  double host_start_us = 0;
  double host_end_us = 0;
  double start_us = std::numeric_limits<double>::infinity();  // of its first work on the GPU
  double end_us = 0;
  double others_end_us = 0;  // of works of no step that were begun before its first one
  std::vector<std::size_t> works;
};

// Returns the ranges at which the iterations of a trace without profiler.step() seem to begin: the
// outermost annotations or modules of the name that launches most, if it repeats.
std::vector<const HostEvent*> repeated_ranges(const TraceEvents& trace, const Places& places) {
  std::vector<double> launches;
  launches.reserve(places.of_work.size());
  for (const Place& place : places.of_work)
    launches.push_back(place.launched_us);
  std::ranges::sort(launches);
  const auto launched = [&](double begin_us, double end_us) {
    return std::ranges::upper_bound(launches, end_us) -
           std::ranges::lower_bound(launches, begin_us);
  };
  std::map<std::uint32_t, std::vector<const HostEvent*>> ranges;
  const HostEvent* outermost = nullptr;  // the host's events are in the order of threads and starts
  for (const HostEvent& event : trace.host) {
    if (event.kind == HostKind::kOperator || is_of_collective(trace.names.text(event.name)))
      continue;
    if (outermost != nullptr && event.thread == outermost->thread &&
        event.start_us < outermost->end_us)
      continue;
    outermost = &event;
    ranges[event.name].push_back(&event);
  }
  // A range may hold the forward pass alone, or the optimizer.
  constexpr double least_inside = 0.02, least_behind_the_first = 0.5;
  const auto all = static_cast<double>(launches.size());
  std::vector<const HostEvent*> most;
  double most_inside = least_inside * all;
  for (auto& [name, own] : ranges) {
    std::ranges::sort(own, {}, &HostEvent::start_us);
    double inside = 0;
    for (const HostEvent* range : own)
      inside += static_cast<double>(launched(range->start_us, range->end_us));
    const auto behind =
        static_cast<double>(launched(own.front()->start_us, std::numeric_limits<double>::max()));
    if (own.size() < 2 || inside <= most_inside || behind < least_behind_the_first * all) continue;
    most_inside = inside;
    most = own;
  }
  return most;
}

// Work belongs to the step that launched it; work without a launch on record to the one whose works
// it lies between.
std::vector<Step> steps_of(const TraceEvents& trace, const Places& places) {
  std::vector<Step> steps;
  for (const HostEvent& event : trace.host) {
    if (event.kind != HostKind::kAnnotation) continue;
    if (const auto number = profiler_step(trace.names.text(event.name)))
      steps.push_back({.source = "ProfilerStep",
                       .number = *number,
                       .host_start_us = event.start_us,
                       .host_end_us = event.end_us,
                       .works = {}});
  }
  std::ranges::sort(steps, {}, &Step::host_start_us);
  const std::vector<const HostEvent*> ranges =
      steps.empty() ? repeated_ranges(trace, places) : std::vector<const HostEvent*>{};
  for (std::size_t i = 0; i < ranges.size(); ++i)
    steps.push_back({.source = trace.names.text(ranges[i]->name),
                     .number = static_cast<std::int64_t>(i),
                     .host_start_us = ranges[i]->start_us,
                     .host_end_us = i + 1 < ranges.size() ? ranges[i + 1]->start_us
                                                          : std::numeric_limits<double>::max(),
                     .works = {}});
  const bool is_one = steps.empty();
  if (is_one) steps.emplace_back();
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < trace.works.size(); ++i) {
    const GpuWork& work = trace.works[i];
    Step* own = &steps.front();
    if (!is_one) {
      const double launched_us = places.of_work[i].launched_us;
      const auto behind = std::ranges::upper_bound(steps, launched_us, {}, &Step::host_start_us);
      // Launched before, or between the ranges that were recorded; or no one knows when.
      if (launched_us < 0 || behind == steps.begin() ||
          launched_us > std::prev(behind)->host_end_us) {
        others.push_back(i);
        continue;
      }
      own = &*std::prev(behind);
    }
    own->works.push_back(i);
    own->start_us = std::min(own->start_us, work.start_us);
    own->end_us = std::max(own->end_us, work.start_us + work.duration_us);
  }
  const auto count_of = [](const Step& step) { return step.works.size(); };
  if (!ranges.empty()) {
    steps.back().host_end_us = ranges.back()->end_us;
    // The trace may begin or end within one.
    const std::size_t most = count_of(*std::ranges::max_element(steps, {}, count_of));
    std::erase_if(steps, [&](const Step& step) { return 2 * count_of(step) < most; });
  }
  std::erase_if(steps, [](const Step& step) { return step.works.empty(); });
  const auto start_us = [&](std::size_t work) { return trace.works[work].start_us; };
  std::ranges::sort(others, {}, start_us);
  double others_end_us = 0;
  auto other = others.begin();
  for (Step& step : steps) {
    for (; other != others.end() && start_us(*other) < step.start_us; ++other)
      others_end_us = std::max(others_end_us, start_us(*other) + trace.works[*other].duration_us);
    step.others_end_us = others_end_us;
  }
  return steps;
}

bool is_followed(const std::vector<Step>& steps, std::size_t i) {
  return i + 1 < steps.size() && steps[i + 1].number == steps[i].number + 1;
}

// A step begins with its first work.  One that stands alone begins with the host's part of it,
// since the time before its first launch would be in no step, or when the GPU is done with what was
// before.
double origin_us(const std::vector<Step>& steps, std::size_t i) {
  const Step& step = steps[i];
  const bool stands_alone = !is_followed(steps, i) && (i == 0 || !is_followed(steps, i - 1));
  return stands_alone && step.host_end_us > 0
             ? std::min(step.start_us, std::max(step.host_start_us, step.others_end_us))
             : step.start_us;
}

// A step ends where the next one begins.  The last one of a range ends with its own work, or when
// the host is done with it.
double length_us(const std::vector<Step>& steps, std::size_t i) {
  const double start_us = origin_us(steps, i);
  // A damaged trace may have the next step's work first.
  if (is_followed(steps, i) && steps[i + 1].start_us > start_us)
    return steps[i + 1].start_us - start_us;
  return std::max({start_us, steps[i].end_us, steps[i].host_end_us}) - start_us;
}

// The driver's copies, as the injected library describes them; "Memcpy HtoD (Pinned -> Device)".
Op copy_operation(const GpuWork& work, const std::string& name, std::int64_t ranks) {
  Op op = op_of(OpKind::kCopy, {{"bytes", work.bytes}});
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> directions{
      {{"HtoD", "host_to_device"},
       {"DtoH", "device_to_host"},
       {"DtoD", "device_to_device"},
       {"PtoP", "peer"},
       {"HtoH", "host_to_host"}}};
  std::string direction(work.kind == WorkKind::kFill ? "fill" : "");
  for (const auto& [word, meaning] : directions)
    if (name.find(word) != std::string::npos) direction = meaning;
  if (!direction.empty()) op.attributes.emplace_back("direction", direction);
  for (const auto& [word, memory] : {std::pair("Pageable", "pageable"), {"Pinned", "pinned"}})
    if (name.find(word) != std::string::npos)
      op.attributes.emplace_back("host_memory", std::string(memory));
  if (ranks > 1 && op.find("host_memory")) op.attributes.emplace_back("ranks", ranks);
  return op;
}

bool is_collective_kernel(std::string_view name) {
  static constexpr std::array<std::string_view, 8> words{"nccl",
                                                         "rccl",
                                                         "multimem_all_reduce",
                                                         "one_shot_all_reduce_",
                                                         "two_shot_all_reduce",
                                                         "cross_device_reduce",
                                                         "allreduce_fusion",
                                                         "deep_ep::"};
  return std::ranges::any_of(
      words, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

// Stretches of time, each longer than none and behind the one before.
class Stretches {
 public:
  // In the order of their starts.
  void add(double start_us, double end_us) {
    if (all_.empty() || start_us > all_.back().second) all_.emplace_back(start_us, end_us);
    all_.back().second = std::max(all_.back().second, end_us);
  }
  // Returns the share of the time from `start_us` to `end_us` that they cover.
  [[nodiscard]] double share_of(double start_us, double end_us) const {
    auto it = std::ranges::upper_bound(all_, start_us, {}, &std::pair<double, double>::second);
    double covered_us = 0;
    for (; it != all_.end() && it->first < end_us; ++it)
      covered_us += std::min(end_us, it->second) - std::max(start_us, it->first);
    return end_us > start_us ? covered_us / (end_us - start_us) : 0;
  }

 private:
  std::vector<std::pair<double, double>> all_;
};

// Whether two launches compute so different sizes that one prediction cannot hold for both.
bool is_another_size(const std::array<std::int64_t, 3>& a, const std::array<std::int64_t, 3>& b) {
  constexpr double most = 1.25;  // steps of one recommender differ by up to a tenth
  double ratio = 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    ratio *= static_cast<double>(std::max<std::int64_t>(1, a[i])) /
             static_cast<double>(std::max<std::int64_t>(1, b[i]));
  return ratio > most || ratio * most < 1;
}

class Reader {
 public:
  Reader(std::string text, const std::string& label)
      : trace_(parse_events(std::move(text), label)),
        places_(find_places(trace_)),
        compiled_products_(compiled_products(trace_, places_)) {
    profile_.file = label;
    for (const GpuWork& work : trace_.works) {
      const double end_us = work.start_us + work.duration_us;
      if (is_collective(work)) collectives_[work.device].add(work.start_us, end_us);
      if (is_host_copy(work)) host_copies_[work.device].add(work.start_us, end_us);
    }
  }

  Profile read() {
    if (trace_.is_amd)
      throw InputError(
          fmt::format("{}: recorded on an AMD GPU; expected one of NVIDIA's, for whose kernels "
                      "there are models",
                      profile_.file));
    if (trace_.works.empty())
      throw InputError(fmt::format(
          "{}: holds no kernel: expected a trace with ProfilerActivity.CUDA{}{}", profile_.file,
          trace_.warnings.empty() ? "" : "; ", fmt::join(trace_.warnings, "; ")));
    profile_.complete = trace_.is_whole;
    profile_.capabilities = {.format = std::string(kFormatName), .has_event_pair_bias = false};
    profile_.profiler.backend = "torch.profiler";
    profile_.devices = trace_.devices;
    profile_.rank = trace_.rank;
    profile_.world_size = trace_.world_size;
    profile_.warnings = trace_.warnings;
    event_of_work_.resize(trace_.works.size());
    const std::vector<Step> steps = steps_of(trace_, places_);
    profile_.profiler.iteration_source = steps.front().source;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      profile_.iter_time_ms.push_back(length_us(steps, i) * 1e-3);
      add_step(steps, i);
    }
    keep_usual_events(steps.size());
    number_events();
    warn_of_what_is_missing(steps);
    return std::move(profile_);
  }

  // Behind read().
  TracedWorks works() {
    TracedWorks found;
    for (std::size_t i = 0; i < trace_.works.size(); ++i) {
      const GpuWork& work = trace_.works[i];
      const std::size_t close = work.args.rfind('}');
      if (close == std::string_view::npos) continue;  // damaged, or none
      const auto end = static_cast<std::size_t>(work.args.data() - trace_.text.data()) + close;
      const bool has_args = work.args.find('"') != std::string_view::npos;
      std::optional<std::size_t> event;
      if (event_of_work_[i]) event = place_of_event_[*event_of_work_[i]];
      found.works.push_back({end, has_args, work.duration_us, event});
    }
    std::ranges::sort(found.works, {}, &TracedWork::args_end);
    found.text = std::move(trace_.text);
    return found;
  }

 private:
  // Works of different iterations are the same event if they share this: layer, name, device,
  // stream and occurrence.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::int32_t, std::int64_t, std::int64_t>;

  [[nodiscard]] bool is_collective(const GpuWork& work) const {
    return work.kind == WorkKind::kKernel && is_collective_kernel(trace_.names.text(work.name));
  }
  [[nodiscard]] bool is_host_copy(const GpuWork& work) const {
    const std::string& name = trace_.names.text(work.name);
    return work.kind == WorkKind::kCopy &&
           (name.find("HtoD") != std::string::npos || name.find("DtoH") != std::string::npos);
  }

  // Works of one stream follow each other, so what runs at the same time is of other streams.
  void add_neighbours(std::size_t event, const GpuWork& work) {
    if (work.kind != WorkKind::kKernel || is_collective(work)) return;
    auto& [collective, host_copy] = shares_of_event_[event];
    const double end_us = work.start_us + work.duration_us;
    collective += collectives_[work.device].share_of(work.start_us, end_us);
    host_copy += host_copies_[work.device].share_of(work.start_us, end_us);
    const auto percent = [&](double shares) {
      const auto samples = static_cast<double>(profile_.events[event].measured_ms.size());
      return static_cast<std::uint8_t>(std::clamp(std::round(100 * shares / samples), 0.0, 100.0));
    };
    profile_.events[event].neighbours = {percent(collective), percent(host_copy)};
  }

  void add_step(const std::vector<Step>& steps, std::size_t i) {
    const double origin = origin_us(steps, i);
    std::map<std::tuple<std::uint32_t, std::int32_t, std::int64_t>, std::int64_t> occurrences;
    for (const std::size_t index : steps[i].works) {
      const GpuWork& work = trace_.works[index];
      const std::int64_t occurrence = occurrences[{work.name, work.device, work.stream}]++;
      const Place& launch = places_.of_work[index];
      const Key key{launch.layer, work.name, work.device, work.stream, occurrence};
      const auto [it, is_new] = event_of_key_.try_emplace(key, profile_.events.size());
      const std::int64_t place = &index - steps[i].works.data();
      if (is_new) profile_.events.push_back(new_event(index, occurrence, place));
      event_of_work_[index] = it->second;
      Event& event = profile_.events[it->second];
      if (!is_new && work.kind == WorkKind::kKernel && !event.has_flag(format::kFlagOtherGrids) &&
          is_another_size(launch_shape(work.args).grid, event.launch.grid))
        event.flags.emplace_back(format::kFlagOtherGrids);
      event.measured_ms.push_back(work.duration_us * 1e-3);
      add_neighbours(it->second, work);
      event.offsets_ms.push_back((work.start_us - origin) * 1e-3);
      event.iterations.push_back(static_cast<std::int64_t>(i));
      event.tight.push_back(launch.tight);
      event.after_wait_us.push_back(launch.after_wait_us);
    }
  }

  Event new_event(std::size_t index, std::int64_t occurrence, std::int64_t place) {
    const GpuWork& work = trace_.works[index];
    Event event;
    event.name = trace_.names.text(work.name);
    event.layer = places_.layers.text(places_.of_work[index].layer);
    event.device_id = work.device;
    event.stream = fmt::format("{}", work.stream);
    event.start_index = event.end_index = place;
    event.occurrence = occurrence;
    event.calls = 1;
    if (work.kind == WorkKind::kKernel) {
      event.kernel_name = event.name;
      event.kernel_names = {event.name};
      event.launch = launch_shape(work.args);
    }
    event.op = operation(index, event.launch);
    return event;
  }

  std::optional<Op> operation(std::size_t index, const LaunchShape& launch) {
    const GpuWork& work = trace_.works[index];
    const std::string& name = trace_.names.text(work.name);
    if (work.kind != WorkKind::kKernel)
      return copy_operation(work, name, trace_.world_size.value_or(1));
    const Place& place = places_.of_work[index];
    const HostEvent* const call =
        place.operation < 0 ? nullptr : &trace_.host[static_cast<std::size_t>(place.operation)];
    if (is_collective_kernel(name)) {
      std::vector<std::pair<std::string_view, std::string_view>> sayings;  // names and args
      for (const std::int32_t host : {place.operation, place.annotation}) {
        if (host < 0) continue;
        const HostEvent& event = trace_.host[static_cast<std::size_t>(host)];
        sayings.emplace_back(trace_.names.text(event.name), event.args);
      }
      // Newer traces repeat it at the kernel, where those of a captured graph alone have it.
      sayings.emplace_back(name, work.args);
      for (const auto& [said_by, args] : sayings) {
        auto op = collective_of(said_by, args, trace_.world_size);
        if (op && op->kind == op_kind_name(OpKind::kCollective)) return op;
      }
    }
    if (call == nullptr) return op_of(OpKind::kOperator);
    if (const auto found = compiled_products_.find(index); found != compiled_products_.end())
      return found->second;
    OperatorCall known = operator_call(trace_.names.text(call->name), call->args);
    if (known.name == "aten::cat" && std::ranges::none_of(known.arguments, &Argument::is_tensor))
      known.arguments = joined_tensors(static_cast<std::size_t>(place.operation), launch);
    auto joint = experts_.operation(place.operation, known, name, launch);
    if (!joint) joint = sparse_operation(known, name);
    if (const auto look_ups = joint ? std::nullopt : look_ups_around(*call, known))
      joint = look_up_operation(*look_ups, name);
    if (!joint) return operation_of(known, name, launch);
    joint->source = known.name;
    return joint;
  }

  // Older traces have no sizes of lists.  A concatenation writes as much as its gradient has, and
  // that of a split reads the split's own gradients.
  std::vector<Argument> joined_tensors(std::size_t operation, const LaunchShape& launch) {
    if (!gradients_of_lists_) {
      gradients_of_lists_.emplace();
      for (const HostEvent& host : trace_.host) {
        const std::string& name = trace_.names.text(host.name);
        if (name == "CatBackward0" || name == "StackBackward0")
          gradients_of_lists_->emplace(host.sequence, &host);
      }
    }
    const auto arguments_of = [&](const HostEvent& event) {
      return operator_call(trace_.names.text(event.name), event.args).arguments;
    };
    const HostEvent& concatenation = trace_.host[operation];
    constexpr std::size_t most_before = 256;  // operators inside of the same function
    for (std::size_t i = operation + 1; i-- > 0 && operation - i < most_before;) {
      const HostEvent& around = trace_.host[i];
      if (around.thread != concatenation.thread) break;
      if (around.kind != HostKind::kOperator || around.end_us < concatenation.end_us) continue;
      const auto gradient = gradients_of_lists_->find(around.sequence);
      if (around.sequence >= 0 && gradient != gradients_of_lists_->end() &&
          gradient->second->start_us > around.start_us)
        return arguments_of(*gradient->second);
      if (trace_.names.text(around.name).starts_with("aten::")) continue;
      auto arguments = arguments_of(around);
      const auto tensors = std::ranges::count_if(arguments, &Argument::is_tensor);
      // A row of blocks for each tensor that is joined.
      return tensors == 1 || tensors == launch.grid[1] ? arguments : std::vector<Argument>{};
    }
    return {};
  }

  // The look-ups that the operator makes, or whose gradient it computes.  A gradient knows its
  // sides only, so it is that of the last call before it which they fit best.
  std::optional<LookUps> look_ups_around(const HostEvent& event, const OperatorCall& call) {
    if (is_look_up(call.name)) return look_ups_of(call);
    if (call.name.find("SplitLookupFunction") == std::string::npos || call.arguments.empty() ||
        call.arguments[0].sizes.empty() || call.arguments[0].sizes[0].size() != 2)
      return std::nullopt;
    if (!look_ups_) {
      look_ups_.emplace();
      for (const HostEvent& host : trace_.host) {
        const std::string& name = trace_.names.text(host.name);
        if (host.kind != HostKind::kOperator || !is_look_up(name)) continue;
        if (const auto found = look_ups_of(operator_call(name, host.args)))
          look_ups_->emplace(host.start_us, *found);
      }
    }
    constexpr std::size_t most_calls = 16;  // of one step
    std::optional<LookUps> best;
    double least = 1;
    auto it = look_ups_->lower_bound(event.start_us);
    for (std::size_t i = 0; i < most_calls && it != look_ups_->begin(); ++i) {
      --it;
      const auto& sides = call.arguments[0].sizes[0];
      const auto distance = distance_of_gradient(it->second, sides[0], sides[1]);
      if (!distance || *distance >= least) continue;
      least = *distance;
      best = it->second;
    }
    return best;
  }

  // Leaves out what most iterations do not have: it is no part of the usual one.
  void keep_usual_events(std::size_t iterations) {
    double left_out_ms = 0;
    std::size_t left_out = 0;
    std::size_t kept = 0;
    std::erase_if(profile_.events, [&](const Event& event) {
      const bool is_kept = 2 * event.measured_ms.size() >= iterations;
      place_of_event_.push_back(is_kept ? std::optional(kept++) : std::nullopt);
      if (is_kept) return false;
      for (const double ms : event.measured_ms)
        left_out_ms += ms;
      ++left_out;
      return true;
    });
    if (left_out > 0)
      profile_.warnings.push_back(
          fmt::format("{} kernels and copies of less than half of the {} steps are left out: "
                      "{:.3f} ms in all steps together",
                      left_out, iterations, left_out_ms));
  }

  // Events of two steps may have had the same place in theirs.
  void number_events() {
    std::vector<Event*> in_order;
    for (Event& event : profile_.events)
      in_order.push_back(&event);
    std::ranges::stable_sort(in_order, {}, &Event::start_index);
    for (std::size_t i = 0; i < in_order.size(); ++i)
      in_order[i]->start_index = in_order[i]->end_index = static_cast<std::int64_t>(i);
  }

  void warn_of_what_is_missing(const std::vector<Step>& steps) {
    std::size_t used = 0;
    for (const Step& step : steps)
      used += step.works.size();
    if (used < trace_.works.size())
      profile_.warnings.push_back(
          fmt::format("{} of {} kernels and copies lie outside of the recorded steps, or have no "
                      "launch on record",
                      trace_.works.size() - used, trace_.works.size()));
    const std::string_view source = steps.front().source;
    if (steps.front().host_end_us > 0 && source != "ProfilerStep")
      profile_.warnings.push_back(
          fmt::format("the trace has no steps (profiler.step()): each \"{}\" is taken for the "
                      "beginning of one, {} in all",
                      source, steps.size()));
    std::size_t ranges = 1;
    for (std::size_t i = 1; i < steps.size(); ++i)
      ranges += is_followed(steps, i - 1) ? 0U : 1U;
    if (ranges > 1)
      profile_.warnings.push_back(
          fmt::format("the trace holds {} ranges of steps, from {} to {}; all are taken together",
                      ranges, steps.front().number, steps.back().number));
    const bool has_sizes = std::ranges::any_of(trace_.host, [](const HostEvent& event) {
      return event.args.find("\"Input Dims\"") != std::string_view::npos ||
             event.args.find("\"Input dims\"") != std::string_view::npos;
    });
    if (!has_sizes)
      profile_.warnings.emplace_back(
          "the trace has no sizes of operators, so only kernels whose grid tells them are "
          "predicted: record it with record_shapes=True");
  }

  TraceEvents trace_;
  std::map<std::int32_t, Stretches> collectives_;  // by device
  std::map<std::int32_t, Stretches> host_copies_;
  std::unordered_map<std::size_t, std::pair<double, double>> shares_of_event_;  // sums of samples
  Places places_;
  std::unordered_map<std::size_t, Op> compiled_products_;  // by work
  Experts experts_;
  std::optional<std::multimap<double, LookUps>> look_ups_;  // by the start of their call
  std::optional<std::unordered_map<std::int64_t, const HostEvent*>> gradients_of_lists_;
  Profile profile_;
  std::map<Key, std::size_t> event_of_key_;
  std::vector<std::optional<std::size_t>> event_of_work_;   // before events were left out
  std::vector<std::optional<std::size_t>> place_of_event_;  // in the profile; empty: left out
};

}  // namespace

bool recognises(std::string_view beginning) {
  const auto has = [&](std::string_view word) { return beginning.find(word) != beginning.npos; };
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (beginning[first] == '[') return has("\"ph\"");
  // Kineto writes its properties before the events; prof.json has none of these words.
  return beginning[first] == '{' &&
         (has("\"traceEvents\"") || has("\"deviceProperties\"") || has("\"schemaVersion\""));
}

Profile read(std::string text, const std::string& label, Wanted /*wanted*/) {
  return Reader(std::move(text), label).read();
}

TracedWorks find_works(std::string text, const std::string& label) {
  Reader reader(std::move(text), label);
  static_cast<void>(reader.read());
  return reader.works();
}

}  // namespace inline_prof::read::torch_trace
