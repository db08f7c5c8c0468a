// The table of operations that were measured alone: what is accepted has a time within its
// interval.
#include "property.hpp"
#include "read/isolated.hpp"

#include <cmath>
#include <string>

using namespace inline_prof;

void fuzz::check(const std::string& text) {
  const read::Table table(text, "fuzz");
  const read::IsolatedTimes times = read::isolated_from(table);
  fuzz::require(times.rows.size() == table.row_count(), "every row is an operation");
  for (const auto& [operation, time] : times.rows) {
    fuzz::require(std::isfinite(time.time_us) && time.time_us > 0, "an operation takes time");
    fuzz::require(std::isfinite(time.lower_us) && std::isfinite(time.upper_us) &&
                      time.lower_us <= time.time_us && time.time_us <= time.upper_us,
                  "the time lies in its interval");
  }
}
