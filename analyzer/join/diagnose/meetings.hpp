// Rows of several ranks that are one collective.
#pragma once

#include "join/rows/row.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace inline_prof::join {

// Indices into `candidates`, which are rows: those of each collective that several of them take
// part in.
[[nodiscard]] std::vector<std::vector<std::size_t>> meetings_of(
    const std::vector<Row>& rows, std::span<const std::size_t> candidates);

}  // namespace inline_prof::join
