// What the warm-up learns: contexts, streams, kernels, and which events an iteration has.
#include "session/discovery.hpp"

#include "graphs/graph_events.hpp"
#include "labels/layer_path.hpp"
#include "launch/copies.hpp"
#include "launch/kernel_handles.hpp"
#include "launch/kernel_name.hpp"
#include "libraries/op_frame.hpp"
#include "session/iteration_boundary.hpp"
#include "session/operator_calls.hpp"
#include "session/rebinding.hpp"
#include "session/state.hpp"
#include "session/without_iterations.hpp"
#include "sys/cuda_api.hpp"
#include "sys/large_stack.hpp"
#include "sys/lifecycle.hpp"
#include "sys/log.hpp"
#include "timer/device_facts.hpp"
#include "timer/driver_scope.hpp"

#include <algorithm>

namespace inline_prof::hook {

constinit std::atomic<bool> counting{true};
constinit timer::LaunchTable launch_table;

namespace {

// After this many launches of one kernel on one stream before any iteration has begun, the run is
// treated as one without iterations. 64: initializing a model launches each kernel less often.
constexpr std::uint32_t kEnoughWithoutIterations = 64;

int attribute_of(CUfunction function, CUfunction_attribute attribute) {
  int value = 0;
  if (sys::cuda().cuFuncGetAttribute == nullptr ||
      sys::cuda().cuFuncGetAttribute(&value, attribute, function) != CUDA_SUCCESS) {
    return 0;
  }
  return value;
}

// Two kernels of one name on one stream (generated code repeats names in every module) are two
// events: the second is called NAME~2.
std::string unique_event_name(State& state, const KernelInfo& kernel, const StreamInfo& stream) {
  const std::string place = kernel.event_name + ' ' + std::to_string(stream.index);
  const int same = ++state.kernel_event_names[place];
  return same == 1 ? kernel.event_name : kernel.event_name + '~' + std::to_string(same);
}

record::LaunchShape shape_of(const Launch& launch, const KernelInfo& kernel) {
  record::LaunchShape shape{.grid = launch.grid,
                            .block = launch.block,
                            .cluster = launch.cluster,
                            .dynamic_shared_bytes = launch.dynamic_shared_bytes,
                            .static_shared_bytes = kernel.static_shared_bytes,
                            .registers = kernel.registers};
  const auto occupancy = sys::cuda().cuOccupancyMaxActiveBlocksPerMultiprocessor;
  int blocks = 0;
  const auto threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
  if (occupancy != nullptr &&
      occupancy(&blocks, launch.function, threads, launch.dynamic_shared_bytes) == CUDA_SUCCESS) {
    shape.max_blocks_per_sm = blocks;
  }
  return shape;
}

// Launches from now on count as new.
void forget_sites(State& state) {
  forget_lost_boundary(state);
  launch_table.clear();
  state.sites.clear();
  for (auto& site : state.site_by_slot)
    site.reset();
  state.kernels.clear();
  state.unloaded_kernels.clear();
  graphs::forget_vacant();
  state.some_are_lost = false;
  state.table_full.store(false, std::memory_order_relaxed);
}

void forget_what_was_tried(State& state) {
  fold_counts(state);
  forget_sites(state);
  forget_searches();
  state.some_were_forgotten = true;
}

// Null if the table is full.  Before the first iteration that is no reason to stop: programs try
// thousands of kernels before they train.
timer::LaunchSlot* free_slot(State& state, const void* function, const void* key) {
  if (timer::LaunchSlot* slot = launch_table.insert(function, key)) return slot;
  if (state.phase.load(std::memory_order_relaxed) == Phase::kBeforeIterations) {
    forget_what_was_tried(state);
    return launch_table.insert(function, key);
  }
  state.table_full.store(true, std::memory_order_relaxed);
  return nullptr;
}

LaunchSite* site_of_launch(State& state, const Launch& launch) {
  const void* key = table_key(state, launch.stream);
  if (timer::LaunchSlot* slot = launch_table.find(launch.function, key)) {
    return state.site_by_slot[launch_table.index_of(*slot)].get();
  }
  const Launched launched{.function = launch.graph == nullptr ? launch.function : nullptr,
                          .label = nullptr,
                          .graph = launch.graph};
  if (LaunchSite* lost = rebind(state, launched, launch.stream)) return lost;
  StreamInfo* stream = stream_of(state, launch.stream);
  if (stream == nullptr) return nullptr;
  timer::LaunchSlot* slot = free_slot(state, launch.function, key);
  if (slot == nullptr) return nullptr;
  auto site = std::make_unique<LaunchSite>();
  site->slot = slot;
  site->stream = stream;
  site->function = launch.function;
  site->graph = launch.graph;
  if (launch.copy != nullptr) {
    site->kernel = kernel_of(state, launch.function);
  } else if (site->graph == nullptr) {
    site->kernel = kernel_of(state, launch.function);
    site->first_shape = shape_of(launch, *site->kernel);
    site->may_overlap = launch.may_overlap;
    note_kernel(state, launch, *site->kernel);
  }
  LaunchSite* result = site.get();
  slot->owner.store(result, std::memory_order_release);
  state.site_by_slot[launch_table.index_of(*slot)] = std::move(site);
  state.sites.push_back(result);
  return result;
}

// Copies have no shape.
void set_shape(record::EventRecord& event, const LaunchSite& site, const Launch& launch) {
  if (launch.copy != nullptr) return;
  event.shape = shape_of(launch, *site.kernel);
  if (launch.may_overlap) event.add_flag(record::Flag::kPdlRemoved);
}

// The first launch of a library call on this stream creates the event, further ones belong to it.
void meet_inside_op(State& state, LaunchSite& site, const Launch& launch, std::uint32_t occurrence,
                    libraries::OpFrame& op, const OpenLabel* label) {
  libraries::OpPart& part = libraries::part_on(op, launch.stream);
  if (part.event != nullptr) {
    part.event->spans_op = true;
    part.event->shape.reset();
    return add_kernel_name(*part.event, site.kernel->name);
  }
  part.event = add_event(state, site, occurrence, op.event_name);
  if (part.event == nullptr) return;
  set_shape(*part.event, site, launch);
  part.event->start_index = state.next_index++;
  part.event->end_index = state.next_index++;
  record::Op description = op.describe(op.call, launch.stream);
  if (!description.kind.empty()) {
    part.event->op = std::make_unique<record::Op>(std::move(description));
  }
  if (label != nullptr) return state.insides[label->event].ops.push_back(part.event);
  operator_calls::name_library_event(state, launch, op, *part.event);
}

void meet_in_warmup(State& state, LaunchSite& site, const Launch& launch, bool is_captured) {
  const std::uint32_t occurrence = site.slot->count.fetch_add(1, std::memory_order_relaxed);
  operator_calls::note_launch(state, site, launch);
  if (occurrence < site.events.size())
    return;  // another thread has added it, or operators are learned
  site.events.resize(occurrence + 1, nullptr);
  site.slot->limit.store(occurrence + 1, std::memory_order_relaxed);
  if (site.graph != nullptr) return meet_replay(state, site, launch, occurrence);
  const OpenLabel* label = innermost_label(launch.stream, state.discovery);
  if (label != nullptr) add_kernel_name(*label->event, site.kernel->name);
  if (is_captured && label == nullptr) {
    // Only a label asks for events in the application's graph.
    state.run.dropped.capture_skipped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (libraries::OpFrame* op = libraries::outermost_op()) {
    return meet_inside_op(state, site, launch, occurrence, *op, label);
  }
  if (label != nullptr) {
    if (launch.copy == nullptr) ++state.insides[label->event].other_launches;
    return;
  }
  record::EventRecord* event = add_event(state, site, occurrence, {});
  if (event == nullptr) return;
  set_shape(*event, site, launch);
  if (launch.copy != nullptr) {
    event->is_copy = true;
    event->op = std::make_unique<record::Op>(op_of(*launch.copy, launch.api));
  } else {
    operator_calls::describe_event(state, site, launch, *event);
  }
  event->start_index = state.next_index++;
  event->end_index = state.next_index++;
}

void meet_before_iterations(State& state, LaunchSite& site) {
  const std::uint32_t count = site.slot->count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_copy(site)) {  // a program fills its memory before it begins
    site.slot->limit.store(~std::uint32_t{0}, std::memory_order_relaxed);
    return;
  }
  site.slot->limit.store(kEnoughWithoutIterations, std::memory_order_relaxed);
  if (count > kEnoughWithoutIterations && state.courses.empty()) begin_without_iterations(state);
}

}  // namespace

const KernelInfo* kernel_of(State& state, CUfunction function) {
  KernelIdentity identity = identity_of(function);
  auto& known = state.kernels[identity];
  if (known) return known.get();
  // Its module was unloaded, and is loaded again.
  const auto unloaded = std::find_if(state.unloaded_kernels.begin(), state.unloaded_kernels.end(),
                                     [&](const auto& each) { return each->name == identity.name; });
  if (unloaded != state.unloaded_kernels.end()) {
    known = std::move(*unloaded);
    state.unloaded_kernels.erase(unloaded);
    return known.get();
  }
  known = std::make_unique<KernelInfo>();
  known->name = std::move(identity.name);
  known->event_name = readable_kernel_name(known->name);
  known->is_copy = is_copy(function);
  if (known->is_copy) return known.get();
  known->static_shared_bytes = attribute_of(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  known->registers = attribute_of(function, CU_FUNC_ATTRIBUTE_NUM_REGS);
  return known.get();
}

int next_occurrence(State& state, const std::string& name, const StreamInfo& stream) {
  return state.op_occurrences[{name, stream.index}]++;
}

const std::string& event_name_of(State& state, const KernelInfo& kernel, const StreamInfo& stream,
                                 int& occurrence) {
  KernelOnStream& same = state.kernels_on_streams[{&kernel, stream.index}];
  if (same.event_name.empty()) same.event_name = unique_event_name(state, kernel, stream);
  same.handles += 2;  // counted as they are met, by everybody from now on
  occurrence = same.next_occurrence++;
  return same.event_name;
}

timer::ContextTimer* timer_of(State& state, CUcontext context) {
  for (timer::ContextTimer& timer : state.timers) {
    if (timer.context() == context && timer.is_alive()) return &timer;
  }
  CUdevice device = 0;
  {
    const timer::ContextScope scope(context);
    if (!scope || sys::cuda().cuCtxGetDevice(&device) != CUDA_SUCCESS) return nullptr;
  }
  // It reads files and formats what it finds.
  sys::on_large_stack([&] { timer::add_device_facts(state.run, device); });
  // A context that was destroyed or reset, and is there again.
  for (timer::ContextTimer& timer : state.timers) {
    if (!timer.is_alive() && timer.device_id() == device && timer.revive(context)) return &timer;
  }
  return &state.timers.emplace_back(context, device);
}

timer::ContextTimer* timer_of_stream(State& state, CUstream stream) {
  CUcontext context = nullptr;
  const bool is_handle = stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
  const auto get_context = sys::cuda().cuStreamGetCtx;
  if (!is_handle || get_context == nullptr || get_context(stream, &context) != CUDA_SUCCESS) {
    if (sys::cuda().cuCtxGetCurrent(&context) != CUDA_SUCCESS) return nullptr;
  }
  return context == nullptr ? nullptr : timer_of(state, context);
}

StreamInfo* stream_of(State& state, CUstream stream) {
  timer::ContextTimer* timer = timer_of_stream(state, stream);
  if (timer == nullptr) return nullptr;
  for (StreamInfo& known : state.streams) {
    if (known.handle == stream && known.timer == timer) {
      known.is_alive = true;  // a new stream may stand at the address of a destroyed one
      return &known;
    }
  }
  return &state.streams.emplace_back(StreamInfo{
      .handle = stream, .timer = timer, .index = static_cast<int>(state.streams.size())});
}

LaunchSite* label_site(State& state, Label& label, CUstream stream) {
  const void* key = table_key(state, stream);
  if (timer::LaunchSlot* slot = launch_table.find(&label, key)) {
    return state.site_by_slot[launch_table.index_of(*slot)].get();
  }
  const Launched launched{.function = nullptr, .label = &label, .graph = nullptr};
  if (LaunchSite* lost = rebind(state, launched, stream)) return lost;
  StreamInfo* info = stream_of(state, stream);
  if (info == nullptr) return nullptr;
  timer::LaunchSlot* slot = free_slot(state, &label, key);
  if (slot == nullptr) return nullptr;
  auto site = std::make_unique<LaunchSite>();
  site->slot = slot;
  site->stream = info;
  site->function = &label;
  site->label = &label;
  LaunchSite* result = site.get();
  slot->owner.store(result, std::memory_order_release);
  state.site_by_slot[launch_table.index_of(*slot)] = std::move(site);
  state.sites.push_back(result);
  return result;
}

record::EventRecord* add_event(State& state, LaunchSite& site, std::uint32_t launch_occurrence,
                               const std::string& op_name) {
  auto event = std::make_unique<record::EventRecord>();
  event->phase = state.phase_index;
  event->occurrence = static_cast<int>(launch_occurrence);
  if (site.label != nullptr) {
    event->event_name = site.label->name;
  } else if (!op_name.empty()) {
    // Counted at each launch: a library call may begin with a different kernel each time.
    event->event_name = op_name;
    event->occurrence = next_occurrence(state, op_name, *site.stream);
    if (site.kernel != nullptr) event->kernel_names.push_back(site.kernel->name);
  } else {
    KernelOnStream& same = state.kernels_on_streams[{site.kernel, site.stream->index}];
    if (same.event_name.empty()) {
      same.event_name = unique_event_name(state, *site.kernel, *site.stream);
    }
    if (site.event_name.empty()) ++same.handles;
    site.event_name = same.event_name;
    event->event_name = site.event_name;
    // One handle counts its own launches; several are counted as they are met.
    if (same.handles > 1) event->occurrence = same.next_occurrence;
    same.next_occurrence = std::max(same.next_occurrence, event->occurrence + 1);
    event->kernel_names.push_back(site.kernel->name);
  }
  event->layer_name = current_layer();
  if (state.running_test != nullptr) {
    const std::string& test = state.running_test->name;
    event->layer_name = event->layer_name.empty() ? test : test + '.' + event->layer_name;
  }
  event->device_id = site.stream->timer->device_id();
  event->stream = site.stream->handle;
  event->stream_index = site.stream->index;
  event->launch_occurrence = launch_occurrence;
  record::EventRecord* added = state.run.events.add(std::move(event));
  if (added == nullptr) {
    state.table_full.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  state.site_of_event[added] = &site;
  if (site.events.size() <= launch_occurrence) site.events.resize(launch_occurrence + 1, nullptr);
  site.events[launch_occurrence] = added;
  return added;
}

void make_room_before_iterations(State& state) {
  const std::lock_guard lock(state.mutex);
  if (state.phase.load(std::memory_order_relaxed) == Phase::kBeforeIterations)
    forget_what_was_tried(state);
}

void forget_discovery(State& state) {
  fold_counts(state);
  {
    // With the mutex: from here on no checkpoint is written until the plan is made.
    const std::lock_guard lock(state.run.mutex);
    state.phase.store(Phase::kDiscovering, std::memory_order_release);
    state.run.phase_in_making = state.phase_index;
    state.run.events.remove_if(
        [&](const record::EventRecord& event) { return event.phase == state.phase_index; });
    if (state.run.phases.empty()) state.run.iteration_times.restart(0);
  }
  state.is_fresh = true;
  state.site_of_event.clear();
  state.insides.clear();
  state.op_occurrences.clear();
  state.kernel_event_names.clear();
  state.kernels_on_streams.clear();
  state.next_index = state.first_index;
  ++state.discovery;
  forget_sites(state);
}

namespace {

// The majority of the warm-up's iterations decides (R. S. Boyer, J. S. Moore, "MJRTY: a fast
// majority vote algorithm", 1981): the first iteration prepares things, and one in ten may be
// followed by an evaluation.
void vote_for_usual_count(LaunchSite& site, std::uint32_t count) {
  if (site.usual_votes == 0) site.usual_count = count;
  site.usual_votes += site.usual_count == count ? 1 : -1;
}

}  // namespace

void fold_counts(State& state) {
  for (LaunchSite* site : state.sites) {
    const std::uint32_t count = site->slot->count.exchange(0, std::memory_order_relaxed);
    vote_for_usual_count(*site, count);
    const std::uint64_t kernels = site->graph != nullptr
                                      ? site->graph->kernels.load(std::memory_order_relaxed)
                                      : (is_kernel(*site) ? 1 : 0);
    site->stream->launches += count * kernels;
    auto& seen = site->graph != nullptr ? state.run.graph_launches_seen : state.run.launches_seen;
    if (site->graph != nullptr || is_kernel(*site))
      seen.fetch_add(count, std::memory_order_relaxed);
  }
}

StreamInfo* busiest_stream(State& state, const timer::ContextTimer& timer) {
  StreamInfo* best = nullptr;
  for (StreamInfo& stream : state.streams) {
    if (stream.timer != &timer || !stream.is_alive) continue;
    if (best == nullptr || stream.launches > best->launches) best = &stream;
  }
  return best;
}

void meet(State& state, const Launch& launch, bool is_captured) {
  if (state.table_full.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(state.mutex);
  LaunchSite* site = site_of_launch(state, launch);
  if (site == nullptr) return;
  if (launch.copy == nullptr && looking_for_period.load(std::memory_order_relaxed) &&
      !look_for_period(state, *site)) {
    site = site_of_launch(state, launch);
    if (site == nullptr) return;
  }
  switch (state.phase.load(std::memory_order_relaxed)) {
    case Phase::kBeforeIterations:
      return meet_before_iterations(state, *site);
    case Phase::kWithoutIterations:
      site->slot->count.fetch_add(1, std::memory_order_relaxed);
      if (site->sampled == nullptr && site->kernel != nullptr) {
        const std::lock_guard run_lock(state.run.mutex);
        sample_from_now_on(state, *site);
      }
      return;
    case Phase::kDiscovering:
    case Phase::kUnitTests:
      return meet_in_warmup(state, *site, launch, is_captured);
    default:
      return;
  }
}

}  // namespace inline_prof::hook
