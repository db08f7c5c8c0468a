#pragma once

#include "join/ranks/ranks.hpp"

#include <string>

namespace inline_prof::exports {

// Schema "inline_prof_ranks/1" (docs/schemas/ranks.schema.json).
[[nodiscard]] std::string ranks_json(const join::RankComparison& comparison);

}  // namespace inline_prof::exports
