// From the warm-up to the plan: what was met becomes targets, the schedule chooses among them.
#include "session/planning.hpp"

#include "base/random.hpp"
#include "graphs/graph_events.hpp"
#include "schedule/classes.hpp"
#include "schedule/select.hpp"
#include "session/operator_calls.hpp"
#include "session/phases.hpp"
#include "session/state.hpp"
#include "session/termination.hpp"
#include "sys/large_stack.hpp"
#include "sys/lifecycle.hpp"
#include "sys/log.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_set>

namespace inline_prof::hook {
namespace {

// Iteration times that are kept if it is not known beforehand how long the run will measure.
constexpr std::int64_t kMostAdaptiveTimes = 65'536;

// Events of one (name, layer, occurrence) on all devices and streams are one target; kernels inside
// graphs, which are measured in another way, are targets of their own.
std::vector<schedule::MetEvent> gather_targets(State& state, std::vector<Target>& targets) {
  std::vector<schedule::MetEvent> site;
  std::map<std::tuple<std::string, std::string, int, bool>, std::size_t> places;
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    record::EventRecord& event = state.run.events[i];
    if (event.phase != state.phase_index) continue;
    const auto [place, is_new] = places.try_emplace(
        std::tuple(event.event_name, event.layer_name, event.occurrence, event.is_inside_graph()),
        targets.size());
    if (is_new) {
      targets.emplace_back();
      site.push_back({.event = event.event_name,
                      .layer = event.layer_name,
                      .occurrence = event.occurrence,
                      .kernel = event.kernel_names.empty() ? "" : event.kernel_names.front()});
    }
    targets[place->second].events.push_back(&event);
  }
  return site;
}

// Labels that were started and not stopped have no end; they cannot be measured.
void close_open_labels(State& state) {
  const std::string* first = nullptr;
  std::size_t count = 0;
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    record::EventRecord& event = state.run.events[i];
    if (event.end_index >= 0 || event.phase != state.phase_index) continue;
    event.end_index = state.next_index++;
    if (++count == 1) first = &event.event_name;
  }
  if (count == 0) return;
  warn(state, *first + ".start was met without a .stop after it" +
                  (count == 1 ? "" : ", and so were " + std::to_string(count - 1) + " others"));
}

// A label around one library call and nothing else takes over the call's operation.  A label that
// the application has described needs no second word.  In any other label the calls are events of
// their own, and the label is the region around them.
void merge_ops_into_labels(State& state) {
  std::unordered_set<const record::EventRecord*> merged;
  for (auto& [label, inside] : state.insides) {
    auto* event = const_cast<record::EventRecord*>(label);
    if (inside.ops.empty()) continue;
    if (event->op == nullptr) {
      if (inside.ops.size() != 1 || inside.other_launches != 0) continue;
      event->op = std::move(inside.ops.front()->op);
      event->shape = inside.ops.front()->shape;
    }
    merged.insert(inside.ops.begin(), inside.ops.end());
  }
  forget_events(state, [&](const record::EventRecord& event) { return merged.contains(&event); });
}

// With a period that was found, the iteration may hold more than the training step at times (an
// evaluation); launches that most iterations do not have would wait for their turn in vain.
void leave_out_rare_events(State& state) {
  // What was captured once is launched by its graph from then on.
  forget_events(state, [&](const record::EventRecord& event) {
    const LaunchSite& site = *state.site_of_event[&event];
    const bool is_rare = site.usual_votes > 0 && event.launch_occurrence >= site.usual_count;
    // A program copies its loss every so many iterations.
    return is_rare &&
           (state.boundary_is_guessed || event.has(record::Flag::kRecaptured) || event.is_copy);
  });
}

void append_value(std::string& text, const std::string& word) {
  text.append(word);
}
void append_value(std::string& text, std::int64_t number) {
  text.append(std::to_string(number));
}
void append_value(std::string& text, bool yes) {
  text.append(yes ? "true" : "false");
}
void append_value(std::string& text, const std::vector<std::int64_t>& numbers) {
  for (const std::int64_t number : numbers)
    text.append(std::to_string(number)).append(",");
}

std::string text_of(const record::Op& op) {
  std::string text = op.kind;
  for (const auto& [name, value] : op.attributes) {
    if (name == kSequenceAttribute) continue;  // the same operation, some calls later
    text.append(" ").append(name).append("=");
    std::visit([&](const auto& each) { append_value(text, each); }, value);
  }
  return text;
}

