// When a series of times became slower or faster than its own history.
#pragma once

#include "watch/history.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::watch {

struct Change {
  double began_s = 0;
  double detected_s = 0;
  std::int64_t began_iteration = 0;
  double before_ns = 0;
  double after_ns = 0;
  double ratio = 0;      // after / before
  double ratio_low = 0;  // 95 % interval
  double ratio_high = 0;
};

// Returns the rate of one of `series` that share a rate per month of 30 days.
[[nodiscard]] double false_alarms_per_second(double per_month, std::size_t series);

// Watches one series: an event, a layer or the iteration. Needs 5 KB at most, whatever it has seen.
//
// Samples are reduced to medians of blocks, which heavy tails do not move. At several scales the
// newest blocks are compared with those before them. A shift is a change if it is far larger than
// the largest shifts of the same scale so far: these hold what autocorrelation, seasons and drift
// do to the series, so no model of the noise is needed. Three percent are found after about two
// days, large changes after an hour; series with less than 180 samples a day are not tested.
class ChangeDetector {
 public:
  // `false_alarms_per_month` is the rate for all of the `series` that are watched together.
  ChangeDetector(double false_alarms_per_month, std::size_t series);

  // Takes a sample; values must be above 0, others are ignored. Returns a change once, when found.
  std::optional<Change> add(double time_s, std::int64_t iteration, double value_ns);

  [[nodiscard]] std::size_t bytes() const;

 private:
  static constexpr std::size_t kScales = 4;
  static constexpr std::size_t kLargest = 48;  // shifts kept of a scale

  struct Block {
    double start_s;
    std::uint32_t first_iteration;  // 32 bits: at 1 ms an iteration they last for 49 days
    float level;                    // logarithm
  };

  // The largest shifts of a stretch of time, largest first, and how many there were.
  struct Extremes {
    std::vector<float> largest{};
    std::size_t count = 0;
    void add(float shift);
  };

  struct Scale {
    Extremes recent{};
    Extremes earlier{};
    // The largest shifts of groups of tests that share blocks. The newest groups wait: they may
    // belong to a change that is about to be found.
    std::vector<float> unconfirmed{};
    float largest_of_group = 0;
    std::size_t in_group = 0;
    double mean_square = 0;  // of shifts
    double tests = 0;

    // Returns the shift that is exceeded with `probability`.
    [[nodiscard]] double threshold(double probability) const;
  };

  void close_block();
  [[nodiscard]] double level(std::size_t begin, std::size_t end) const;
  [[nodiscard]] std::optional<Change> test(std::size_t index);
  // Forgets the blocks before the change.
  [[nodiscard]] Change describe(std::size_t first, double before_level, double after_level);

  double alarms_per_second_;
  std::vector<float> pending_{};  // samples of the open block
  std::size_t pending_count_ = 0;
  std::size_t stride_ = 1;  // one of so many samples is kept
  double pending_start_s_ = 0;
  std::int64_t pending_iteration_ = 0;
  std::vector<Block> blocks_{};  // the newest
  std::array<Scale, kScales> scales_{};
  double block_s_ = 0;  // a typical duration
  double generation_start_s_ = 0;
};

// Finds the changes in a history afterwards, oldest first. Coarser than ChangeDetector: a change
// shows between bins, and is known to have begun at the edge of one.
[[nodiscard]] std::vector<Change> find_changes(std::span<const Bin> bins,
                                               double false_alarms_per_month, std::size_t series);

// Changes of several series that began at the same time and go in the same direction.
struct ChangeGroup {
  double began_s = 0;  // the median of its changes
  double ratio = 0;    // the median of its changes
  std::vector<std::size_t> changes{};
};

// Returns true if two changes are in the same direction, and began at the same time as far as is
// known.
[[nodiscard]] bool are_together(const Change& a, const Change& b);

// Groups changes of different series: each is in one group, alone if need be. Ordered by time.
[[nodiscard]] std::vector<ChangeGroup> group_changes(std::span<const Change> changes);

// Returns "214 of 250 events became 1.40 times slower at the same time" or "... became 20 %
// faster".
[[nodiscard]] std::string describe(const ChangeGroup& group, std::size_t events);

}  // namespace inline_prof::watch
