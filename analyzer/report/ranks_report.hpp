#pragma once

#include "join/ranks.hpp"

#include <cstddef>
#include <string>

namespace inline_prof::report {

// Lines for a terminal: slow devices, stragglers and collectives, at most `top` of each (0: all).
[[nodiscard]] std::string ranks_table(const join::RankComparison& comparison, std::size_t top);

// Schema "inline_prof_ranks/1" (docs/schemas/ranks.schema.json).
[[nodiscard]] std::string ranks_json(const join::RankComparison& comparison);

}  // namespace inline_prof::report
