// The launches of one stream for the search for iterations: a bounded number of the last ones, with
// links and hashes, so that a search visits few of them again.
#pragma once

#include "base/random.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace inline_prof::schedule {

using Launches = std::span<const std::uint32_t>;  // kernels numbered from 0, in launch order

// The hash of a sequence is a polynomial in this number, of its kernels' own hashes.
struct HashBase {
  static constexpr std::uint64_t kValue = 0x9e3779b97f4a7c15U;
  static constexpr std::size_t kSmallPowers = 512;

  template <std::size_t kCount>
  static constexpr std::array<std::uint64_t, kCount> powers_of(std::uint64_t factor) {
    std::array<std::uint64_t, kCount> result{1};
    for (std::size_t i = 1; i < kCount; ++i)
      result[i] = result[i - 1] * factor;
    return result;
  }
};

class LaunchLog {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  // Bytes a launch: kernel 4, link 4, hash 8; and at most one place where the host waited, one
  // where the thread changed and one where ranks reduced, 4 each.
  static constexpr std::size_t kMostLaunches = std::size_t{256} << 10U;  // 7 MiB

  // Returns the number of the kernel that `symbol` stands for; a new one for a new symbol.
  [[nodiscard]] std::uint32_t number_of(std::uint32_t symbol) {
    return symbol < numbers_.size() && numbers_[symbol] != kNone ? numbers_[symbol]
                                                                 : number_of_other(symbol);
  }
  void append(std::uint32_t kernel, std::uint32_t weight, bool updates = false) {
    if (launches_.size() == kMostLaunches) drop_older_half();
    if (weights_[kernel] != weight) {
      weights_[kernel] = weight;
      has_weights_ = true;
    }
    if (updates) updates_[kernel] = true;
    const std::uint64_t before = hashes_.empty() ? hash_before_ : hashes_.back();
    launches_.push_back(kernel);
    // Mixed: a polynomial of small numbers would make equal hashes likely.
    hashes_.push_back(before * HashBase::kValue + base::SplitMix64(kernel).next());
    link(launches_.size() - 1);
  }
  // Notes that the host waited for the device before the next launch.
  void append_wait() { append_place(waits_); }
  // Notes that a launch of the first launch's thread is followed by one of another, or the reverse.
  void append_turn() { append_place(turns_); }
  // Notes that ranks add up their gradients before the next launch.
  void append_reduction() { append_place(reductions_); }
  void clear();

  [[nodiscard]] std::uint32_t symbol(std::size_t kernel) const { return symbols_[kernel]; }
  [[nodiscard]] std::size_t kernel_count() const { return symbols_.size(); }
  [[nodiscard]] Launches launches() const { return launches_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }  // launches before those
  // Returns the indices of launches before which the host waited, ascending.
  [[nodiscard]] std::span<const std::uint32_t> waits() const { return waits_; }
  // Returns the indices of launches behind such turns, ascending.
  [[nodiscard]] std::span<const std::uint32_t> turns() const { return turns_; }
  // Returns true if another thread than the first launch's makes this one, as in a backward pass.
  [[nodiscard]] bool is_by_other_thread(std::size_t launch) const {
    const auto turns = std::upper_bound(turns_.begin(), turns_.end(), launch) - turns_.begin();
    return ((dropped_turns_ + static_cast<std::size_t>(turns)) & 1U) != 0;
  }
  // Returns the indices of launches before which ranks added up gradients, ascending.
  [[nodiscard]] std::span<const std::uint32_t> reductions() const { return reductions_; }
  // Returns true if the host does something that may come once an iteration.
  [[nodiscard]] bool is_paced() const { return !waits_.empty() || !turns_.empty(); }
  // Returns true if the kernel is one of those that update parameters.
  [[nodiscard]] bool updates(std::size_t kernel) const { return updates_[kernel]; }

  // Launches of one kernel in a row are a run; those of a graph are runs of one. These are the
  // links of the first launches of a kernel's runs, from the last one back; kNone if there is none.
  [[nodiscard]] std::uint32_t last_of(std::size_t kernel) const { return last_[kernel]; }
  [[nodiscard]] std::uint32_t before(std::size_t launch) const { return before_[launch]; }
  [[nodiscard]] std::size_t runs(std::size_t kernel) const { return runs_[kernel]; }
  [[nodiscard]] bool begins_run(std::size_t launch) const {
    return launch == 0 || launches_[launch - 1] != launches_[launch] ||
           weights_[launches_[launch]] != 1;
  }

