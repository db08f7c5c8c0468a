// From the warm-up to the plan: what was met becomes targets, the schedule chooses among them.
#include "session/planning.hpp"

#include "base/random.hpp"
#include "session/session.hpp"
#include "sys/large_stack.hpp"
#include "sys/lifecycle.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

namespace inline_prof::session {
namespace {

// Iteration times that are kept if it is not known beforehand how long the run will measure.
constexpr std::int64_t kMostAdaptiveTimes = 65'536;

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

// GPU time that a pair adds, as calibrated: its time around an empty kernel minus the time of one
// more kernel, which counts against the budget; if that was not measured, the time of an empty
// pair.
double pair_us(const record::Calibration& calibration) {
  if (calibration.empty_kernel_pair && calibration.added_kernel) {
    const double us =
        calibration.empty_kernel_pair->median_us - calibration.added_kernel->median_us;
    // It cannot be less than around nothing.
    if (calibration.added_kernel->median_us > 0)
      return std::max(us, calibration.empty_pair.median_us);
  }
  return calibration.empty_pair.median_us;
}

// Estimates how long a target takes from what the warm-up has seen, to order the first round: the
// threads that it launches, 16 bytes of a copy each, and in a matrix product the depth of the sum.
// A label or a call of several launches comes first: it holds the most.
double expected_size(const Target& target) {
  // A thread of a product has as much to do for 64 of the depth as one that copies 16 bytes.
  constexpr double depth_of_a_copy = 64.0;
  constexpr double bytes_of_a_thread = 16.0;
  const record::EventRecord& event = *target.events.front();
  const auto attribute = [&](std::string_view name) -> double {
    if (event.op == nullptr) return 0;
    for (const auto& [own, value] : event.op->attributes) {
      const auto* number = std::get_if<std::int64_t>(&value);
      if (own == name && number != nullptr) return static_cast<double>(*number);
    }
    return 0;
  };
  if (event.is_copy) return attribute("bytes") / bytes_of_a_thread;
  if (!event.shape) return std::numeric_limits<double>::infinity();
  double threads = 1;
  for (const auto& sides : {event.shape->grid, event.shape->block}) {
    for (const unsigned side : sides)
      threads *= side;
  }
  return threads * std::max(1.0, attribute("k") / depth_of_a_copy);
}

}  // namespace

// Events of one (name, layer, occurrence) on all devices and streams are one target; kernels inside
// graphs, which are measured in another way, are targets of their own.
std::vector<schedule::MetEvent> Planning::gather_targets(std::vector<Target>& targets) {
  std::vector<schedule::MetEvent> met;
  std::map<std::tuple<std::string, std::string, int, bool>, std::size_t> places;
  for (record::EventRecord& event : session_.run.events) {
    if (event.phase != session_.phases.index()) continue;
    const auto [place, is_new] = places.try_emplace(
        std::tuple(event.event_name, event.layer_name, event.occurrence, event.is_inside_graph()),
        targets.size());
    if (is_new) {
      targets.emplace_back();
      met.push_back({.event = event.event_name,
                     .layer = event.layer_name,
                     .occurrence = event.occurrence,
                     .kernel = event.kernel_names.empty() ? "" : event.kernel_names.front()});
    }
    targets[place->second].events.push_back(&event);
  }
  return met;
}

// Labels that were started and not stopped have no end; they cannot be measured.
void Planning::close_open_labels() {
  const std::string* first = nullptr;
  std::size_t count = 0;
  for (record::EventRecord& event : session_.run.events) {
    if (event.end_index >= 0 || event.phase != session_.phases.index()) continue;
    event.end_index = session_.discovery.next_index();
    if (++count == 1) first = &event.event_name;
  }
  if (count == 0) return;
  session_.warn(*first + ".start was met without a .stop after it" +
                (count == 1 ? "" : ", and so were " + std::to_string(count - 1) + " others"));
}

// A label around one library call and nothing else takes over the call's operation.  A label that
// the application has described needs no second word.  In any other label the calls are events of
// their own, and the label is the region around them.
void Planning::merge_ops_into_labels() {
  std::unordered_set<const record::EventRecord*> merged;
  for (auto& [label, inside] : session_.discovery.insides()) {
    auto* event = const_cast<record::EventRecord*>(label);
    if (inside.ops.empty()) continue;
    if (event->op == nullptr) {
      if (inside.ops.size() != 1 || inside.other_launches != 0) continue;
      event->op = std::move(inside.ops.front()->op);
      event->shape = inside.ops.front()->shape;
    }
    merged.insert(inside.ops.begin(), inside.ops.end());
  }
  session_.sites.forget_events(
      [&](const record::EventRecord& event) { return merged.contains(&event); });
}

// With a period that was found, or with PyTorch's optimizer steps as marks, the iteration may hold
// more than the training step at times (an evaluation); launches that most iterations do not have
// would wait for their turn in vain.
void Planning::leave_out_rare_events() {
  // A launch that was captured once is made by its graph from then on.
  session_.sites.forget_events([&](const record::EventRecord& event) {
    const LaunchSite& site = *session_.sites.of_event(&event);
    const bool is_rare = site.usual_votes > 0 && event.launch_occurrence >= site.usual_count;
    // A program copies its loss every so many iterations.
    return is_rare && (session_.source.is_guessed() || OperatorLearning::some_ask() ||
                       event.has(record::Flag::kRecaptured) || event.is_copy);
  });
}

// Describes the targets, in their order, and gives their events a class.
std::vector<schedule::ClassMember> Planning::name_classes() {
  Course& course = session_.phases.course();
  std::vector<schedule::ClassMember> members;
  for (const Target& target : course.targets) {
    const record::EventRecord& event = *target.events.front();
    members.push_back({.event = event.event_name,
                       .layer = event.layer_name,
                       .kernel = event.kernel_names.empty() ? "" : event.kernel_names.front(),
                       .grid = event.shape ? event.shape->grid : std::array<unsigned, 3>{},
                       .op = event.op ? text_of(*event.op) : ""});
  }
  for (const schedule::EventClass& each : schedule::make_classes(members)) {
    for (const std::size_t member : each.members) {
      for (record::EventRecord* event : course.targets[member].events)
        event->class_name = each.name;
    }
  }
  return members;
}

// Behind other work; a plausible value if calibration was not possible.  It must not be 0, or the
// budget would be unlimited: no event record is known to take less than this.
double Planning::pair_ms() {
  constexpr double plausible_us = 5;
  constexpr double least_us = 1;
  const std::lock_guard lock(session_.run.mutex);
  double us = plausible_us;
  for (const record::Calibration& calibration : session_.run.calibrations) {
    if (const double calibrated_us = pair_us(calibration); calibrated_us > 0) us = calibrated_us;
    if (calibration.state == "busy") break;
  }
  return std::max(us, least_us) / 1e3;
}

void Planning::begin_adaptive(const std::vector<schedule::ClassMember>& members) {
  Course& course = session_.phases.course();
  std::vector<schedule::IndexRange> ranges;
  for (const Target& target : course.targets) {
    const record::EventRecord& event = *target.events.front();
    ranges.push_back({.start = event.start_index, .end = event.end_index});
  }
  const bool is_one_of_several = session_.config.world_size.value_or(1) > 1;
  course.adaptive = std::make_unique<AdaptiveController>(
      schedule::AdaptivePlan(members, std::move(ranges), session_.settings, is_one_of_several),
      pair_ms());
}

// Kernels inside graphs are measured afterwards (graph_measurement.hpp); the plan covers everything
// else.  A list of iterations that names some of them only selects them.
schedule::Selection Planning::plain_part(const schedule::Selection& selection) {
  Course& course = session_.phases.course();
  schedule::Selection plain;
  std::vector<Target> targets;
  std::vector<Target> inside_graphs;
  std::vector<std::optional<std::size_t>> places;
  for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
    if (course.targets[i].events.front()->is_inside_graph()) {
      inside_graphs.push_back(std::move(course.targets[i]));
      places.emplace_back();
      continue;
    }
    places.emplace_back(targets.size());
    plain.chosen.push_back(selection.chosen[i]);
    plain.layers.push_back(selection.layers[i]);
    targets.push_back(std::move(course.targets[i]));
  }
  for (const schedule::Turn& turn : selection.turns) {
    if (places[turn.event]) plain.turns.push_back({turn.iteration, *places[turn.event]});
  }
  course.plain_targets = targets.size();
  std::move(inside_graphs.begin(), inside_graphs.end(), std::back_inserter(targets));
  course.targets = std::move(targets);
  return plain;
}