// What each target is like, in their order; its events know their class afterwards.
std::vector<schedule::ClassMember> name_classes(State& state) {
  std::vector<schedule::ClassMember> members;
  for (const Target& target : state.targets) {
    const record::EventRecord& event = *target.events.front();
    members.push_back({.event = event.event_name,
                       .layer = event.layer_name,
                       .kernel = event.kernel_names.empty() ? "" : event.kernel_names.front(),
                       .grid = event.shape ? event.shape->grid : std::array<unsigned, 3>{},
                       .op = event.op ? text_of(*event.op) : ""});
  }
  for (const schedule::EventClass& each : schedule::make_classes(members)) {
    for (const std::size_t member : each.members) {
      for (record::EventRecord* event : state.targets[member].events)
        event->class_name = each.name;
    }
  }
  return members;
}

// GPU time that a pair adds, as calibrated: its time around an empty kernel minus the time of one
// more kernel, which counts against the budget; if that was not measured, the time of an empty
// pair.
double pair_us(const record::Calibration& calibration) {
  if (calibration.empty_kernel_pair && calibration.added_kernel) {
    const double us =
        calibration.empty_kernel_pair->median_us - calibration.added_kernel->median_us;
    // Less than around nothing it cannot be.
    if (calibration.added_kernel->median_us > 0)
      return std::max(us, calibration.empty_pair.median_us);
  }
  return calibration.empty_pair.median_us;
}

// Behind other work; a plausible value if calibration was not possible.  It must not be 0, or the
// budget would be unlimited: no event record is known to take less than this.
double pair_ms(State& state) {
  constexpr double plausible_us = 5;
  constexpr double least_us = 1;
  const std::lock_guard lock(state.run.mutex);
  double us = plausible_us;
  for (const record::Calibration& calibration : state.run.calibrations) {
    if (const double calibrated_us = pair_us(calibration); calibrated_us > 0) us = calibrated_us;
    if (calibration.state == "busy") break;
  }
  return std::max(us, least_us) / 1e3;
}

void begin_adaptive(State& state, const std::vector<schedule::ClassMember>& members) {
  std::vector<schedule::IndexRange> ranges;
  for (const Target& target : state.targets) {
    const record::EventRecord& event = *target.events.front();
    ranges.push_back({.start = event.start_index, .end = event.end_index});
  }
  const bool is_one_of_several = state.config.world_size.value_or(1) > 1;
  state.adaptive = std::make_unique<AdaptiveController>(
      schedule::AdaptivePlan(members, std::move(ranges), state.settings, is_one_of_several),
      pair_ms(state));
}

// Kernels inside graphs are measured afterwards (clone_measurement.hpp); the plan covers everything
// else.  A list of iterations that names some of them only selects them.
schedule::Selection plain_part(State& state, const schedule::Selection& selection) {
  schedule::Selection plain;
  std::vector<Target> targets;
  std::vector<Target> inside_graphs;
  std::vector<std::optional<std::size_t>> places;
  for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
    if (state.targets[i].events.front()->is_inside_graph()) {
      inside_graphs.push_back(std::move(state.targets[i]));
      places.emplace_back();
      continue;
    }
    places.emplace_back(targets.size());
    plain.chosen.push_back(selection.chosen[i]);
    plain.layers.push_back(selection.layers[i]);
    targets.push_back(std::move(state.targets[i]));
  }
  for (const schedule::Turn& turn : selection.turns) {
    if (places[turn.event]) plain.turns.push_back({turn.iteration, *places[turn.event]});
  }
  state.plain_targets = targets.size();
  std::move(inside_graphs.begin(), inside_graphs.end(), std::back_inserter(targets));
  state.targets = std::move(targets);
  return plain;
}

// With policy adaptive one kernel of each class is measured, drawn at random.
std::vector<std::size_t> graph_targets(const State& state) {
  std::vector<std::size_t> all(state.targets.size() - state.plain_targets);
  std::iota(all.begin(), all.end(), state.plain_targets);
  if (state.settings.policy != schedule::Policy::kAdaptive) return all;
  std::map<std::string, std::vector<std::size_t>> classes;
  for (const std::size_t target : all)
    classes[state.targets[target].events.front()->class_name].push_back(target);
  base::SplitMix64 random(state.settings.seed);
  std::vector<std::size_t> drawn;
  drawn.reserve(classes.size());
  for (const auto& [name, members] : classes)
    drawn.push_back(members[random.below(members.size())]);
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

}  // namespace

void forget_events(State& state, const std::function<bool(const record::EventRecord&)>& unwanted) {
  const std::lock_guard lock(state.run.mutex);
  std::unordered_set<const record::EventRecord*> gone;
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    record::EventRecord& event = state.run.events[i];
    if (event.phase == state.phase_index && unwanted(event)) gone.insert(&event);
  }
  for (LaunchSite* site : state.sites) {
    for (record::EventRecord*& event : site->events) {
      if (gone.contains(event)) event = nullptr;
    }
  }
  for (const record::EventRecord* event : gone)
    state.site_of_event.erase(event);
  state.run.events.remove_if(
      [&](const record::EventRecord& event) { return gone.contains(&event); });
}

