// The overhead receipt: what measuring costs, from iterations that were armed and others that were
// not, in turns.
#pragma once

#include "record/run_record.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace inline_prof::record {

// The interval of a receipt should be no wider than +- this.
inline constexpr double kOverheadResolutionPercent = 0.1;

// Fewer groups of blocks than this say nothing about how much groups differ.
inline constexpr std::size_t kFewestGroups = 4;

struct OverheadMeasurement {
  std::size_t groups = 0;  // of four blocks
  std::int64_t armed_iterations = 0;
  std::int64_t unarmed_iterations = 0;
  // Empty below kFewestGroups groups.
  std::optional<double> slowdown_percent{};
  std::optional<std::pair<double, double>> ci95_percent{};
  // How many iterations more, of the same kind, would narrow the interval to the resolution: its
  // width falls with the square root of their number.  0: it is as narrow; empty: cannot be said.
  std::optional<std::int64_t> iterations_needed{};
};

// `blocks` in their order.  Four in a row, armed, not, not, armed (or the reverse), are a group:
// what drifts steadily, such as the clock of a GPU that gets warm, cancels in it.  A block counts
// with the median of its times, so that a single slow iteration has no say.  Blocks without times
// and those that fit in no group are left out.
//
// The slowdown is the mean over the groups of log(armed / unarmed), as a percentage; its interval
// is the bootstrap-t interval with whole groups resampled: B. Efron, R. J. Tibshirani, "An
// Introduction to the Bootstrap", Chapman & Hall, 1993, section 12.5 (and 8.6 on blocks).  The seed
// is fixed, so that equal times give equal receipts.
[[nodiscard]] OverheadMeasurement measure_overhead(std::span<const BlockTimes> blocks);

}  // namespace inline_prof::record
