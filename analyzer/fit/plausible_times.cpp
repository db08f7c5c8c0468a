#include "fit/plausible_times.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace inline_prof::fit {
namespace {

// Of small work the timer is what is measured: 2 us within a CUDA graph, up to 350 us where a host
// launches between two events.  A unit that is wrong makes a factor of a thousand.
constexpr double kUsualTimerUs = 10;
constexpr double kTooLong = 100;
constexpr double kTooShort = 1.0 / 50;

double expected_us(const BoundedRow& row) {
  return std::max(row.bound_us, kUsualTimerUs);
}

double ratio(const BoundedRow& row) {
  return row.row->time_us / expected_us(row);
}

}  // namespace

void refuse_another_unit(std::vector<BoundedRow> rows) {
  if (rows.empty()) return;
  const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2);
  std::nth_element(rows.begin(), middle, rows.end(),
                   [](const BoundedRow& a, const BoundedRow& b) { return ratio(a) < ratio(b); });
  if (ratio(*middle) >= kTooShort && ratio(*middle) <= kTooLong) return;
  throw read::InputError(fmt::format(
      "{}, column time_us: {} us where about {:.3g} us were expected, and half of all rows are as "
      "far off: another unit, type or GPU?",
      middle->row->place, middle->row->time_us, expected_us(*middle)));
}

}  // namespace inline_prof::fit