void warn(State& state, std::string warning) {
  if (*sys::off_reason() == '\0') sys::say(sys::LogLevel::kWarning, "%s", warning.c_str());
  const std::lock_guard lock(state.run.mutex);
  state.run.add_warning(std::move(warning));
}

void count_host_bytes(State& state) {
  std::uint64_t bytes =
      sizeof(State) + sizeof launch_table + state.timers.size() * sizeof(timer::ContextTimer);
  bytes += graphs::copy_bytes() + graphs::registry_bytes();
  for (std::size_t i = 0; i < state.run.events.size(); ++i) {
    bytes += sizeof(record::EventRecord) + state.run.events[i].capacity() * sizeof(record::Sample);
  }
  state.run.host_bytes.store(bytes);
}

void settle_discovery(State& state) {
  close_open_labels(state);
  merge_ops_into_labels(state);
  leave_out_rare_events(state);
  operator_calls::settle(state);
  settle_graphs(state);
}

namespace {

// False where nothing can be measured, or all is planned: it is a phase that is known.
bool plan_run(State& state) {
  settle_discovery(state);
  if (go_on_with_known_phase(state)) return false;
  take_layers_of_earlier_phase(state);
  std::vector<Target> all;
  const auto site = gather_targets(state, all);
  schedule::Selection selection;
  if (state.settings.mode != schedule::Mode::kData) {
    selection = schedule::select(state.request, site);
  }
  for (const std::string& warning : selection.warnings)
    warn(state, warning);
  state.never_met = selection.never_met;
  state.targets.clear();
  for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
    state.targets.push_back(all[selection.chosen[i]]);
    for (record::EventRecord* event : state.targets.back().events) {
      event->layer_name = selection.layers[i];
    }
  }
  const bool is_one_shot = state.settings.mode == schedule::Mode::kOneShot;
  const schedule::Selection plain = plain_part(state, selection);
  auto classes = name_classes(state);
  state.in_graphs = graph_targets(state);
  classes.resize(state.plain_targets);
  std::int64_t measured = 0;
  if (is_one_shot) {
    measured = state.config.one_shot_iterations;
  } else if (state.settings.policy == schedule::Policy::kAdaptive && !classes.empty()) {
    begin_adaptive(state, classes);
    measured = kMostAdaptiveTimes;
  } else if (!plain.chosen.empty()) {
    state.plan = schedule::make_plan(state.request, plain, state.settings);
    measured = state.plan.last_iteration() - state.settings.warmup;
  } else {
    state.plan = schedule::Plan(0, state.settings.warmup, std::vector<schedule::Turn>{});
  }
  // How long copies take to build is not known either.
  if (!state.in_graphs.empty()) measured = std::max(measured, kMostAdaptiveTimes);
  std::size_t pairs_in_an_iteration = 0;
  for (std::size_t i = 0; i < state.targets.size(); ++i) {
    std::int64_t samples = state.adaptive ? state.settings.repeat : state.plan.samples_of(i);
    if (is_one_shot) samples = (measured - 1) / state.config.one_shot_every + 1;
    pairs_in_an_iteration += state.targets[i].events.size();
    if (i >= state.plain_targets) continue;  // allocated when its measurement begins
    for (record::EventRecord* event : state.targets[i].events)
      event->reserve(static_cast<std::uint32_t>(samples));
  }
  {
    const std::lock_guard lock(state.run.mutex);
    state.run.iteration_times.grow(
        static_cast<std::size_t>(measured + state.config.overhead_iterations) + 1);
    note_phase(state);
  }
  bool any_events = state.timers.empty();
  // Two iterations of mode one_shot may be on their way at once.
  for (timer::ContextTimer& timer : state.timers)
    any_events |= timer.create_events(is_one_shot ? 2 * pairs_in_an_iteration : 0);
  if (!any_events) {
    sys::turn_off("cuEventCreate", "no events can be made in any context");
    return false;
  }
  measure_phase(state);
  count_host_bytes(state);
  return true;
}

}  // namespace

void make_plan(State& state) {
  bool is_planned = false;
  sys::on_large_stack([&] { is_planned = plan_run(state); });
  if (!is_planned) return;
  // Not with the signals held back: the thread keeps this one's mask for the end of the process.
  state.writer->start();
  watch_termination(*state.writer);
}

}  // namespace inline_prof::hook
