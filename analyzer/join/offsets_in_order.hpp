// Where the works of a device begin in an iteration.  Their offsets were measured in different
// iterations, each with an error: here no work begins before those before it on its stream have
// ended.
#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <map>
#include <span>

namespace inline_prof::join {

// What lies between two kernels that both stood in the queue: the device takes so long to begin the
// next one at most.  2 us is the least time of a kernel in the machines' files, 3 us what an event
// between them adds on the GPUs that docs/gpu_results.md names.
inline constexpr double kLongestStartUs = 3.0;

// There are other streams or ranks, which something may wait for.
[[nodiscard]] bool has_others(const Analysis& analysis, std::size_t profile,
                              std::span<const std::size_t> outermost);

// By row.  Of a device's outermost rows, those whose offsets are known, and that cannot run beside
// others of their stream.
[[nodiscard]] std::map<std::size_t, double> offsets_in_order(const Analysis& analysis,
                                                             std::span<const std::size_t> outermost,
                                                             bool others);

// These where the times of the samples' own iterations are known; else none, and the rows' medians
// stand: of iterations that do not take equally long medians need not add up.
[[nodiscard]] std::map<std::size_t, double> better_offsets(const Analysis& analysis,
                                                           std::size_t profile,
                                                           std::span<const std::size_t> outermost);

}  // namespace inline_prof::join
