// Whether the times of a table can be microseconds at all.
#pragma once

#include "fit/measured_rows.hpp"

#include <vector>

namespace inline_prof::fit {

struct BoundedRow {
  const MeasuredRow* row;
  double bound_us;  // what the work takes at the least by the machine's data sheet, or 0
};

// Throws read::InputError where half of the rows are so far from what their machine can do that
// their times have another unit: nanoseconds look a thousand times too long, milliseconds a
// thousand times too short.  Names the row in the middle.
void refuse_another_unit(std::vector<BoundedRow> rows);

}  // namespace inline_prof::fit
