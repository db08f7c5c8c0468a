#include "timer/context_timer.hpp"

#include "sys/lifecycle.hpp"
#include "timer/driver_scope.hpp"
#include "timer/last_wait.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace inline_prof::timer {
namespace {

// States of a pair: free -> open (begin) -> pending (end) -> free (read). In a capture, captured
// comes before pending.
constexpr int kFree = 0;
constexpr int kOpen = 1;
constexpr int kPending = 2;
constexpr int kCaptured = 3;

// A poll asks for this many unfinished pairs: more than one, since streams finish out of order.
constexpr int kMostUnfinished = 4;

bool succeeded(const char* function, CUresult result) noexcept {
  if (result == CUDA_SUCCESS) {
    sys::count_vendor_success();
    return true;
  }
  // At exit the driver may be gone before us.
  if (result != CUDA_ERROR_DEINITIALIZED) sys::count_vendor_error(function, result);
  return false;
}

// On a captured stream an event that is recorded the ordinary way is a dependency and has no time
// (cuda.h, CU_EVENT_RECORD_EXTERNAL).
bool record(CUevent event, CUstream stream, bool is_captured) noexcept {
  if (!is_captured) return succeeded("cuEventRecord", sys::cuda().cuEventRecord(event, stream));
  const auto record_external = sys::graph_api().record_event_with_flags;
  return record_external != nullptr &&
         succeeded("cuEventRecordWithFlags",
                   record_external(event, stream, CU_EVENT_RECORD_EXTERNAL));
}

bool create(CUevent& event) noexcept {
  return succeeded("cuEventCreate", sys::cuda().cuEventCreate(&event, CU_EVENT_DEFAULT));
}

bool read_elapsed(float& elapsed_ms, CUevent from, CUevent to) noexcept {
  return succeeded("cuEventElapsedTime", sys::cuda().elapsed_ms(&elapsed_ms, from, to));
}

// Pair::tight of an event or stream whose state was asked for.
std::int8_t tight_of(CUresult state) noexcept {
  if (state == CUDA_ERROR_NOT_READY) return 1;
  if (state == CUDA_SUCCESS) return 0;
  return -1;
}

bool has_finished(CUevent event) noexcept {
  return sys::cuda().cuEventQuery(event) == CUDA_SUCCESS;
}

}  // namespace

bool ContextTimer::create_events(std::size_t pair_count) {
  if (has_events_) return true;
  const ContextScope context(context_);
  const CaptureModeScope capture_mode;
  if (!context) return false;
  if (pairs_ == nullptr) {
    pair_count_ = std::clamp(pair_count, kRing, kMostPairs);
    pairs_ = std::make_unique<Pair[]>(pair_count_);
  }
  has_events_ = true;
  bool all = true;
  for (Pair& pair : pairs())
    all = all && create(pair.start) && create(pair.stop);
  for (Origin& origin : origins_)
    all = all && create(origin.event);
  if (!all) destroy_events();
  return all;
}

std::size_t ContextTimer::forget() noexcept {
  alive_.store(false, std::memory_order_release);
  while (polling_.test_and_set(std::memory_order_acquire))  // for as long as it takes to read one
    std::this_thread::yield();
  std::size_t lost = 0;
  for (Pair& pair : pairs()) {
    for (int expected : {kPending, kCaptured}) {
      if (!pair.state.compare_exchange_strong(expected, kFree, std::memory_order_acq_rel)) continue;
      pair.extra.reset();
      ++lost;
      break;
    }
  }
  pending_.store(0, std::memory_order_release);
  captured_.store(0, std::memory_order_release);
  polling_.clear(std::memory_order_release);
  return lost;
}

bool ContextTimer::revive(CUcontext context) {
  for (const Pair& pair : pairs()) {
    if (pair.state.load(std::memory_order_acquire) != kFree) return false;
  }
  const bool had_events = has_events_.exchange(false);
  context_ = context;
  for (Origin& origin : origins_)
    origin.iteration.store(-1, std::memory_order_relaxed);
  first_unread_origin_.store(-1, std::memory_order_relaxed);
  last_origin_.store(-1, std::memory_order_relaxed);
  alive_.store(true, std::memory_order_release);
  return !had_events || create_events();
}

void ContextTimer::destroy_events() noexcept {
  if (!has_events_ || !is_alive()) return;
  const ContextScope context(context_);
  const CaptureModeScope capture_mode;
  if (!context) return;
  while (polling_.test_and_set(std::memory_order_acquire))  // for as long as it takes to read one
    std::this_thread::yield();
  has_events_ = false;
  const auto destroy = [](CUevent& event) {
    if (event != nullptr) sys::cuda().cuEventDestroy(event);
    event = nullptr;
  };
  for (Pair& pair : pairs()) {
    // Leaves open pairs alone: their threads are about to record the stop event.
    for (int expected : {kFree, kPending, kCaptured}) {
      if (!pair.state.compare_exchange_strong(expected, kOpen, std::memory_order_acquire)) continue;
      destroy(pair.start);
      destroy(pair.stop);
      break;
    }
  }
  for (Origin& origin : origins_)
    destroy(origin.event);
  polling_.clear(std::memory_order_release);
}

