// The starts of a device's rows in an iteration.  Their offsets were measured in different
// iterations, each with an error: here no row begins before those before it on its stream have
// ended.
#pragma once

#include "join/rows/row.hpp"

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace inline_prof::join {

// The device takes so long at most to begin a kernel that stands in the queue behind another one.
// 2 us is the least time of a kernel in the machines' files, 3 us half of the 5.9 us that a pair of
// events adds in a published profile of an A100 (tests/data/hugectr).
inline constexpr double kLongestStartUs = 3.0;

// Returns the offsets, by row, of those of a device's outermost rows whose offsets are known, and
// that cannot run beside others of their stream.  `others`: there are other streams or ranks.
[[nodiscard]] std::map<std::size_t, double> offsets_in_order(const std::vector<Row>& rows,
                                                             std::span<const std::size_t> outermost,
                                                             bool others);

}  // namespace inline_prof::join
