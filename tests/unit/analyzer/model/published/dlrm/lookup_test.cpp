#include "model/published/dlrm/lookup.hpp"

#include <gtest/gtest.h>

namespace inline_prof::model {
namespace {

// Round numbers, so that expected values can be checked by hand.
constexpr LookupMachine kToyGpu{.dram_gb_per_s = 100,
                                .l2_gb_per_s = 1000,
                                .throughput_gflops = 1000,
                                .l2_bytes = 1 << 20,
                                .sm_count = 10};

constexpr LookupShape kShape{.batch = 1000,
                             .rows = 1000000,
                             .tables = 2,
                             .bag = 8,
                             .dim = 32,
                             .rows_per_block = 100,
                             .keeps_indices_in_shared_memory = true};

TEST(LookupForward, OfALargeTableReadsEveryRowFromDram) {
  const auto result = lookup_forward(kShape, kToyGpu);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->tables_at_once, 1);
  EXPECT_EQ(result->cached_rows, (1 << 20) / 128);
  EXPECT_EQ(result->hit_rate, 0.0);
  // A table: 1000 samples of 32 bytes of indices, 8 rows of 128 bytes in and one out.
  EXPECT_EQ(result->dram_bytes, 2 * 1000 * (32 + 8 * 128 + 128));
  EXPECT_DOUBLE_EQ(result->dram_us, 2368 * 1000 / 100.0 / 1000);
}

TEST(LookupForward, OfASmallTableReadsEveryRowFromDramOnce) {
  LookupShape shape = kShape;
  shape.rows = 2000;  // 256000 bytes, less than the L2
  const auto result = lookup_forward(shape, kToyGpu);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->hit_rate, 1.0);
  EXPECT_EQ(result->dram_bytes, 2 * (1000 * (32 + 128) + 256000));
  EXPECT_EQ(result->l2_bytes, 2 * (1000 * 64 + 1000 * 8 * 128 - 256000));
}

TEST(LookupForward, NeedsAsManyRowsAsSamples) {
  LookupShape shape = kShape;
  shape.rows = 1000;
  EXPECT_TRUE(lookup_forward(shape, kToyGpu));
  shape.rows = 999;
  EXPECT_FALSE(lookup_forward(shape, kToyGpu));
}

TEST(LookupBackward, WithSgdCountsMultiplyAddsAsOne) {
  const LookupBackward result = lookup_backward_sgd(kShape, kToyGpu);
  // 2000 warps of 64 + 32 + 2 * 8 * 128 + 128 bytes; 2000 * 8 * 32 multiply-adds.
  EXPECT_DOUBLE_EQ(result.memory_us, 2000 * 2272 / 100.0 / 1000);
  EXPECT_DOUBLE_EQ(result.compute_us, 2000 * 256 / 1000.0 / 1000);
}

TEST(LookupBackward, WithoutSharedMemoryReadsIndicesAndGradientsForEveryRow) {
  LookupShape shape = kShape;
  shape.keeps_indices_in_shared_memory = false;
  EXPECT_DOUBLE_EQ(lookup_backward_sgd(shape, kToyGpu).memory_us,
                   2000 * (64 + 32 * 8 + 2 * 8 * 128 + 2 * 8 * 128) / 100.0 / 1000);
}

TEST(LookupBackward, WithAdagradReadsRowsTwiceAndWritesThemOnce) {
  EXPECT_DOUBLE_EQ(lookup_backward_rowwise_adagrad_us(kShape, kToyGpu),
                   2000 * (64 + 2 * 32 + (8 + 9 + 8) * 128) / 100.0 / 1000);
}

TEST(FloorDivision, GoesDownBelowZero) {
  EXPECT_EQ(floor_div(-205, 4), -52);
  EXPECT_EQ(floor_div(-204, 4), -51);
  EXPECT_EQ(floor_div(205, 4), 51);
}

TEST(AllCached, IsAProductOfDecreasingChances) {
  EXPECT_EQ(all_cached(10, 10, 10), 1.0);
  EXPECT_EQ(all_cached(2, 10, 3), 0.0);
  EXPECT_DOUBLE_EQ(all_cached(5, 10, 2), 5.0 / 10 * 4 / 9);
  EXPECT_DOUBLE_EQ(all_cached(-1, 10, 2), -1.0 / 10 * -2 / 9);
}

}  // namespace
}  // namespace inline_prof::model
