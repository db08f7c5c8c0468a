#pragma once

#include "join/rows/row.hpp"

#include <vector>

namespace inline_prof::join {

// Sets `parent` and `is_region` of every row: a row encloses those whose index range lies within
// its own, on the same device and stream of the same run.  Of two equal ranges the first row
// encloses. Ranges that overlap only in part enclose nothing.
void find_nesting(std::vector<Row>& rows);

// The rows that `parent` says stand directly below each row.
[[nodiscard]] std::vector<std::vector<std::size_t>> children_of(const std::vector<Row>& rows);

}  // namespace inline_prof::join
