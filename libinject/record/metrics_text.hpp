// Writes a RunRecord as the text that Prometheus reads (docs/distributed.md).
#pragma once

#include "record/prof_writer.hpp"
#include "record/run_record.hpp"

#include <cstddef>
#include <string>

namespace inline_prof::record {

// A long run has thousands of layers, and each would be a time series.
inline constexpr std::size_t kMostLayersInMetrics = 20;

// The median of all iterations would not show that they got slower an hour ago.
inline constexpr std::size_t kRecentIterations = 1024;

// `run_name` is the value of the label `run`.  The caller holds `run.mutex`.
[[nodiscard]] [[gnu::cold]] std::string metrics_text(const RunRecord& run, const WriteFacts& facts,
                                                     const std::string& run_name);

}  // namespace inline_prof::record
