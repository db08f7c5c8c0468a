// The cost of watching, and what it may be: an account for the GPU's time and one for the launching
// thread's.
#pragma once

#include "sys/clock.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace inline_prof::session {

// Any thread may spend; our own one saves and reads.
class WatchBudget {
 public:
  // An account holds so many seconds' share at most: after a day without iterations no more than
  // that is spent at once.  The hundredth that is saved less covers it in every hour.
  static constexpr double kMostSavedSeconds = 30;
  static constexpr double kSavedPart = 0.99;

  // `gpu_ns_of_pair`: of one GPU's time; if a pair is recorded on each of several, its part of it.
  void set(double share, double gpu_ns_of_pair) noexcept {
    share_ = share;
    gpu_ns_of_pair_ = static_cast<std::int64_t>(gpu_ns_of_pair);
  }
  [[nodiscard]] double share() const noexcept { return share_; }

  // The thread's time for pairs, and for what watching costs whether or not anything is measured.
  void spend_for_pairs(std::int64_t ns) noexcept {
    pair_work_ns_.fetch_add(ns, std::memory_order_relaxed);
    spend_beside(ns);
  }
  void spend_beside(std::int64_t ns) noexcept {
    thread_left_ns_.fetch_sub(ns, std::memory_order_relaxed);
    thread_ns_.fetch_add(ns, std::memory_order_relaxed);
  }
  // A pair is recorded.
  void spend_pair() noexcept {
    gpu_left_ns_.fetch_sub(gpu_ns_of_pair_, std::memory_order_relaxed);
    gpu_ns_.fetch_add(gpu_ns_of_pair_, std::memory_order_relaxed);
    pairs_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_exhausted() const noexcept {
    return thread_left_ns_.load(std::memory_order_relaxed) <= 0 ||
           gpu_left_ns_.load(std::memory_order_relaxed) <= 0;
  }
  // `seconds` have passed.
  void save(double seconds) noexcept {
    const auto most = static_cast<std::int64_t>(share_ * kMostSavedSeconds * 1e9);
    const auto saved = static_cast<std::int64_t>(kSavedPart * share_ * seconds * 1e9);
    for (std::atomic<std::int64_t>* left : {&thread_left_ns_, &gpu_left_ns_})
      left->fetch_add(std::min(saved, most - left->load(std::memory_order_relaxed)));
  }

  // Times a call of ours on the application's thread: one in kTimedOf calls, which stands for all.
  // The clock takes 25 ns, and a pair 2 us or more.
  class Timed {
   public:
    explicit Timed(WatchBudget* budget, std::int64_t stands_for = 1) noexcept
        : budget_(budget), stands_for_(stands_for), began_ns_(budget ? sys::monotonic_ns() : 0) {}
    ~Timed() {
      if (budget_ != nullptr)
        budget_->spend_for_pairs((sys::monotonic_ns() - began_ns_) * stands_for_);
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

   private:
    WatchBudget* budget_;
    std::int64_t stands_for_;
    std::int64_t began_ns_;
  };
  static constexpr std::uint32_t kTimedOf = 8;
  // Not at all if the call is not of watching.
  [[nodiscard]] Timed time_now_and_then(bool is_watched) noexcept {
    const bool is_timed =
        is_watched && calls_.fetch_add(1, std::memory_order_relaxed) % kTimedOf == 0;
    return Timed(is_timed ? this : nullptr, kTimedOf);
  }

  [[nodiscard]] std::uint64_t pairs() const noexcept { return pairs_.load(); }
  // The larger one of the two.
  [[nodiscard]] std::int64_t spent_ns() const noexcept {
    return std::max(gpu_ns_.load(), thread_ns_.load());
  }
  [[nodiscard]] std::int64_t spent_beside_ns() const noexcept {
    return thread_ns_.load() - pair_work_ns_.load();
  }
  // Returns what a pair costs; the thread's part is assumed until the clock has shown it.
  [[nodiscard]] double pair_ns() const noexcept {
    constexpr double assumed_ns = 15'000;
    constexpr std::uint64_t fewest_pairs = 64;
    const std::uint64_t pairs = pairs_.load();
    const double on_thread = pairs < fewest_pairs ? assumed_ns
                                                  : static_cast<double>(pair_work_ns_.load()) /
                                                        static_cast<double>(pairs);
    return std::max(static_cast<double>(gpu_ns_of_pair_), on_thread);
  }

 private:
  double share_ = 0;
  std::int64_t gpu_ns_of_pair_ = 0;
  std::atomic<std::int64_t> thread_left_ns_{0};
  std::atomic<std::int64_t> gpu_left_ns_{0};
  std::atomic<std::int64_t> thread_ns_{0};
  std::atomic<std::int64_t> gpu_ns_{0};
  std::atomic<std::int64_t> pair_work_ns_{0};
  std::atomic<std::uint64_t> pairs_{0};
  std::atomic<std::uint32_t> calls_{0};
};

}  // namespace inline_prof::session
