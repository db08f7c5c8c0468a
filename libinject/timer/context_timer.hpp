// Event pairs and origin events of one CUDA context.
#pragma once

#include "record/event_record.hpp"
#include "record/run_record.hpp"
#include "sys/cuda_api.hpp"
#include "timer/stream_sharing.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace inline_prof::timer {

// A pair of a run that is watched, as it was read.
struct WatchedSample {
  record::EventRecord* event = nullptr;
  std::int64_t iteration = 0;
  float measured_ms = 0;
};
using WatchedSamples = std::vector<WatchedSample>;

class ContextTimer {
 public:
  // The application may run 256 armed iterations ahead of the GPU before a sample is dropped.
  static constexpr std::size_t kRing = 256;
  // A cap for one iteration of mode one_shot; a pair is two events of the driver's.
  static constexpr std::size_t kMostPairs = 16384;

  ContextTimer(CUcontext context, int device_id) : context_(context), device_id_(device_id) {}

  [[nodiscard]] CUcontext context() const noexcept { return context_; }
  [[nodiscard]] int device_id() const noexcept { return device_id_; }
  [[nodiscard]] bool is_alive() const noexcept { return alive_.load(std::memory_order_acquire); }
  // Called before the application destroys the context, and our events with it. Returns the number
  // of samples lost.
  std::size_t forget() noexcept;
  // Replaces the context by another of the same device, and makes the events anew if there were
  // some. Returns false while a pair of the old context is being recorded.
  [[nodiscard]] bool revive(CUcontext context);

  // Creates the events, with `pair_count` pairs within kRing and kMostPairs. Called once, before
  // any record. Returns false if that fails.
  [[nodiscard]] bool create_events(std::size_t pair_count = kRing);
  void destroy_events() noexcept;

  // A pair that is being recorded.
  struct Pair {
    std::atomic<int> state{0};
    ContextTimer* timer = nullptr;
    CUevent start = nullptr;
    CUevent stop = nullptr;
    record::EventRecord* event = nullptr;
    std::int64_t iteration = 0;
    std::int8_t tight = -1;
    float after_wait_us = -1;
    std::uint32_t correlation_id = 0;       // CUPTI's, of the one launch between the events
    ExclusiveUse* exclusive_use = nullptr;  // a launch of another thread on the stream spoils it
    bool is_captured = false;               // its events are nodes of a graph of the application's
    std::atomic<bool> discard{false};       // read, and not kept
    bool is_watched = false;                // its sample is no part of the characterisation
    std::unique_ptr<record::ExtraInfos> extra;
  };

  enum class BeginResult { kOk, kRingFull, kCapturing, kDriverError };

  // On a stream that the application captures, either nothing is recorded, or the events become
  // nodes of its graph, which each replay records.
  enum class Captures { kAreLeftAlone, kGetNodes };

  // Records the start event on `stream`. Called by the application's thread at its launch.
  [[nodiscard]] BeginResult begin(CUstream stream, record::EventRecord& event,
                                  std::int64_t iteration, Pair*& pair,
                                  Captures captures = Captures::kAreLeftAlone) noexcept;
  enum class EndResult { kOk, kSpoiled, kDriverError };

  // Records the stop event and hands the pair over to poll(), unless it is spoiled.
  EndResult end(CUstream stream, Pair& pair) noexcept;
  void abandon(Pair& pair) noexcept;

  // Called before and after a launch of a graph that records the pair on `stream`. The sample is
  // tight if the launch stands in the queue.
  [[nodiscard]] BeginResult take_for_replay(CUstream stream, record::EventRecord& event,
                                            std::int64_t iteration, Pair*& pair) noexcept;
  void hand_over(Pair& pair) noexcept;
  // Called when a graph that contains captured pairs was launched.
  void hand_captured_over() noexcept;
  [[nodiscard]] bool has_captured() const noexcept {
    return captured_.load(std::memory_order_acquire) != 0;
  }

  // Drops the samples of later iterations when they are read.
  void discard_after(std::int64_t iteration) noexcept;

  // Records this iteration's origin on `stream`. Does nothing if the stream is capturing, or if the
  // ring is full of origins that are still needed.
  void record_origin(CUstream stream, std::int64_t iteration) noexcept;

  // Leaves the iteration's time out: it was no whole one. Returns false if it has no origin.
  bool leave_out(std::int64_t iteration) noexcept;

  [[nodiscard]] bool has_origin(std::int64_t iteration) noexcept {
    return origin_of(iteration) != nullptr;
  }

  // Reads what has finished, without waiting. One thread at a time; others return at once. Appends
  // iteration times to `times` unless it is null, and watched samples to `watched` while it has
  // room.
  void poll(record::IterationTimes* times, WatchedSamples& watched) noexcept;

  // Returns the milliseconds from the origin of `iteration` to the end of the sample read last, for
  // runs without iterations.
  [[nodiscard]] float last_sample_end_ms() const noexcept {
    return last_end_ms_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] std::size_t pending() const noexcept {
    return pending_.load(std::memory_order_acquire);
  }
  // Returns true if a pair of the event is being recorded, or has not been read.
  [[nodiscard]] bool has_pair_of(const record::EventRecord& event) const noexcept;
  // Returns how many iterations the application has begun and the GPU has not, as of the last poll.
  [[nodiscard]] std::int64_t iterations_ahead() const noexcept {
    return last_origin_.load(std::memory_order_relaxed) -
           first_unread_origin_.load(std::memory_order_relaxed);
  }
  // Returns true if the time of an iteration is still to be read.
  [[nodiscard]] bool origins_pending() const noexcept;

 private:
  struct Origin {
    CUevent event = nullptr;
    std::atomic<std::int64_t> iteration{-1};  // -1: free
    std::atomic<bool> is_left_out{false};     // it only ends the iteration before
  };

  [[nodiscard]] std::span<Pair> pairs() noexcept { return {pairs_.get(), pair_count_}; }
  [[nodiscard]] Pair* free_pair() noexcept;
  [[nodiscard]] BeginResult take(record::EventRecord& event, std::int64_t iteration,
                                 Pair*& pair) noexcept;
  // Gives the pair new events: a replay may record the captured ones at any time from now on.
  [[nodiscard]] bool renew(Pair& pair) noexcept;
  [[nodiscard]] Origin* origin_of(std::int64_t iteration) noexcept;
  void read_pair(Pair& pair, WatchedSamples& watched) noexcept;
  void read_iteration_times(record::IterationTimes* times) noexcept;

  CUcontext context_;
  int device_id_;
  std::atomic<bool> alive_{true};
  std::atomic<bool> has_events_{false};
  std::unique_ptr<Pair[]> pairs_;
  std::size_t pair_count_ = 0;
  std::atomic<std::size_t> next_pair_{0};
  std::atomic<std::size_t> pending_{0};
  std::atomic<std::size_t> captured_{0};  // recorded into a graph that has not been replayed yet
  std::array<Origin, kRing> origins_{};
  std::atomic<std::int64_t> first_unread_origin_{-1};
  std::atomic<std::int64_t> last_origin_{-1};
  std::atomic<float> last_end_ms_{0};
  std::atomic_flag polling_ = ATOMIC_FLAG_INIT;
};

}  // namespace inline_prof::timer
