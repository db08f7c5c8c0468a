#pragma once

#include "join/analysis.hpp"

#include <string>

namespace inline_prof::exports {

// The report as JSON, schema "inline_prof_report/1" (docs/schemas/report.schema.json).
[[nodiscard]] std::string json_report(const join::Analysis& analysis);

}  // namespace inline_prof::exports
