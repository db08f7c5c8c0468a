// Computes the cost of measuring from alternating blocks of armed and unarmed iterations.
#pragma once

#include "record/run_record.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace inline_prof::record {

// The interval should be no wider than +- this.
inline constexpr double kOverheadResolutionPercent = 0.1;

// With fewer groups of blocks their variation cannot be estimated.
inline constexpr std::size_t kFewestGroups = 4;

struct OverheadMeasurement {
  std::size_t groups = 0;  // of four blocks
  std::int64_t armed_iterations = 0;
  std::int64_t unarmed_iterations = 0;
  // Empty below kFewestGroups groups.
  std::optional<double> slowdown_percent{};
  std::optional<std::pair<double, double>> ci95_percent{};
  // The number of further iterations that would narrow the interval to the resolution; its width
  // falls with the square root of their number. 0: it is narrow enough; empty: unknown.
  std::optional<std::int64_t> iterations_needed{};
};

// `blocks` are in chronological order.  Four consecutive ones, armed, unarmed, unarmed, armed (or
// the reverse), form a group, in which a steady drift cancels, such as that of a GPU's clock as it
// gets warm.  A block is represented by the median of its times, so that a single slow iteration
// does not matter.  Blocks without times and those outside a group are left out.
//
// The slowdown is the mean over the groups of log(armed / unarmed), as a percentage; its interval
// is the bootstrap-t interval with whole groups resampled: B.  Efron, R.  J.  Tibshirani, "An
// Introduction to the Bootstrap", Chapman & Hall, 1993, section 12.5 (and 8.6 on blocks).  The seed
// is fixed, so that equal times give equal results.
[[nodiscard]] OverheadMeasurement measure_overhead(std::span<const BlockTimes> blocks);

}  // namespace inline_prof::record
