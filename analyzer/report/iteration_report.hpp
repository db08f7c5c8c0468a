// Reports of an iteration from end to end.  A JSON object has no end of line behind it.
#pragma once

#include "model/iteration/timetable.hpp"
#include "model/published/dlrm/trace_iteration.hpp"

#include <optional>
#include <span>
#include <string>

namespace inline_prof::report {

// The published DLRM models, with the names that the originals use.
[[nodiscard]] std::string iteration_json(const model::TraceIteration& iteration);
[[nodiscard]] std::string walk_json(const model::WalkResult& walk);
[[nodiscard]] std::string iteration_text(const model::TraceIteration& iteration);
[[nodiscard]] std::string walk_text(const model::WalkResult& walk);

// The longest path, and what a change would save; `others` are the changed times, if any were asked
// for.
[[nodiscard]] std::string what_if_json(const model::LongestPath& path,
                                       std::optional<std::span<const model::OtherTime>> others);
[[nodiscard]] std::string what_if_text(const model::LongestPath& path,
                                       std::optional<std::span<const model::OtherTime>> others);

}  // namespace inline_prof::report