// With policy adaptive one kernel of each class is measured, drawn at random.
std::vector<std::size_t> Planning::graph_targets() const {
  Course& course = session_.phases.course();
  std::vector<std::size_t> all(course.targets.size() - course.plain_targets);
  std::iota(all.begin(), all.end(), course.plain_targets);
  if (session_.settings.policy != schedule::Policy::kAdaptive) return all;
  std::map<std::string, std::vector<std::size_t>> classes;
  for (const std::size_t target : all)
    classes[course.targets[target].events.front()->class_name].push_back(target);
  base::SplitMix64 random(session_.settings.seed);
  std::vector<std::size_t> drawn;
  drawn.reserve(classes.size());
  for (const auto& [name, members] : classes)
    drawn.push_back(members[random.below(members.size())]);
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

void Planning::settle_discovery() {
  close_open_labels();
  merge_ops_into_labels();
  leave_out_rare_events();
  session_.operators.settle();
  settle_graphs(session_);
}

// False if nothing can be measured, or a known phase goes on.
bool Planning::plan_run() {
  Course& course = session_.phases.course();
  settle_discovery();
  if (session_.phases.go_on_with_known()) return false;
  session_.phases.take_layers_of_earlier();
  std::vector<Target> all;
  const auto met = gather_targets(all);
  schedule::Selection selection;
  if (session_.settings.mode != schedule::Mode::kData)
    selection = schedule::select(session_.request, met);
  for (const std::string& warning : selection.warnings)
    session_.warn(warning);
  never_met_ = selection.never_met;
  course.targets.clear();
  for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
    course.targets.push_back(all[selection.chosen[i]]);
    for (record::EventRecord* event : course.targets.back().events)
      event->layer_name = selection.layers[i];
  }
  const bool is_one_shot = session_.settings.mode == schedule::Mode::kOneShot;
  const schedule::Selection plain = plain_part(selection);
  auto classes = name_classes();
  course.in_graphs = graph_targets();
  classes.resize(course.plain_targets);
  std::int64_t measured = 0;
  if (is_one_shot) {
    measured = session_.config.one_shot_iterations;
  } else if (session_.settings.policy == schedule::Policy::kAdaptive && !classes.empty()) {
    begin_adaptive(classes);
    measured = kMostAdaptiveTimes;
  } else if (!plain.chosen.empty()) {
    std::vector<double> sizes;
    // Ranks that launch the same in other sizes measure the same event in an iteration.
    if (session_.config.world_size.value_or(1) == 1) {
      for (std::size_t i = 0; i < course.plain_targets; ++i)
        sizes.push_back(expected_size(course.targets[i]));
    }
    course.plan = schedule::make_plan(session_.request, plain, session_.settings, sizes);
    measured = course.plan.last_iteration() - session_.settings.warmup;
  } else {
    course.plan = schedule::Plan(0, session_.settings.warmup, std::vector<schedule::Turn>{});
  }
  // How long copies take to build is not known either.
  if (!course.in_graphs.empty()) measured = std::max(measured, kMostAdaptiveTimes);
  std::size_t pairs_in_an_iteration = 0;
  for (std::size_t i = 0; i < course.targets.size(); ++i) {
    std::int64_t samples = course.adaptive ? session_.settings.repeat : course.plan.samples_of(i);
    if (is_one_shot) samples = (measured - 1) / session_.config.one_shot_every + 1;
    pairs_in_an_iteration += course.targets[i].events.size();
    if (i >= course.plain_targets) continue;  // allocated when its measurement begins
    for (record::EventRecord* event : course.targets[i].events)
      event->reserve(static_cast<std::uint32_t>(samples));
  }
  {
    const std::lock_guard lock(session_.run.mutex);
    session_.run.iteration_times.grow(
        static_cast<std::size_t>(measured + session_.config.overhead_iterations) + 1);
    session_.phases.note();
  }
  bool any_events = session_.contexts.timers().empty();
  // Two iterations of mode one_shot may be on their way at once.
  for (timer::ContextTimer& timer : session_.contexts.timers())
    any_events |= timer.create_events(is_one_shot ? 2 * pairs_in_an_iteration : 0);
  if (!any_events) {
    sys::turn_off("cuEventCreate", "no events can be made in any context");
    return false;
  }
  session_.phases.measure();
  session_.count_host_bytes();
  return true;
}

void Planning::make_plan() {
  bool is_planned = false;
  sys::on_large_stack([&] { is_planned = plan_run(); });
  if (!is_planned) return;
  // Not with the signals held back: the thread keeps this one's mask for the end of the process.
  session_.start_writer();
}

void Planning::say_what_was_never_met() {
  if (never_met_.empty()) return;
  std::string text = "never met: ";
  for (std::size_t i = 0; i < never_met_.size(); ++i)
    text.append(i == 0 ? "" : ", ").append(never_met_[i]);
  const std::string labels = labels::met_label_names();
  text.append(labels.empty() ? "; no label was met" : "; labels met: " + labels);
  session_.warn(std::move(text));
  never_met_.clear();
}

}  // namespace inline_prof::session
