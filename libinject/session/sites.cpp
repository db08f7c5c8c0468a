#include "session/sites.hpp"

#include "launch/copies.hpp"
#include "launch/kernel_name.hpp"
#include "launch/launch_filter.hpp"
#include "session/session.hpp"
#include "sys/cuda_api.hpp"

#include <algorithm>

namespace inline_prof::session {
namespace {

int attribute_of(CUfunction function, CUfunction_attribute attribute) {
  int value = 0;
  if (sys::cuda().cuFuncGetAttribute == nullptr ||
      sys::cuda().cuFuncGetAttribute(&value, attribute, function) != CUDA_SUCCESS)
    return 0;
  return value;
}

// The majority of the warm-up's iterations decides (R. S. Boyer, J. S. Moore, "MJRTY: a fast
// majority vote algorithm", 1981): the first iteration prepares things, and one in ten may be
// followed by an evaluation.
void vote_for_usual_count(LaunchSite& site, std::uint32_t count) {
  if (site.usual_votes != 0 && site.usual_count != count) site.count_varies = true;
  if (site.usual_votes == 0) site.usual_count = count;
  site.usual_votes += site.usual_count == count ? 1 : -1;
}

LaunchSite* owner_of(const timer::LaunchSlot* slot) noexcept {
  if (slot == nullptr) return nullptr;
  return static_cast<LaunchSite*>(slot->owner.load(std::memory_order_acquire));
}

}  // namespace

record::LaunchShape shape_of(const hook::Launch& launch, const KernelInfo& kernel) {
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
      occupancy(&blocks, launch.function, threads, launch.dynamic_shared_bytes) == CUDA_SUCCESS)
    shape.max_blocks_per_sm = blocks;
  return shape;
}

LaunchSite* Sites::find(const void* function, CUstream stream) const noexcept {
  return owner_of(launch::filter.table.find(function, session_.unit_tests.key_of(stream)));
}

LaunchSite* Sites::of_launch(const hook::Launch& launch) {
  if (LaunchSite* known = find(launch.function, launch.stream)) return known;
  const Launched launched = launched_by(launch);
  if (LaunchSite* lost = session_.rebinding.rebind(launched, launch.stream)) return lost;
  LaunchSite* site = add(launched, launch.stream, launch.function);
  if (site == nullptr || site->graph != nullptr) return site;
  site->kernel = kernel_of(launch.function);
  if (launch.copy != nullptr) return site;
  site->first_shape = shape_of(launch, *site->kernel);
  site->may_overlap = launch.may_overlap;
  session_.source.note_kernel(launch, *site->kernel);
  return site;
}

LaunchSite* Sites::of_label(labels::Label& label, CUstream stream) {
  if (LaunchSite* known = find(&label, stream)) return known;
  const Launched launched{.label = &label};
  if (LaunchSite* lost = session_.rebinding.rebind(launched, stream)) return lost;
  return add(launched, stream, &label);
}

LaunchSite* Sites::add(const Launched& launched, CUstream stream, const void* key) {
  StreamInfo* info = session_.contexts.stream_of(stream);
  if (info == nullptr) return nullptr;
  timer::LaunchSlot* slot = free_slot(key, session_.unit_tests.key_of(stream));
  if (slot == nullptr) return nullptr;
  LaunchSite& site = *sites_.emplace_back(std::make_unique<LaunchSite>());
  site.slot = slot;
  site.stream = info;
  site.function = key;
  site.label = launched.label;
  site.graph = launched.graph;
  // The iterations before this one launched none.  A label may have gone without its name there.
  if (site.label == nullptr && session_.state() == RunState::kDiscovering)
    site.usual_votes = iterations_;
  slot->owner.store(&site, std::memory_order_release);
  return &site;
}

// Null if the table is full.  Before the first iteration that is no reason to stop: programs try
// thousands of kernels before they train.
timer::LaunchSlot* Sites::free_slot(const void* function, const void* key) {
  if (timer::LaunchSlot* slot = launch::filter.table.insert(function, key)) return slot;
  if (session_.state() == RunState::kBeforeIterations) {
    forget_what_was_tried();
    return launch::filter.table.insert(function, key);
  }
  note_full();
  return nullptr;
}

bool Sites::move(LaunchSite& site, const void* function, const void* key) {
  timer::LaunchSlot* slot = launch::filter.table.insert(function, key);
  if (slot == nullptr) {
    note_full();
    return false;
  }
  slot->take_counts_of(*site.slot);
  launch::filter.table.vacate(*site.slot);
  site.slot = slot;
  return true;
}

LaunchSite* Sites::of_event(const record::EventRecord* event) const noexcept {
  const auto known = of_event_.find(event);
  return known == of_event_.end() ? nullptr : known->second.site;
}

