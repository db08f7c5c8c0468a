#include "session/rebinding.hpp"

#include "graphs/graph_registry.hpp"
#include "launch/launch.hpp"
#include "session/armed_event.hpp"
#include "session/discovery.hpp"
#include "session/iteration_boundary.hpp"
#include "session/phases.hpp"
#include "session/state.hpp"
#include "timer/launch_table.hpp"

#include <algorithm>
#include <utility>

namespace inline_prof::hook {

constinit std::atomic<bool> sites_are_lost{false};

bool has_handles(const LaunchSite& site) noexcept {
  return site.function != nullptr && site.stream->is_alive;
}

namespace {

// What is not launched again in so many iterations, or launches of other kernels, is gone for good,
// until the next thing is destroyed.
constexpr int kIterationsOfSearch = 8;
constexpr int kLaunchesOfSearch = 100'000;

// With the state's mutex held.
int iterations_to_watch = 0;
int launches_left = 0;
bool is_looked_at = false;  // this iteration, from its start
std::int64_t next_look = 0;
int looks_in_vain = 0;

constexpr int kIterationsOfLook = 2;  // the one that is counted down at once, and one more
constexpr int kMostLooksInVain = 10;  // 2048 iterations to the next
// So often a stream has another one follow it before each iteration is expected to have its own.
constexpr int kOften = 2;

// Some event of it is to be measured, or it tells where iterations start.
bool is_wanted(const LaunchSite& site) {
  return is_boundary(site.slot->function.load(std::memory_order_relaxed)) ||
         std::any_of(site.events.begin(), site.events.end(),
                     [](const record::EventRecord* event) { return event != nullptr; });
}

bool is_measuring(const State& state) {
  const Phase phase = state.phase.load(std::memory_order_relaxed);
  return phase == Phase::kMeasuring || phase == Phase::kOverheadMeasurement;
}

void begin_search(const State& state) {
  if (!is_measuring(state)) return;
  iterations_to_watch = kIterationsOfSearch;
  launches_left = kLaunchesOfSearch;
  sites_are_lost.store(true, std::memory_order_release);
  look_at_every_launch();
}

void revive(State& state, StreamInfo& stream, CUstream handle);

void end_search(State& state) {
  is_looked_at = false;
  for (StreamInfo& stream : state.streams) {
    if (!stream.is_silent) continue;
    revive(state, stream, stream.handle);
  }
  sites_are_lost.store(false, std::memory_order_release);
  look_at_armed_launches();
}

// Its launches are found in the table, or no launch is taken for one of them.
void place(State& state, LaunchSite& site) {
  timer::LaunchSlot& old = *site.slot;
  const void* old_function = old.function.load(std::memory_order_relaxed);
  const void* old_stream = old.stream.load(std::memory_order_relaxed);
  if (!has_handles(site)) {
    state.some_are_lost = true;
    // An address of ours is no handle of anybody's.
    old.function.store(&site, std::memory_order_release);
    rename_armed({old_function, old_stream}, {&site, old_stream});
    if (is_boundary(&site)) boundary_is_lost.store(true, std::memory_order_relaxed);
    return;
  }
  const void* stream = table_key(state, site.stream->handle);
  if (old_function == site.function && old_stream == stream) return;
  timer::LaunchSlot* slot = launch_table.insert(site.function, stream);
  if (slot == nullptr) {
    state.table_full.store(true, std::memory_order_relaxed);
    return;
  }
  slot->take_counts_of(old);
  auto& owner = state.site_by_slot[launch_table.index_of(old)];
  state.site_by_slot[launch_table.index_of(*slot)] = std::move(owner);
  launch_table.vacate(old);
  site.slot = slot;
  rename_armed({old_function, old_stream}, {site.function, stream});
  if (!boundary_is_lost.load(std::memory_order_relaxed)) return;
  boundary_is_lost.store(std::any_of(state.sites.begin(), state.sites.end(),
                                     [](const LaunchSite* each) { return is_boundary(each); }),
                         std::memory_order_relaxed);
}

template <typename Predicate>
void lose_functions(State& state, const Predicate& is_gone) {
  bool some_are_wanted = false;
  for (LaunchSite* site : state.sites) {
    if (!is_kernel(*site) || site->function == nullptr || !is_gone(*site)) continue;
    some_are_wanted = some_are_wanted || is_wanted(*site);
    site->function = nullptr;
    place(state, *site);
    const KernelInfo* kernel = site->kernel;
    const auto known = std::find_if(state.kernels.begin(), state.kernels.end(),
                                    [&](const auto& each) { return each.second.get() == kernel; });
    if (known == state.kernels.end()) continue;
    state.unloaded_kernels.push_back(std::move(known->second));
    state.kernels.erase(known);
  }
  if (some_are_wanted) begin_search(state);
}

bool lose_stream(State& state, StreamInfo& stream) {
  bool some_are_wanted = false;
  stream.is_alive = false;
  for (LaunchSite* site : state.sites) {
    if (site->stream != &stream) continue;
    some_are_wanted = some_are_wanted || is_wanted(*site);
    place(state, *site);
  }
  return some_are_wanted;
}

// Of a site with other handles, or none.
const KernelInfo* kernel_behind(State& state, CUfunction function) {
  for (const LaunchSite* site : state.sites) {
    if (site->kernel != nullptr && site->function == function) return site->kernel;
  }
  return kernel_of(state, function);
}

const void* function_of(const Launched& launched) {
  if (launched.label != nullptr) return launched.label;
  if (launched.graph != nullptr) return launched.graph;
  return launched.function;
}

bool is_default_stream(CUstream stream) {
  return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

// True where a site on `old` may be launched on `stream` from now on.
bool may_become(const StreamInfo& old, CUstream stream, const timer::ContextTimer* timer) {
  if (old.timer != timer) return false;
  if (old.handle == stream) return true;
  return !old.is_alive && !is_default_stream(stream) && !is_default_stream(old.handle);
}

void revive(State& state, StreamInfo& stream, CUstream handle) {
  if (stream.is_alive && stream.handle == handle) return;
  // Another one that has ended may have had this handle.
  for (StreamInfo& other : state.streams) {
    if (&other != &stream && other.handle == handle && other.timer == stream.timer)
      other.handle = nullptr;
  }
  stream.silences = stream.is_silent && stream.handle != handle ? stream.silences + 1 : 0;
  if (stream.silences > 0) looks_in_vain = 0;
  stream.handle = handle;
  stream.is_alive = true;
  stream.is_silent = false;
  for (LaunchSite* site : state.sites) {
    if (site->stream == &stream) place(state, *site);
  }
  // It was lost when the iteration began.
  if (is_measuring(state)) {
    const auto iteration = state.iteration.load(std::memory_order_relaxed);
    if (!stream.timer->has_origin(iteration)) stream.timer->record_origin(handle, iteration);
  }
}

bool has_kernels(const State& state, const StreamInfo& stream) {
  return std::any_of(state.sites.begin(), state.sites.end(), [&](const LaunchSite* site) {
    return site->stream == &stream && !is_copy(*site);
  });
}

// Nothing was launched there since the counts began.
bool is_silent(const State& state, const StreamInfo& stream) {
  if (stream.is_heard) return false;
  return std::none_of(state.sites.begin(), state.sites.end(), [&](const LaunchSite* site) {
    return site->stream == &stream && site->slot->count.load(std::memory_order_relaxed) > 0;
  });
}

bool some_armed_was_not_launched() {
  const auto count = armed_count.load(std::memory_order_acquire);
  return std::any_of(
      armed_events.begin(), armed_events.begin() + count,
      [](const ArmedEvent& each) { return each.site.load(std::memory_order_relaxed) == 0; });
}

}  // namespace

void lose_stream(State& state, CUstream stream) {
  bool some_are_wanted = false;
  for (StreamInfo& known : state.streams) {
    if (known.handle == stream) known.is_silent = false;
    if (known.handle == stream && known.is_alive)
      some_are_wanted = lose_stream(state, known) || some_are_wanted;
  }
  if (some_are_wanted) begin_search(state);
}

void lose_context(State& state, timer::ContextTimer& timer) {
  if (!timer.is_alive()) return;
  state.run.dropped.destroyed.fetch_add(timer.forget());
  bool some_are_wanted = false;
  for (StreamInfo& stream : state.streams) {
    if (stream.timer == &timer) stream.is_silent = false;
    if (stream.timer == &timer && stream.is_alive)
      some_are_wanted = lose_stream(state, stream) || some_are_wanted;
  }
  lose_functions(state, [&](const LaunchSite& site) { return site.stream->timer == &timer; });
  if (some_are_wanted) begin_search(state);
}

void lose_module(State& state, const void* module) {
  std::vector<const KernelInfo*> gone;
  for (const auto& [identity, kernel] : state.kernels) {
    if (identity.module == module) gone.push_back(kernel.get());
  }
  lose_functions(state, [&](const LaunchSite& site) {
    return std::find(gone.begin(), gone.end(), site.kernel) != gone.end();
  });
}

LaunchSite* rebind(State& state, const Launched& launched, CUstream stream) {
  if (!state.some_are_lost || state.settings.mode == schedule::Mode::kUnitTest) return nullptr;
  const timer::ContextTimer* timer = timer_of_stream(state, stream);
  if (timer == nullptr) return nullptr;
  const KernelInfo* kernel =
      launched.function == nullptr ? nullptr : kernel_behind(state, launched.function);
  LaunchSite* best = nullptr;
  for (LaunchSite* site : state.sites) {
    if (site->kernel != kernel || site->label != launched.label || site->graph != launched.graph ||
        !may_become(*site->stream, stream, timer)) {
      continue;
    }
    // Of a kernel that has several handles, the ones that live stay as they are.
    if (has_handles(*site) ||
        (site->function != nullptr && kernel != nullptr && site->function != launched.function)) {
      continue;
    }
    // Every stream has copies: one tells nothing of where kernels are launched from now on.
    if (is_copy(*site) && site->stream->handle != stream && has_kernels(state, *site->stream))
      continue;
    // What is on the stream already is nearer than what was on one that has ended.
    if (best == nullptr || (site->stream->handle == stream && best->stream->handle != stream))
      best = site;
  }
  if (best == nullptr) return nullptr;
  revive(state, *best->stream, stream);
  if (kernel == nullptr) return best;
  for (LaunchSite* site : state.sites) {
    if (site->kernel != kernel || site->function != nullptr || site->stream->timer != timer) {
      continue;
    }
    site->function = launched.function;
    place(state, *site);
  }
  return best;
}

void look_for_lost(State& state, const Launched& launched, CUstream stream) {
  if (timer::LaunchSlot* slot = launch_table.find(function_of(launched), stream)) {
    if (!measures_everything.load(std::memory_order_relaxed))
      slot->count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::lock_guard lock(state.mutex);
  if (!sites_are_lost.load(std::memory_order_relaxed)) return;
  const LaunchSite* found = rebind(state, launched, stream);
  const bool is_found = found != nullptr;
  for (StreamInfo& known : state.streams)
    known.is_heard = known.is_heard || (!is_found && known.handle == stream);
  if (is_found && !measures_everything.load(std::memory_order_relaxed))
    found->slot->count.fetch_add(1, std::memory_order_relaxed);
  const bool all_are_found =
      is_found && std::all_of(state.sites.begin(), state.sites.end(), [](const LaunchSite* site) {
        return has_handles(*site) || !is_wanted(*site);
      });
  if (all_are_found || --launches_left <= 0) end_search(state);
}

void look_for_boundary(State& state, const Launched& launched, CUstream stream) {
  const std::lock_guard lock(state.mutex);
  if (launch_table.find(function_of(launched), table_key(state, stream)) == nullptr)
    static_cast<void>(rebind(state, launched, stream));
}

void forget_lost(State& state) {
  end_search(state);
  next_look = 0;
  looks_in_vain = 0;
}

void begin_search_if_lost(State& state) {
  const bool some_are_lost =
      std::any_of(state.sites.begin(), state.sites.end(),
                  [](const LaunchSite* site) { return !has_handles(*site) && is_wanted(*site); });
  if (some_are_lost) begin_search(state);
}

void search_on(State& state) {
  if (!sites_are_lost.load(std::memory_order_relaxed)) return;
  if (--iterations_to_watch <= 0) return end_search(state);
  is_looked_at = true;
  for (StreamInfo& stream : state.streams)
    stream.is_heard = false;
  if (measures_everything.load(std::memory_order_relaxed)) return;
  for (LaunchSite* site : state.sites)
    site->slot->count.store(0, std::memory_order_relaxed);
}

void look_for_silent_streams(State& state, std::int64_t iteration) {
  const bool was_looked_at =
      std::exchange(is_looked_at, false) || measures_everything.load(std::memory_order_relaxed);
  if (state.phase.load(std::memory_order_relaxed) != Phase::kMeasuring) return;
  bool some_are_lost = false;
  for (StreamInfo& stream : state.streams) {
    if (!stream.is_alive || is_default_stream(stream.handle)) continue;
    if (stream.silences < kOften && !(was_looked_at && is_silent(state, stream))) continue;
    stream.is_silent = lose_stream(state, stream);
    if (!stream.is_silent) {
      revive(state, stream, stream.handle);
      continue;
    }
    some_are_lost = true;
  }
  if (some_are_lost) return begin_search(state);
  if (was_looked_at || sites_are_lost.load(std::memory_order_relaxed) ||
      watching.load(std::memory_order_relaxed) || iteration < next_look ||
      !some_armed_was_not_launched()) {
    return;
  }
  next_look = iteration + (std::int64_t{2} << looks_in_vain);
  looks_in_vain = std::min(looks_in_vain + 1, kMostLooksInVain);
  begin_search(state);
  iterations_to_watch = kIterationsOfLook;
}

}  // namespace inline_prof::hook