  // Returns the number of kernels that a launch of `kernel` stands for: a graph's, else 1.
  [[nodiscard]] std::uint32_t weight(std::size_t kernel) const { return weights_[kernel]; }
  [[nodiscard]] std::size_t weight_of(Launches segment) const;

  // Returns a hash: equal for equal sequences, for others by chance only, 1 in 2^64.
  [[nodiscard]] std::uint64_t hash(std::size_t begin, std::size_t end) const {
    if (begin == end) return 0;
    const std::size_t length = end - begin;
    return hashes_[end - 1] - hash_up_to(begin) * kPowers[length % HashBase::kSmallPowers] *
                                  kLargePowers[length / HashBase::kSmallPowers];
  }
  // Returns the hash of launch `begin` and the two behind it.
  [[nodiscard]] std::uint64_t hash_of_three(std::size_t begin) const {
    return hashes_[begin + 2] - hash_up_to(begin) * kPowers[3];
  }

 private:
  static constexpr auto kPowers = HashBase::powers_of<HashBase::kSmallPowers>(HashBase::kValue);
  static constexpr auto kLargePowers =
      HashBase::powers_of<kMostLaunches / HashBase::kSmallPowers + 1>(kPowers.back() *
                                                                      HashBase::kValue);

  [[nodiscard]] std::uint64_t hash_up_to(std::size_t launch) const {
    return launch == 0 ? hash_before_ : hashes_[launch - 1];
  }
  [[nodiscard]] std::uint32_t number_of_other(std::uint32_t symbol);
  void append_place(std::vector<std::uint32_t>& places) const;
  void drop_older_half();
  void link(std::size_t launch) {
    const std::uint32_t kernel = launches_[launch];
    before_.push_back(last_[kernel]);
    if (!begins_run(launch)) return;
    last_[kernel] = static_cast<std::uint32_t>(launch);
    ++runs_[kernel];
  }

  std::vector<std::uint32_t> numbers_{};  // by symbol, where the symbol is small
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_of_large_{};
  std::vector<std::uint32_t> symbols_{};  // by kernel, as the next four
  std::vector<std::uint32_t> weights_{};
  std::vector<bool> updates_{};
  std::vector<std::uint32_t> last_{};
  std::vector<std::uint32_t> runs_{};
  std::vector<std::uint32_t> launches_{};  // kernels, the newest last
  std::vector<std::uint32_t> before_{};    // by launch
  std::vector<std::uint64_t> hashes_{};    // of all launches up to this one
  std::vector<std::uint32_t> waits_{};
  std::vector<std::uint32_t> turns_{};
  std::vector<std::uint32_t> reductions_{};
  std::uint64_t dropped_ = 0;
  std::size_t dropped_turns_ = 0;
  std::uint64_t hash_before_ = 0;  // of what was dropped
  bool has_weights_ = false;
};

// Knows where each three launches in a row came among the last ones, for the search for iterations.
class LaunchTriples {
 public:
  // At least this many of the last launches are known, and up to twice as many.
  static constexpr std::size_t kLastLaunches = std::size_t{32} << 10U;

  struct Triple {
    std::uint64_t hash = 0;
    std::uint32_t last = 0;  // one more than its begin, see last(); 0: nowhere
    std::uint32_t times = 0;
  };

  // Adds the launches that were appended since the last update. Returns the number of launches
  // visited.
  std::size_t update(const LaunchLog& log);

  [[nodiscard]] const std::vector<Triple>& all() const { return triples_; }
  // Returns the index in the log of the last update.
  [[nodiscard]] std::size_t last(const Triple& triple) const { return begin_ + triple.last - 1; }
  // Lists the distances from each to the one before it, the newest first, `most` at most.
  void gaps_of(const Triple& triple, std::size_t most, std::vector<std::size_t>& gaps) const;

 private:
  [[nodiscard]] Triple& triple_of(std::uint64_t hash);
  void grow();

  std::size_t begin_ = 0;                // in the log, of the launches that are known
  std::uint64_t dropped_ = 0;            // of the log
  std::vector<std::uint32_t> before_{};  // by launch: as Triple::last, the one before
  std::vector<Triple> triples_{};
  std::vector<std::uint32_t> table_{};  // by hash: one more than its place in triples_; 0: none
};

}  // namespace inline_prof::schedule
