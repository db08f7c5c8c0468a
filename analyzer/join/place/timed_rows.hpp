#pragma once

#include "join/rows/row.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace inline_prof::join {

// Rows that were seen but not measured.
struct UnmeasuredRows {
  std::size_t unmeasured_events = 0;
  std::size_t unmeasured_without_time = 0;  // of these, those of unknown duration: in `idle`
  std::map<std::string, std::size_t> unmeasured_reasons;  // of these, where the file says why
};

struct TimedRows {
  std::vector<Row> rows;
  UnmeasuredRows unmeasured;
};

// Returns predicted rows with the in_iteration_us of each that has a time.  An unmeasured row is
// taken to last as long as rows that launch the same kernel on the same device, else as long as
// predicted.
[[nodiscard]] TimedRows timed_rows(const std::vector<Run>& runs, std::vector<Row> rows);

}  // namespace inline_prof::join
