#pragma once

#include "join/analysis.hpp"
#include "report/plot/picture.hpp"

#include <cstddef>

namespace inline_prof::report {

// The mean iteration (report/timeline_layout.hpp), a row of bars for each lane of each stream:
// measured, and thin below it predicted.  At most `most_tracks` streams.
[[nodiscard]] Picture timeline_picture(const join::Analysis& analysis, std::size_t most_tracks);

}  // namespace inline_prof::report
