#include "session/discovery.hpp"

#include "labels/layer_path.hpp"
#include "labels/xla_fusions.hpp"
#include "launch/copies.hpp"
#include "launch/launch_filter.hpp"
#include "libraries/op_frame.hpp"
#include "session/session.hpp"

#include <algorithm>

namespace inline_prof::session {
namespace {

// After this many launches of one kernel on one stream before any iteration has begun, the run is
// treated as one without iterations. 64: initializing a model launches each kernel less often.
constexpr std::uint32_t kEnoughWithoutIterations = 64;

constexpr std::size_t kMostKernelNames = 64;  // further names are left out

// Copies have no shape.
void set_shape(record::EventRecord& event, const LaunchSite& site, const hook::Launch& launch) {
  if (launch.copy != nullptr) return;
  event.shape = shape_of(launch, *site.kernel);
  if (launch.may_overlap) event.add_flag(record::Flag::kPdlRemoved);
}

}  // namespace

void add_kernel_name(record::EventRecord& event, const std::string& kernel_name) {
  auto& names = event.kernel_names;
  if (names.size() == kMostKernelNames) return;
  if (std::find(names.begin(), names.end(), kernel_name) == names.end())
    names.push_back(kernel_name);
}

void describe_by_xla(record::EventRecord& event, const std::string& kernel_name) {
  auto work = labels::xla_work(event.layer_name, kernel_name);
  if (!work) return;
  event.layer_name = std::move(work->layer);
  if (event.op == nullptr && !work->op.kind.empty())
    event.op = std::make_unique<record::Op>(std::move(work->op));
}

// Two kernels of one name on one stream (generated code repeats names in every module) are two
// events: the second is called NAME~2.
std::string Discovery::unique_event_name(const KernelInfo& kernel, const StreamInfo& stream) {
  const std::string place = kernel.event_name + ' ' + std::to_string(stream.index);
  const int same = ++kernel_event_names_[place];
  return same == 1 ? kernel.event_name : kernel.event_name + '~' + std::to_string(same);
}

// The first launch of a library call on this stream creates the event, further ones belong to it.
void Discovery::meet_inside_op(LaunchSite& site, const hook::Launch& launch,
                               std::uint32_t occurrence, libraries::OpFrame& op,
                               const LabelEvents::Open* label) {
  libraries::OpPart& part = libraries::part_on(op, launch.stream);
  if (part.event != nullptr) {
    part.event->spans_op = true;
    part.event->shape.reset();
    return add_kernel_name(*part.event, site.kernel->name);
  }
  part.event = add_event(site, occurrence, op.event_name);
  if (part.event == nullptr) return;
  set_shape(*part.event, site, launch);
  set_indices(*part.event);
  record::Op description = op.describe(op.call, launch.stream);
  if (!description.kind.empty())
    part.event->op = std::make_unique<record::Op>(std::move(description));
  if (label != nullptr) return insides_[label->event].ops.push_back(part.event);
  session_.operators.name_library_event(launch, op, *part.event);
}

void Discovery::meet_in_warmup(LaunchSite& site, const hook::Launch& launch, bool is_captured) {
  const std::uint32_t occurrence = site.slot->count.fetch_add(1, std::memory_order_relaxed);
  if (is_fresh_ && !is_captured) session_.source.note_order(site);
  session_.operators.note_launch(site, launch);
  session_.label_events.note_launch(site, occurrence, launch.stream);
  if (occurrence < site.events.size())
    return;  // another thread has added it, or operators are learned
  if (are_names_wanted()) {
    waits_for_names_ = false;
  } else if (site.graph == nullptr) {  // a graph has the names of its capture
    waits_for_names_ = true;
    return;
  }
  site.events.resize(occurrence + 1, nullptr);
  site.slot->limit.store(occurrence + 1, std::memory_order_relaxed);
  if (site.graph != nullptr) return meet_replay(session_, site, launch, occurrence);
  const LabelEvents::Open* label = session_.label_events.innermost(launch.stream);
  if (label != nullptr) add_kernel_name(*label->event, site.kernel->name);
  if (is_captured && label == nullptr) {
    // Only a label asks for events in the application's graph.
    session_.run.dropped.capture_skipped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (libraries::OpFrame* op = libraries::outermost_op())
    return meet_inside_op(site, launch, occurrence, *op, label);
  if (label != nullptr) {
    if (launch.copy == nullptr) ++insides_[label->event].other_launches;
    return;
  }
  record::EventRecord* event = add_event(site, occurrence, {});
  if (event == nullptr) return;
  set_shape(*event, site, launch);
  if (launch.copy != nullptr) {
    event->is_copy = true;
    event->op = std::make_unique<record::Op>(launch::op_of(*launch.copy, launch.api));
  } else {
    session_.operators.describe_event(site, launch, *event);
  }
  set_indices(*event);
}

void Discovery::iteration_starts(std::int64_t position) {
  // An application that begins the iterations asks as each one begins.
  const bool can_rest = OperatorLearning::some_ask() && session_.run.iteration_source == "macro";
  const bool are_wanted = waits_for_names_ || is_fresh_ || !can_rest ||
                          session_.operators.are_wanted() || position == session_.settings.warmup;
  are_names_wanted_.store(are_wanted, std::memory_order_relaxed);
}

void Discovery::meet_before_iterations(LaunchSite& site) {
  const std::uint32_t count = site.slot->count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_copy(site)) {  // a program fills its memory before it begins
    site.slot->limit.store(~std::uint32_t{0}, std::memory_order_relaxed);
    return;
  }
  site.slot->limit.store(kEnoughWithoutIterations, std::memory_order_relaxed);
  if (count > kEnoughWithoutIterations && !session_.phases.some_are_planned())
    session_.without_iterations.begin();
}

int Discovery::next_occurrence(const std::string& name, const StreamInfo& stream) {
  return op_occurrences_[{name, stream.index}]++;
}

const std::string& Discovery::event_name_of(const KernelInfo& kernel, const StreamInfo& stream,
                                            int& occurrence) {
  KernelOnStream& same = kernels_on_streams_[{&kernel, stream.index}];
  if (same.event_name.empty()) same.event_name = unique_event_name(kernel, stream);
  same.handles += 2;  // counted as they are met, by everybody from now on
  occurrence = same.next_occurrence++;
  return same.event_name;
}

record::EventRecord* Discovery::add_event(LaunchSite& site, std::uint32_t launch_occurrence,
                                          const std::string& op_name) {
  auto event = std::make_unique<record::EventRecord>();
  event->occurrence = static_cast<int>(launch_occurrence);
  if (site.label != nullptr) {
    event->event_name = site.label->name;
  } else if (!op_name.empty()) {
    // Counted at each launch: a library call may begin with a different kernel each time.
    event->event_name = op_name;
    event->occurrence = next_occurrence(op_name, *site.stream);
    if (site.kernel != nullptr) event->kernel_names.push_back(site.kernel->name);
  } else {
    KernelOnStream& same = kernels_on_streams_[{site.kernel, site.stream->index}];
    if (same.event_name.empty()) same.event_name = unique_event_name(*site.kernel, *site.stream);
    if (site.event_name.empty()) ++same.handles;
    site.event_name = same.event_name;
    event->event_name = site.event_name;
    // One handle counts its own launches; several are counted as they are met.
    if (same.handles > 1) event->occurrence = same.next_occurrence;
    same.next_occurrence = std::max(same.next_occurrence, event->occurrence + 1);
    event->kernel_names.push_back(site.kernel->name);
  }
  event->layer_name = labels::current_layer();
  if (site.kernel != nullptr) describe_by_xla(*event, site.kernel->name);
  if (session_.unit_tests.running() != nullptr) {
    const std::string& test = session_.unit_tests.running()->name;
    event->layer_name = event->layer_name.empty() ? test : test + '.' + event->layer_name;
  }
  record::EventRecord* added = add(std::move(event), site, launch_occurrence);
  if (added == nullptr) return nullptr;
  if (site.events.size() <= launch_occurrence) site.events.resize(launch_occurrence + 1, nullptr);
  site.events[launch_occurrence] = added;
  return added;
}

record::EventRecord* Discovery::add(std::unique_ptr<record::EventRecord> event, LaunchSite& site,
                                    std::uint32_t launch_occurrence) {
  event->phase = session_.phases.index();
  event->device_id = site.stream->timer->device_id();
  event->stream = site.stream->handle;
  event->stream_index = site.stream->index;
  event->launch_occurrence = launch_occurrence;
  record::EventRecord* added = session_.run.events.add(std::move(event));
  if (added == nullptr) {
    session_.sites.note_full();
    return nullptr;
  }
  session_.sites.set_event(added, site);
  return added;
}

void Discovery::make_room_before_iterations() {
  const std::lock_guard lock(session_.mutex);
  if (session_.state() == RunState::kBeforeIterations) session_.sites.forget_what_was_tried();
}

void Discovery::begin_anew() {
  session_.sites.fold_counts();
  {
    // With the mutex: from here on no checkpoint is written until the plan is made.
    const std::lock_guard lock(session_.run.mutex);
    session_.enter(RunState::kDiscovering);
    session_.run.phase_in_making = session_.phases.index();
    session_.run.events.remove_if(
        [&](const record::EventRecord& event) { return event.phase == session_.phases.index(); });
    if (session_.run.phases.empty()) session_.run.iteration_times.restart(0);
  }
  is_fresh_ = true;
  waits_for_names_ = false;
  are_names_wanted_.store(true, std::memory_order_relaxed);
  insides_.clear();
  op_occurrences_.clear();
  kernel_event_names_.clear();
  kernels_on_streams_.clear();
  next_index_ = first_index_;
  ++number_;
  session_.source.begin_order();
  session_.sites.forget();
}

void Discovery::meet(const hook::Launch& launch, bool is_captured) {
  if (session_.sites.are_full()) return;
  const std::lock_guard lock(session_.mutex);
  LaunchSite* site = session_.sites.of_launch(launch);
  if (site == nullptr) return;
  session_.start_writer();
  if (launch.copy == nullptr && launch::filter.has(launch::LaunchFilter::kSearching) &&
      !session_.source.add_launch(*site)) {
    site = session_.sites.of_launch(launch);
    if (site == nullptr) return;
  }
  switch (session_.state()) {
    case RunState::kBeforeIterations:
      return meet_before_iterations(*site);
    case RunState::kWithoutIterations:
      site->slot->count.fetch_add(1, std::memory_order_relaxed);
      if (site->sampled == nullptr && site->kernel != nullptr) {
        const std::lock_guard run_lock(session_.run.mutex);
        session_.without_iterations.sample_from_now_on(*site);
      }
      return;
    case RunState::kDiscovering:
    case RunState::kUnitTests:
      return meet_in_warmup(*site, launch, is_captured);
    default:
      return;
  }
}

}  // namespace inline_prof::session
