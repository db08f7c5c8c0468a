// Which events a watched iteration measures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace inline_prof::watch {

// Returns how often an event is measured, relative to others: in proportion to its time in an
// iteration, and more often if its samples spread.
[[nodiscard]] double weight(double time_ns_of_iteration, double relative_spread);

// Returns the events that `iteration` measures: `pairs_per_iteration` on average, each once, the
// most urgent first. A pure function, so ranks agree without talking to each other:
//   - Ranks whose weights differ by a few percent choose the same events nearly always.
//   - Ranks that can afford fewer pairs measure the first of the others' events, or none.
// An event of weight 0 is never chosen. Each other one gets at least a fifth of its equal share.
[[nodiscard]] std::vector<std::size_t> choose(std::int64_t iteration, std::uint64_t seed,
                                              std::span<const double> weights,
                                              double pairs_per_iteration);

}  // namespace inline_prof::watch
