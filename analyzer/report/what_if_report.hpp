// The longest path through an iteration, and what a change of it would give.
#pragma once

#include "model/iteration/timetable.hpp"

#include <optional>
#include <span>
#include <string>

namespace inline_prof::report {

// `others` is what was asked; empty: nothing was.  One JSON object without an end of line; lines.
[[nodiscard]] std::string what_if_json(const model::LongestPath& path,
                                       std::optional<std::span<const model::OtherTime>> others);
[[nodiscard]] std::string what_if_text(const model::LongestPath& path,
                                       std::optional<std::span<const model::OtherTime>> others);

}  // namespace inline_prof::report
