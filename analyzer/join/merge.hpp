#pragma once

#include "join/analysis.hpp"
#include "join/samples.hpp"

#include <vector>

namespace inline_prof::join {

// One row for what is the same event on every device: same layer, event, occurrence and stream.
// `samples` are those of analysis.rows.  Fills analysis.merged, all but the shares.
void merge_devices(Analysis& analysis, const SamplesOfRuns& samples);

}  // namespace inline_prof::join