void Sites::add_to_label(const record::EventRecord* event, LaunchSite& site,
                         std::uint32_t occurrence) {
  const auto known = of_event_.find(event);
  if (known == of_event_.end()) return;
  LaunchRange& inside = known->second.inside;
  if (inside.first == nullptr) {
    inside.first = &site;
    inside.first_occurrence = occurrence;
  }
  inside.last = &site;
  inside.last_occurrence = occurrence;
}

const LaunchRange* Sites::range_of(const record::EventRecord* event) const noexcept {
  const auto known = of_event_.find(event);
  if (known == of_event_.end()) return nullptr;
  const LaunchRange& inside = known->second.inside;
  const auto is_sure = [](const LaunchSite* site) {
    return site != nullptr && site->kernel != nullptr && !site->count_varies;
  };
  return is_sure(inside.first) && is_sure(inside.last) ? &inside : nullptr;
}

void Sites::forget_events(const std::function<bool(const record::EventRecord&)>& unwanted) {
  record::RunRecord& run = session_.run;
  const std::lock_guard lock(run.mutex);
  std::unordered_set<const record::EventRecord*> gone;
  for (record::EventRecord& event : run.events) {
    if (event.phase == session_.phases.index() && unwanted(event)) gone.insert(&event);
  }
  for (const auto& site : sites_) {
    for (record::EventRecord*& event : site->events) {
      if (gone.contains(event)) event = nullptr;
    }
  }
  for (const record::EventRecord* event : gone)
    of_event_.erase(event);
  run.events.remove_if([&](const record::EventRecord& event) { return gone.contains(&event); });
}

const KernelInfo* Sites::kernel_of(CUfunction function) {
  launch::KernelIdentity identity = launch::identity_of(function);
  auto& known = kernels_[identity];
  if (known) return known.get();
  // Its module was unloaded, and is loaded again.
  const auto unloaded = std::find_if(unloaded_kernels_.begin(), unloaded_kernels_.end(),
                                     [&](const auto& each) { return each->name == identity.name; });
  if (unloaded != unloaded_kernels_.end()) {
    known = std::move(*unloaded);
    unloaded_kernels_.erase(unloaded);
    return known.get();
  }
  known = std::make_unique<KernelInfo>();
  known->name = std::move(identity.name);
  known->event_name = launch::readable_kernel_name(known->name);
  known->is_copy = launch::is_copy(function);
  if (known->is_copy) return known.get();
  known->static_shared_bytes = attribute_of(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  known->registers = attribute_of(function, CU_FUNC_ATTRIBUTE_NUM_REGS);
  return known.get();
}

void Sites::unload(const KernelInfo* kernel) {
  const auto known = std::find_if(kernels_.begin(), kernels_.end(),
                                  [&](const auto& each) { return each.second.get() == kernel; });
  if (known == kernels_.end()) return;
  unloaded_kernels_.push_back(std::move(known->second));
  kernels_.erase(known);
}

std::vector<const KernelInfo*> Sites::kernels_of(const void* module) const {
  std::vector<const KernelInfo*> all;
  for (const auto& [identity, kernel] : kernels_) {
    if (identity.module == module) all.push_back(kernel.get());
  }
  return all;
}

void Sites::fold_counts() {
  ++iterations_;
  for (const auto& site : sites_) {
    const std::uint32_t count = site->slot->count.exchange(0, std::memory_order_relaxed);
    // Without the application's names its labels are missing, too.
    if (site->label == nullptr || session_.discovery.are_names_wanted())
      vote_for_usual_count(*site, count);
    if (site->graph == nullptr && !is_kernel(*site)) continue;
    const std::uint64_t kernels =
        site->graph == nullptr ? 1 : site->graph->kernels.load(std::memory_order_relaxed);
    site->stream->launches += count * kernels;
    auto& seen =
        site->graph != nullptr ? session_.run.graph_launches_seen : session_.run.launches_seen;
    seen.fetch_add(count, std::memory_order_relaxed);
  }
}

void Sites::begin_counts() noexcept {
  for (const auto& site : sites_)
    site->slot->count.store(0, std::memory_order_relaxed);
}

void Sites::forget() {
  session_.source.forget_lost();
  iterations_ = 0;
  launch::filter.table.clear();
  sites_.clear();
  of_event_.clear();
  kernels_.clear();
  unloaded_kernels_.clear();
  graphs::forget_vacant();
  session_.rebinding.forget_lost_sites();
  is_full_.store(false, std::memory_order_relaxed);
}

void Sites::forget_what_was_tried() {
  fold_counts();
  forget();
  session_.source.forget_searches();
  some_were_forgotten_ = true;
}

}  // namespace inline_prof::session
