// What the DLRM models say about an iteration, as JSON with the names that the originals use.
#pragma once

#include "model/published/dlrm/trace_iteration.hpp"

#include <string>
#include <vector>

namespace inline_prof::report {

// One JSON object each, without an end of line.
[[nodiscard]] std::string iteration_json(const model::TraceIteration& iteration);
[[nodiscard]] std::string walk_json(const model::WalkResult& walk);

// The larger numbers of it for a person; lines.
[[nodiscard]] std::string iteration_text(const model::TraceIteration& iteration);
[[nodiscard]] std::string walk_text(const model::WalkResult& walk);

}  // namespace inline_prof::report
