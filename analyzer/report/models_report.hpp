// The table of models: how each does on this run, and the rows with each model's prediction side by
// side (prof-analyze --models all).
#pragma once

#include "join/analysis.hpp"
#include "report/text.hpp"

#include <cstddef>
#include <string>

namespace inline_prof::report {

// Returns both tables with their headings, at most `top` rows of each kind (0: all), the longest
// first; "" unless all models were asked.  `format` is kTable or kMarkdown.
[[nodiscard]] std::string models_text(const join::Analysis& analysis, std::size_t top,
                                      GridFormat format);

}  // namespace inline_prof::report
