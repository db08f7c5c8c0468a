#include "model/published/dlrm/product_table.hpp"

#include <gtest/gtest.h>

namespace inline_prof::model {
namespace {

constexpr ProductPeaks kPeaks{.gflops = 1000, .gb_per_s = 1e5};

// Products of m x 100 x 100 that reach 100 GFLOP/s at m = 100 and 200 at m = 200.
ProductTable two_products() {
  return ProductTable({{{1, 100, 100, 100}, 10.0}, {{1, 200, 100, 100}, 10.0}});
}

TEST(ProductTable, KnowsWhatWasMeasured) {
  const auto result = two_products().predict({1, 200, 100, 100}, kPeaks);
  EXPECT_TRUE(result.is_measured);
  EXPECT_EQ(result.time_us, 10.0);
}

TEST(ProductTable, TheFirstOfSeveralTimesCounts) {
  const ProductTable table({{{1, 8, 8, 8}, 3.0}, {{1, 8, 8, 8}, 2.0}});
  EXPECT_EQ(table.predict({1, 8, 8, 8}, kPeaks).time_us, 3.0);
}

TEST(ProductTable, BetweenTwoTheFartherOneWeighsMore) {
  // At a quarter of the way: 1/4 of the low corner and 3/4 of the high one.
  const auto result = two_products().predict({1, 125, 100, 100}, kPeaks);
  EXPECT_EQ(result.corners, 2U);
  EXPECT_DOUBLE_EQ(result.effective.gflops, 100 / 4.0 + 200 * 3 / 4.0);
  // 12 and 20 GB/s at the corners; 4 * (12500 + 10000 + 12500) bytes take longer than the
  // arithmetic.
  EXPECT_DOUBLE_EQ(result.effective.gb_per_s, 12 / 4.0 + 20 * 3 / 4.0);
  EXPECT_TRUE(result.by_memory);
  EXPECT_DOUBLE_EQ(result.time_us, 140000 / 18.0 / 1000);
}

TEST(ProductTable, AboveAllOfThemHalfOfThePeakIsReached) {
  const auto result = two_products().predict({1, 400, 100, 100}, kPeaks);
  EXPECT_DOUBLE_EQ(result.effective.gflops, 200 / 2.0 + 1000 / 2.0);
}

TEST(ProductTable, BelowAllOfThemLittleIsReachedNearTheSmallest) {
  const auto result = two_products().predict({1, 99, 100, 100}, kPeaks);
  EXPECT_DOUBLE_EQ(result.effective.gflops, 100 * 0.01);
}

TEST(ProductTable, WithoutCornersTheOriginalEnds) {
  const ProductTable table({{{1, 8, 8, 8}, 3.0}, {{1, 16, 16, 8}, 2.0}});
  EXPECT_EQ(table.predict({1, 8, 16, 8}, kPeaks).error, "ZeroDivisionError");
  EXPECT_EQ(table.predict({1, 8, 16, 9}, kPeaks).error, "IndexError");
}

}  // namespace
}  // namespace inline_prof::model
