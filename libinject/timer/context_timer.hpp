// Event pairs and origin events of one CUDA context.
#pragma once

#include "record/event_record.hpp"
#include "record/run_record.hpp"
#include "sys/cuda_api.hpp"
#include "timer/stream_watch.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace inline_prof::timer {

class ContextTimer {
 public:
  // 256 pairs, 256 origins: the application may run this many armed iterations ahead of the GPU
  // before a sample is dropped.
  static constexpr std::size_t kRing = 256;
  // What one iteration of mode one_shot may take at most; a pair is two events of the driver's.
  static constexpr std::size_t kMostPairs = 16384;

  ContextTimer(CUcontext context, int device_id) : context_(context), device_id_(device_id) {}

  [[nodiscard]] CUcontext context() const noexcept { return context_; }
  [[nodiscard]] int device_id() const noexcept { return device_id_; }
  [[nodiscard]] bool is_alive() const noexcept { return alive_.load(std::memory_order_acquire); }
  // The application is about to destroy the context, and our events with it.  Returns how many
  // samples are lost.
  std::size_t forget() noexcept;
  // A context of the same device stands for it from now on.  False while a pair of the old one is
  // being recorded.  Makes its events anew if it had some.
  [[nodiscard]] bool revive(CUcontext context);

  // Creates the events, `pair_count` pairs within kRing and kMostPairs.  False if that fails.
  // Once, before any record.
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
    std::uint32_t correlation_id = 0;  // CUPTI's, of the one launch between the events
    StreamWatch* watch = nullptr;      // a launch of another thread on the stream spoils it
    bool is_captured = false;          // its events stand in a graph of the application's for good
    std::atomic<bool> discard{false};  // read, and not kept
    std::unique_ptr<record::ExtraInfos> extra;
  };

  enum class BeginResult { kOk, kRingFull, kCapturing, kDriverError };

  // What happens on a stream that the application captures: nothing, or the events become nodes of
  // its graph, which each replay records.
  enum class Captures { kAreLeftAlone, kGetNodes };

  // Records the start event on `stream`.  The caller is the application's thread, at its launch.
  [[nodiscard]] BeginResult begin(CUstream stream, record::EventRecord& event,
                                  std::int64_t iteration, Pair*& pair,
                                  Captures captures = Captures::kAreLeftAlone) noexcept;
  enum class EndResult { kOk, kSpoiled, kDriverError };

  // Records the stop event and hands the pair over to poll(), unless it is spoiled.
  EndResult end(CUstream stream, Pair& pair) noexcept;
  void abandon(Pair& pair) noexcept;

  // For a pair that a graph launch on `stream` records: before and after the launch.  The sample is
  // tight where the launch stands in the queue.
  [[nodiscard]] BeginResult take_for_replay(CUstream stream, record::EventRecord& event,
                                            std::int64_t iteration, Pair*& pair) noexcept;
  void hand_over(Pair& pair) noexcept;
  // A graph that contains captured pairs was launched.
  void hand_captured_over() noexcept;
  [[nodiscard]] bool has_captured() const noexcept {
    return captured_.load(std::memory_order_acquire) != 0;
  }

  // What was recorded in a later iteration is read, and not kept.
  void discard_after(std::int64_t iteration) noexcept;

  // Records this iteration's origin on `stream`; nothing if the stream is capturing or the ring is
  // full of origins that are still needed.
  void record_origin(CUstream stream, std::int64_t iteration) noexcept;

  [[nodiscard]] bool has_origin(std::int64_t iteration) noexcept {
    return origin_of(iteration) != nullptr;
  }

  // Reads what has finished; never waits.  One thread at a time, others return at once.  Iteration
  // times go to `times` unless it is null.
  void poll(record::IterationTimes* times) noexcept;

  // Milliseconds from the origin of `iteration` to the end of the sample read last; for runs
  // without iterations.
  [[nodiscard]] float last_sample_end_ms() const noexcept {
    return last_end_ms_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] std::size_t pending() const noexcept {
    return pending_.load(std::memory_order_acquire);
  }
  // Iterations that the application has begun and the GPU has not, as far as the last poll knows.
  [[nodiscard]] std::int64_t iterations_ahead() const noexcept {
    return last_origin_.load(std::memory_order_relaxed) -
           first_unread_origin_.load(std::memory_order_relaxed);
  }
  // Origins whose iteration time is not read yet.
  [[nodiscard]] bool origins_pending() const noexcept;

 private:
  struct Origin {
    CUevent event = nullptr;
    std::atomic<std::int64_t> iteration{-1};  // -1: free
  };

  [[nodiscard]] std::span<Pair> pairs() noexcept { return {pairs_.get(), pair_count_}; }
  [[nodiscard]] Pair* free_pair() noexcept;
  [[nodiscard]] BeginResult take(record::EventRecord& event, std::int64_t iteration,
                                 Pair*& pair) noexcept;
  // A replay may record the captured pair's events at any time from now on: it gets new ones.
  [[nodiscard]] bool renew(Pair& pair) noexcept;
  [[nodiscard]] Origin* origin_of(std::int64_t iteration) noexcept;
  void read_pair(Pair& pair) noexcept;
  void read_iteration_times(record::IterationTimes* times) noexcept;

  CUcontext context_;
  int device_id_;
  std::atomic<bool> alive_{true};
  std::atomic<bool> has_events_{false};
  std::unique_ptr<Pair[]> pairs_;
  std::size_t pair_count_ = 0;
  std::atomic<std::size_t> next_pair_{0};
  std::atomic<std::size_t> pending_{0};
  std::atomic<std::size_t> captured_{0};  // recorded into a graph that was not replayed yet
  std::array<Origin, kRing> origins_{};
  std::atomic<std::int64_t> first_unread_origin_{-1};
  std::atomic<std::int64_t> last_origin_{-1};
  std::atomic<float> last_end_ms_{0};
  std::atomic_flag polling_ = ATOMIC_FLAG_INIT;
};

}  // namespace inline_prof::timer
