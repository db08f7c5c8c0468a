// The launches of one stream as the search for iterations keeps them: a bounded number of the last
// ones, with what a look at them needs, so that a look visits few of them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace inline_prof::schedule {

using Launches = std::span<const std::uint32_t>;  // kernels numbered from 0, in launch order

class LaunchLog {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  // Bytes a launch: kernel 4, link 4, hash 8; and at most one place where the host waited, 4.
  static constexpr std::size_t kMostLaunches = std::size_t{256} << 10U;  // 5 MiB

  // The number of the kernel that `symbol` stands for; a new one for a new symbol.
  [[nodiscard]] std::uint32_t number_of(std::uint32_t symbol);
  void append(std::uint32_t kernel, std::uint32_t weight);
  // The host waited for the device before the launch that comes next.
  void append_wait();
  void clear();

  [[nodiscard]] std::uint32_t symbol(std::size_t kernel) const { return symbols_[kernel]; }
  [[nodiscard]] std::size_t kernel_count() const { return symbols_.size(); }
  [[nodiscard]] Launches launches() const { return launches_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }  // launches before those
  // Indices of launches before which the host waited, ascending.
  [[nodiscard]] std::span<const std::uint32_t> waits() const { return waits_; }

  // Launches of one kernel in a row are a run; those of a graph are runs of one.  Links of the
  // first launches of a kernel's runs, from the last one back; kNone where there is none.
  [[nodiscard]] std::uint32_t last_of(std::size_t kernel) const { return last_[kernel]; }
  [[nodiscard]] std::uint32_t before(std::size_t launch) const { return before_[launch]; }
  [[nodiscard]] std::size_t runs(std::size_t kernel) const { return runs_[kernel]; }
  [[nodiscard]] bool begins_run(std::size_t launch) const {
    return launch == 0 || launches_[launch - 1] != launches_[launch] ||
           weights_[launches_[launch]] != 1;
  }

  // Kernels that a launch of `kernel` stands for: a graph's, else 1.
  [[nodiscard]] std::uint32_t weight(std::size_t kernel) const { return weights_[kernel]; }
  [[nodiscard]] std::size_t weight_of(Launches segment) const;

  // Equal for equal sequences; for others by chance only, 1 in 2^64.
  [[nodiscard]] std::uint64_t hash(std::size_t begin, std::size_t end) const;
  // Of launch `begin` and the two behind it.
  [[nodiscard]] std::uint64_t hash_of_three(std::size_t begin) const;

 private:
  // kBase to this power.  Segments that are compared are equally long, as a rule.
  [[nodiscard]] std::uint64_t power_of_base(std::size_t exponent) const;
  void drop_older_half();
  void link(std::size_t launch);

  std::vector<std::uint32_t> numbers_{};  // by symbol, where the symbol is small
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_of_large_{};
  std::vector<std::uint32_t> symbols_{};  // by kernel, as the next three
  std::vector<std::uint32_t> weights_{};
  std::vector<std::uint32_t> last_{};
  std::vector<std::uint32_t> runs_{};
  std::vector<std::uint32_t> launches_{};  // kernels, the newest last
  std::vector<std::uint32_t> before_{};    // by launch
  std::vector<std::uint64_t> hashes_{};    // of all launches up to this one
  std::vector<std::uint32_t> waits_{};
  std::uint64_t dropped_ = 0;
  std::uint64_t hash_before_ = 0;  // of what was dropped
  bool has_weights_ = false;
  mutable std::size_t last_exponent_ = 0;  // and its power
  mutable std::uint64_t last_power_ = 1;
};

}  // namespace inline_prof::schedule