ContextTimer::BeginResult ContextTimer::begin(CUstream stream, record::EventRecord& event,
                                              std::int64_t iteration, Pair*& pair,
                                              Captures captures) noexcept {
  if (!is_alive() || !has_events_) return BeginResult::kDriverError;
  const ContextScope context(context_);
  const CaptureModeScope capture_mode;
  if (!context) return BeginResult::kDriverError;
  const bool is_captured = is_capturing(stream);
  if (is_captured && captures == Captures::kAreLeftAlone) return BeginResult::kCapturing;
  Pair* found = nullptr;
  if (const BeginResult result = take(event, iteration, found); result != BeginResult::kOk) {
    return result;
  }
  found->is_captured = is_captured;
  if (!record(found->start, stream, is_captured)) {
    found->is_captured = false;  // the graph has no node of this pair
    abandon(*found);
    return BeginResult::kDriverError;
  }
  pair = found;
  return BeginResult::kOk;
}

ContextTimer::Pair* ContextTimer::free_pair() noexcept {
  const std::size_t first = next_pair_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < pair_count_; ++i) {
    Pair& candidate = pairs_[(first + i) % pair_count_];
    int expected = kFree;
    if (candidate.state.compare_exchange_strong(expected, kOpen, std::memory_order_acquire))
      return &candidate;
  }
  return nullptr;
}

ContextTimer::BeginResult ContextTimer::take(record::EventRecord& event, std::int64_t iteration,
                                             Pair*& pair) noexcept {
  if (!is_alive() || !has_events_) return BeginResult::kDriverError;
  Pair* found = free_pair();
  if (found == nullptr) return BeginResult::kRingFull;
  found->timer = this;
  found->event = &event;
  found->discard.store(false, std::memory_order_relaxed);
  found->iteration = iteration;
  found->correlation_id = 0;
  found->tight = -1;
  found->after_wait_us = since_last_wait_us();
  found->exclusive_use = nullptr;
  found->is_captured = false;
  found->is_watched = false;
  pair = found;
  return BeginResult::kOk;
}

ContextTimer::BeginResult ContextTimer::take_for_replay(CUstream stream, record::EventRecord& event,
                                                        std::int64_t iteration,
                                                        Pair*& pair) noexcept {
  const BeginResult result = take(event, iteration, pair);
  if (result != BeginResult::kOk || sys::cuda().cuStreamQuery == nullptr) return result;
  const ContextScope context(context_);
  const CaptureModeScope capture_mode;
  if (context) pair->tight = tight_of(sys::cuda().cuStreamQuery(stream));
  return result;
}

void ContextTimer::hand_over(Pair& pair) noexcept {
  pair.state.store(kPending, std::memory_order_release);
  pending_.fetch_add(1, std::memory_order_release);
}

void ContextTimer::hand_captured_over() noexcept {
  for (Pair& pair : pairs()) {
    int expected = kCaptured;
    if (!pair.state.compare_exchange_strong(expected, kPending, std::memory_order_acq_rel))
      continue;
    captured_.fetch_sub(1, std::memory_order_release);
    pending_.fetch_add(1, std::memory_order_release);
  }
}

void ContextTimer::discard_after(std::int64_t iteration) noexcept {
  for (Pair& pair : pairs()) {
    if (pair.state.load(std::memory_order_acquire) != kFree && pair.iteration > iteration)
      pair.discard.store(true, std::memory_order_relaxed);
  }
}

bool ContextTimer::renew(Pair& pair) noexcept {
  pair.is_captured = false;
  const ContextScope context(context_);
  const CaptureModeScope capture_mode;
  return context && is_alive() && create(pair.start) && create(pair.stop);
}

ContextTimer::EndResult ContextTimer::end(CUstream stream, Pair& pair) noexcept {
  const ContextScope context(context_);
  const CaptureModeScope capture_mode;
  if (!is_alive() || !context || !record(pair.stop, stream, pair.is_captured)) {
    abandon(pair);
    return EndResult::kDriverError;
  }
  ExclusiveUse* const use = std::exchange(pair.exclusive_use, nullptr);
  if (use != nullptr && end_exclusive_use(*use)) {
    abandon(pair);
    return EndResult::kSpoiled;
  }
  if (pair.is_captured) {
    captured_.fetch_add(1, std::memory_order_release);
    pair.state.store(kCaptured, std::memory_order_release);
    return EndResult::kOk;
  }
  // Asked last, so that the query does not stand between the launch and the stop event. If the GPU
  // has not even reached the start by now, all three were queued behind other work.
  pair.tight = tight_of(sys::cuda().cuEventQuery(pair.start));
  hand_over(pair);
  return EndResult::kOk;
}

void ContextTimer::abandon(Pair& pair) noexcept {
  if (ExclusiveUse* const use = std::exchange(pair.exclusive_use, nullptr)) end_exclusive_use(*use);
  pair.extra.reset();
  // Without new events the ring has one pair less.
  if (pair.is_captured && !renew(pair)) return;
  pair.state.store(kFree, std::memory_order_release);
}

