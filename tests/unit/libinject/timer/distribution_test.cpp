#include "testing.hpp"
#include "timer/calibration.hpp"

namespace inline_prof::timer {
namespace {

struct Sorted {
  std::vector<double> values;
  double median_us, p05_us, p95_us;
};

TEST(Distribution, InterpolatesBetweenOrderStatistics) {
  // Sorted: 0, 10, ..., 100.  p05 lies at place 0.05 * 10 = 0.5, between 0 and 10.
  for (Sorted row : {Sorted{{100, 0, 90, 10, 80, 20, 70, 30, 60, 40, 50}, 50, 5, 95},
                     Sorted{{4, 1, 3, 2}, 2.5, 1.15, 3.85}, Sorted{{7}, 7, 7, 7}, Sorted{}}) {
    const auto count = static_cast<std::int64_t>(row.values.size());
    const record::Distribution found = distribution_of(row.values);
    EXPECT_EQ(found.count, count);
    if (count == 0) continue;
    EXPECT_DOUBLE_EQ(found.median_us, row.median_us);
    EXPECT_DOUBLE_EQ(found.p05_us, row.p05_us);
    EXPECT_DOUBLE_EQ(found.p95_us, row.p95_us);
  }
}

}  // namespace
}  // namespace inline_prof::timer
