#include "session/rebinding.hpp"

#include "launch/launch_filter.hpp"
#include "session/session.hpp"

#include <algorithm>
#include <utility>

namespace inline_prof::session {
namespace {

// A search ends after so many iterations, or launches of other kernels, until the next thing is
// destroyed.
constexpr int kIterationsOfSearch = 8;
constexpr int kLaunchesOfSearch = 100'000;

constexpr int kIterationsOfAttempt = 2;  // the one that is counted down at once, and one more
constexpr int kMostAttemptsInVain = 10;  // 2048 iterations to the next
// A stream that another one followed so often is expected to be new in each iteration.
constexpr int kOften = 2;

// True if an event of it is measured, or it tells where iterations start.
bool is_wanted(const LaunchSite& site) {
  return launch::filter.is_boundary(site.slot->function.load(std::memory_order_relaxed)) ||
         std::any_of(site.events.begin(), site.events.end(),
                     [](const record::EventRecord* event) { return event != nullptr; });
}

bool is_default_stream(CUstream stream) {
  return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

// True if a site on `old` may be launched on `stream` from now on.
bool may_become(const StreamInfo& old, CUstream stream, const timer::ContextTimer* timer) {
  if (old.timer != timer) return false;
  if (old.handle == stream) return true;
  return !old.is_alive && !is_default_stream(stream) && !is_default_stream(old.handle);
}

}  // namespace

template <typename Predicate>
bool Rebinding::some_site(const Predicate& predicate) const {
  const auto& all = session_.sites.all();
  return std::any_of(all.begin(), all.end(), [&](const auto& site) { return predicate(*site); });
}

bool Rebinding::is_measuring() const {
  const RunState now = session_.state();
  return now == RunState::kMeasuring || now == RunState::kOverheadMeasurement;
}

void Rebinding::begin_search() {
  if (!is_measuring()) return;
  iterations_left_ = kIterationsOfSearch;
  launches_left_ = kLaunchesOfSearch;
  launch::filter.add(launch::LaunchFilter::kSitesLost);
}

void Rebinding::end_search() {
  is_counted_ = false;
  for (StreamInfo& stream : session_.contexts.streams()) {
    if (!stream.is_silent) continue;
    revive(stream, stream.handle);
  }
  launch::filter.remove(launch::LaunchFilter::kSitesLost);
}

// Moves the site to its handles' slot, or lets no launch be taken for one of its own.
void Rebinding::place(LaunchSite& site) {
  timer::LaunchSlot& old = *site.slot;
  const void* old_function = old.function.load(std::memory_order_relaxed);
  const void* old_stream = old.stream.load(std::memory_order_relaxed);
  if (!has_handles(site)) {
    some_are_lost_ = true;
    // An address of ours is no handle of anybody's.
    old.function.store(&site, std::memory_order_release);
    session_.arming.rename(old_function, old_stream, &site, old_stream);
    if (launch::filter.is_boundary(&site)) session_.source.lose_boundary();
    return;
  }
  const void* stream = session_.unit_tests.key_of(site.stream->handle);
  if (old_function == site.function && old_stream == stream) return;
  if (!session_.sites.move(site, site.function, stream)) return;
  session_.arming.rename(old_function, old_stream, site.function, stream);
  if (!session_.source.is_lost()) return;
  session_.source.set_lost(
      some_site([](const LaunchSite& each) { return launch::filter.is_boundary(&each); }));
}

template <typename Predicate>
void Rebinding::lose_functions(const Predicate& is_gone) {
  bool some_are_wanted = false;
  for (const auto& site : session_.sites.all()) {
    if (!is_kernel(*site) || site->function == nullptr || !is_gone(*site)) continue;
    some_are_wanted = some_are_wanted || is_wanted(*site);
    site->function = nullptr;
    place(*site);
    session_.sites.unload(site->kernel);
  }
  if (some_are_wanted) begin_search();
}

bool Rebinding::lose_stream(StreamInfo& stream) {
  bool some_are_wanted = false;
  stream.is_alive = false;
  for (const auto& site : session_.sites.all()) {
    if (site->stream != &stream) continue;
    some_are_wanted = some_are_wanted || is_wanted(*site);
    place(*site);
  }
  return some_are_wanted;
}

// Returns the kernel of a site with this handle, else the one that the driver names.
const KernelInfo* Rebinding::kernel_behind(CUfunction function) {
  for (const auto& site : session_.sites.all()) {
    if (site->kernel != nullptr && site->function == function) return site->kernel;
  }
  return session_.sites.kernel_of(function);
}

void Rebinding::revive(StreamInfo& stream, CUstream handle) {
  if (stream.is_alive && stream.handle == handle) return;
  // Another one that has ended may have had this handle.
  for (StreamInfo& other : session_.contexts.streams()) {
    if (&other != &stream && other.handle == handle && other.timer == stream.timer)
      other.handle = nullptr;
  }
  stream.silences = stream.is_silent && stream.handle != handle ? stream.silences + 1 : 0;
  if (stream.silences > 0) attempts_in_vain_ = 0;
  stream.handle = handle;
  stream.is_alive = true;
  stream.is_silent = false;
  for (const auto& site : session_.sites.all()) {
    if (site->stream == &stream) place(*site);
  }
  // It was lost when the iteration began.
  if (is_measuring()) {
    const auto iteration = session_.iteration();
    if (!stream.timer->has_origin(iteration)) stream.timer->record_origin(handle, iteration);
  }
}

bool Rebinding::has_kernels(const StreamInfo& stream) const {
  return some_site(
      [&](const LaunchSite& site) { return site.stream == &stream && !is_copy(site); });
}

// Nothing was launched there since the counts began.
bool Rebinding::is_silent(const StreamInfo& stream) const {
  if (stream.is_heard) return false;
  return !some_site([&](const LaunchSite& site) {
    return site.stream == &stream && site.slot->count.load(std::memory_order_relaxed) > 0;
  });
}

void Rebinding::lose_stream(CUstream stream) {
  bool some_are_wanted = false;
  for (StreamInfo& known : session_.contexts.streams()) {
    if (known.handle == stream) known.is_silent = false;
    if (known.handle == stream && known.is_alive)
      some_are_wanted = lose_stream(known) || some_are_wanted;
  }
  if (some_are_wanted) begin_search();
}

void Rebinding::lose_context(timer::ContextTimer& timer) {
  if (!timer.is_alive()) return;
  session_.watching.lose_context(timer);
  session_.run.dropped.destroyed.fetch_add(timer.forget());
  bool some_are_wanted = false;
  for (StreamInfo& stream : session_.contexts.streams()) {
    if (stream.timer == &timer) stream.is_silent = false;
    if (stream.timer == &timer && stream.is_alive)
      some_are_wanted = lose_stream(stream) || some_are_wanted;
  }
  lose_functions([&](const LaunchSite& site) { return site.stream->timer == &timer; });
  if (some_are_wanted) begin_search();
}

void Rebinding::lose_module(const void* module) {
  const auto gone = session_.sites.kernels_of(module);
  lose_functions([&](const LaunchSite& site) {
    return std::find(gone.begin(), gone.end(), site.kernel) != gone.end();
  });
}

LaunchSite* Rebinding::rebind(const Launched& launched, CUstream stream) {
  if (!some_are_lost_ || session_.settings.mode == schedule::Mode::kUnitTest) return nullptr;
  const timer::ContextTimer* timer = session_.contexts.timer_of_stream(stream);
  if (timer == nullptr) return nullptr;
  const KernelInfo* kernel =
      launched.function == nullptr ? nullptr : kernel_behind(launched.function);
  LaunchSite* best = nullptr;
  for (const auto& site : session_.sites.all()) {
    if (site->kernel != kernel || site->label != launched.label || site->graph != launched.graph ||
        !may_become(*site->stream, stream, timer))
      continue;
    // A handle that lives keeps its site.
    if (has_handles(*site) ||
        (site->function != nullptr && kernel != nullptr && site->function != launched.function))
      continue;
    // Every stream has copies: one tells nothing of where kernels are launched from now on.
    if (is_copy(*site) && site->stream->handle != stream && has_kernels(*site->stream)) continue;
    // A site on this stream is nearer than one on a stream that has ended.
    if (best == nullptr || (site->stream->handle == stream && best->stream->handle != stream))
      best = site.get();
  }
  if (best == nullptr) return nullptr;
  revive(*best->stream, stream);
  if (kernel == nullptr) return best;
  for (const auto& site : session_.sites.all()) {
    if (site->kernel != kernel || site->function != nullptr || site->stream->timer != timer)
      continue;
    site->function = launched.function;
    place(*site);
  }
  return best;
}

void Rebinding::note_launch(const Launched& launched, CUstream stream) {
  if (timer::LaunchSlot* slot = launch::filter.table.find(launched.key(), stream)) {
    if (!launch::filter.has(launch::LaunchFilter::kMeasuringAll))
      slot->count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::lock_guard lock(session_.mutex);
  if (!launch::filter.has(launch::LaunchFilter::kSitesLost)) return;
  const LaunchSite* found = rebind(launched, stream);
  const bool is_found = found != nullptr;
  for (StreamInfo& known : session_.contexts.streams())
    known.is_heard = known.is_heard || (!is_found && known.handle == stream);
  if (is_found && !launch::filter.has(launch::LaunchFilter::kMeasuringAll))
    found->slot->count.fetch_add(1, std::memory_order_relaxed);
  const bool all_are_found = is_found && !some_site([](const LaunchSite& site) {
                               return !has_handles(site) && is_wanted(site);
                             });
  if (all_are_found || --launches_left_ <= 0) end_search();
}

void Rebinding::note_boundary_launch(const Launched& launched, CUstream stream) {
  const std::lock_guard lock(session_.mutex);
  if (session_.sites.find(launched.key(), stream) == nullptr)
    static_cast<void>(rebind(launched, stream));
}

void Rebinding::forget() {
  end_search();
  next_attempt_ = 0;
  attempts_in_vain_ = 0;
}

void Rebinding::begin_search_if_lost() {
  if (some_site([](const LaunchSite& site) { return !has_handles(site) && is_wanted(site); }))
    begin_search();
}

void Rebinding::go_on_searching() {
  if (!launch::filter.has(launch::LaunchFilter::kSitesLost)) return;
  if (--iterations_left_ <= 0) return end_search();
  is_counted_ = true;
  for (StreamInfo& stream : session_.contexts.streams())
    stream.is_heard = false;
  if (launch::filter.has(launch::LaunchFilter::kMeasuringAll)) return;
  session_.sites.begin_counts();
}

void Rebinding::lose_silent_streams(std::int64_t iteration) {
  const bool was_counted =
      std::exchange(is_counted_, false) || launch::filter.has(launch::LaunchFilter::kMeasuringAll);
  if (session_.state() != RunState::kMeasuring) return;
  bool some_are_lost = false;
  for (StreamInfo& stream : session_.contexts.streams()) {
    if (!stream.is_alive || is_default_stream(stream.handle)) continue;
    if (stream.silences < kOften && !(was_counted && is_silent(stream))) continue;
    stream.is_silent = lose_stream(stream);
    if (!stream.is_silent) {
      revive(stream, stream.handle);
      continue;
    }
    some_are_lost = true;
  }
  if (some_are_lost) return begin_search();
  if (was_counted || launch::filter.has(launch::LaunchFilter::kSitesLost) ||
      launch::filter.has(launch::LaunchFilter::kComparing) || iteration < next_attempt_ ||
      !session_.arming.some_were_not_launched())
    return;
  next_attempt_ = iteration + (std::int64_t{2} << attempts_in_vain_);
  attempts_in_vain_ = std::min(attempts_in_vain_ + 1, kMostAttemptsInVain);
  begin_search();
  iterations_left_ = kIterationsOfAttempt;
}

}  // namespace inline_prof::session