bool ContextTimer::has_pair_of(const record::EventRecord& event) const noexcept {
  return std::any_of(pairs_.get(), pairs_.get() + pair_count_, [&](const Pair& pair) {
    return pair.state.load(std::memory_order_acquire) != kFree && pair.event == &event;
  });
}

ContextTimer::Origin* ContextTimer::origin_of(std::int64_t iteration) noexcept {
  Origin& origin = origins_[static_cast<std::size_t>(iteration) % kRing];
  return origin.iteration.load(std::memory_order_acquire) == iteration ? &origin : nullptr;
}

void ContextTimer::record_origin(CUstream stream, std::int64_t iteration) noexcept {
  if (!is_alive() || !has_events_) return;
  const ContextScope context(context_);
  const CaptureModeScope capture_mode;
  if (!context || is_capturing(stream)) return;
  Origin& origin = origins_[static_cast<std::size_t>(iteration) % kRing];
  // The previous origin here is a whole ring old. Samples that still need it are dropped when read.
  origin.iteration.store(-1, std::memory_order_release);
  if (!succeeded("cuEventRecord", sys::cuda().cuEventRecord(origin.event, stream))) return;
  origin.is_left_out.store(false, std::memory_order_relaxed);
  origin.iteration.store(iteration, std::memory_order_release);
  std::int64_t none = -1;
  first_unread_origin_.compare_exchange_strong(none, iteration);
  last_origin_.store(iteration, std::memory_order_release);
}

bool ContextTimer::leave_out(std::int64_t iteration) noexcept {
  Origin* origin = origin_of(iteration);
  if (origin != nullptr) origin->is_left_out.store(true, std::memory_order_relaxed);
  return origin != nullptr;
}

bool ContextTimer::origins_pending() const noexcept {
  return first_unread_origin_.load(std::memory_order_acquire) <
         last_origin_.load(std::memory_order_acquire);
}

void ContextTimer::read_pair(Pair& pair, WatchedSamples& watched) noexcept {
  float measured_ms = 0;
  float offset_ms = 0;
  // The iteration of a watched pair has none.
  Origin* origin = pair.is_watched ? nullptr : origin_of(pair.iteration);
  if (origin != nullptr && !has_finished(origin->event)) return;  // on another stream: next time
  const bool is_kept = read_elapsed(measured_ms, pair.start, pair.stop) &&
                       !pair.discard.load(std::memory_order_relaxed);
  if (is_kept && pair.is_watched) {
    if (watched.size() < watched.capacity())
      watched.push_back(
          {.event = pair.event, .iteration = pair.iteration, .measured_ms = measured_ms});
  } else if (is_kept && origin != nullptr && read_elapsed(offset_ms, origin->event, pair.start)) {
    pair.event->add({.measured_ms = measured_ms,
                     .offset_ms = offset_ms,
                     .iteration = pair.iteration,
                     .tight = pair.tight,
                     .after_wait_us = pair.after_wait_us,
                     .correlation_id = pair.correlation_id,
                     .extra = std::move(pair.extra)});
    last_end_ms_.store(offset_ms + measured_ms, std::memory_order_relaxed);
  }
  pending_.fetch_sub(1, std::memory_order_release);
  abandon(pair);
}

void ContextTimer::read_iteration_times(record::IterationTimes* times) noexcept {
  std::int64_t at = first_unread_origin_.load(std::memory_order_relaxed);
  const std::int64_t last = last_origin_.load(std::memory_order_acquire);
  for (; at >= 0 && at < last; ++at) {
    Origin* from = origin_of(at);
    Origin* to = origin_of(at + 1);
    if (from == nullptr || to == nullptr) continue;  // not recorded, or overwritten: a time is lost
    if (!has_finished(to->event)) break;
    if (from->is_left_out.load(std::memory_order_relaxed)) continue;
    float elapsed_ms = 0;
    if (read_elapsed(elapsed_ms, from->event, to->event) && times != nullptr)
      times->add(at, elapsed_ms);
  }
  first_unread_origin_.store(at, std::memory_order_release);
}

void ContextTimer::poll(record::IterationTimes* times, WatchedSamples& watched) noexcept {
  if (polling_.test_and_set(std::memory_order_acquire)) return;
  if (is_alive() && has_events_ && (pending() != 0 || origins_pending())) {
    const ContextScope context(context_);
    const CaptureModeScope capture_mode;
    if (context) {
      // Pairs are handed out in turn, so this visits the oldest first. An application that runs far
      // ahead leaves many unfinished ones, and asking for all of them would be expensive.
      const std::size_t oldest = next_pair_.load(std::memory_order_relaxed);
      int unfinished = 0;
      for (std::size_t i = 0; i < pair_count_ && unfinished < kMostUnfinished; ++i) {
        Pair& pair = pairs_[(oldest + i) % pair_count_];
        if (pair.state.load(std::memory_order_acquire) != kPending) continue;
        if (has_finished(pair.stop)) {
          read_pair(pair, watched);
        } else {
          ++unfinished;
        }
      }
      read_iteration_times(times);
    }
  }
  polling_.clear(std::memory_order_release);
}

}  // namespace inline_prof::timer
