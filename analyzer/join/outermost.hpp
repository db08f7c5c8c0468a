#pragma once

#include "join/analysis.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace inline_prof::join {

using DeviceKey = std::pair<std::size_t, std::int64_t>;  // run, device_id

// The outermost rows that have an in_iteration_us (a region without one is transparent), for each
// device that has any event, in order of their start.
[[nodiscard]] std::map<DeviceKey, std::vector<std::size_t>> outermost_rows(
    const std::vector<Row>& rows, const std::vector<std::vector<std::size_t>>& children);

// Whether none of what encloses the merged row `row` is of its layer.
[[nodiscard]] bool is_outermost_of_layer(const std::vector<MergedRow>& merged, std::size_t row);

}  // namespace inline_prof::join
