#pragma once

#include "join/compare/compare.hpp"

#include <string>

namespace inline_prof::exports {

// Schema "inline_prof_compare/1" (docs/schemas/compare.schema.json).
[[nodiscard]] std::string compare_json(const join::Comparison& comparison);

// A line for the iteration, each layer and each event; what is not known is an empty field.
[[nodiscard]] std::string compare_csv(const join::Comparison& comparison);

}  // namespace inline_prof::exports
