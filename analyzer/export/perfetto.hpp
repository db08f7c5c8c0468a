#pragma once

#include "join/analysis.hpp"

#include <string>

namespace inline_prof::exports {

// A mean iteration in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing
// open: a process for each device of each file, a thread for each lane of a stream, and beside it
// one with what was predicted.  No moment in it was measured together: it is put together from
// medians (report/timeline_layout.hpp).
//
// Source of the format: "Trace Event Format", Google, 2016; complete events ("ph": "X"), times in
// microseconds.
[[nodiscard]] std::string perfetto_report(const join::Analysis& analysis);

}  // namespace inline_prof::exports
