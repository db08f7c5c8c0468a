#include "record/overhead_measurement.hpp"

#include "testing.hpp"

namespace inline_prof::record {
namespace {

// Iteration times of a run as the injected library takes them: blocks in the order A B B A.
struct Program {
  double time_ms = 10;
  double slowdown = 0;       // of an armed iteration, 0.01: one percent
  double noise = 0;          // standard deviation of an iteration's time, over it
  double drift = 0;          // from one iteration to the next, over the time
  double outlier_share = 0;  // iterations that take ten times as long
  std::uint64_t seed = 1;
};

std::vector<BlockTimes> blocks_of(const Program& program, int groups, int times_in_a_block = 8) {
  std::mt19937_64 random(program.seed);
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<BlockTimes> blocks;
  int iteration = 0;
  for (int block = 0; block < 4 * groups; ++block) {
    const bool armed = block % 4 == 0 || block % 4 == 3;
    blocks.push_back({.armed = armed, .times_ms = {}});
    for (int i = 0; i < times_in_a_block; ++i, ++iteration) {
      double time = program.time_ms * (1 + program.drift * iteration);
      time *= 1 + program.noise * normal(random);
      if (armed) time *= 1 + program.slowdown;
      if (uniform(random) < program.outlier_share) time *= 10;
      blocks.back().times_ms.push_back(static_cast<float>(time));
    }
  }
  return blocks;
}

TEST(OverheadMeasurement, IsExactWhereNothingElseChanges) {
  const OverheadMeasurement overhead = measure_overhead(blocks_of({.slowdown = 0.02}, 6));
  ASSERT_TRUE(overhead.slowdown_percent);
  EXPECT_NEAR(*overhead.slowdown_percent, 2.0, 1e-4);
  EXPECT_NEAR(overhead.ci95_percent->first, 2.0, 1e-4);
  EXPECT_NEAR(overhead.ci95_percent->second, 2.0, 1e-4);
  EXPECT_EQ(overhead.iterations_needed, 0);
  EXPECT_EQ(overhead.groups, 6U);
  EXPECT_EQ(overhead.armed_iterations, 96);
  EXPECT_EQ(overhead.unarmed_iterations, 96);
}

// Half a percent over a group, and no slowdown: A B A B blocks would show one.
TEST(OverheadMeasurement, TakesNoDriftForASlowdown) {
  const OverheadMeasurement overhead = measure_overhead(blocks_of({.drift = 0.00015}, 8));
  EXPECT_NEAR(*overhead.slowdown_percent, 0, 0.002);
}

TEST(OverheadMeasurement, TakesNoSingleSlowIterationForASlowdown) {
  const OverheadMeasurement overhead =
      measure_overhead(blocks_of({.slowdown = 0.001, .noise = 0.0002, .outlier_share = 0.03}, 12));
  EXPECT_NEAR(*overhead.slowdown_percent, 0.1, 0.03);
  EXPECT_LT(overhead.ci95_percent->second - overhead.ci95_percent->first, 0.1);
}

class OverheadInterval : public TestWithParam<int> {};

// 500 runs: 95 % are 475, with a standard deviation of 5.
TEST_P(OverheadInterval, HoldsTheTruthAsOftenAsItSays) {
  int hits = 0;
  int tells_from_zero = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const OverheadMeasurement overhead = measure_overhead(
        blocks_of({.slowdown = 0.001, .noise = 0.002, .drift = 1e-5, .seed = seed}, GetParam(), 4));
    ASSERT_TRUE(overhead.ci95_percent);
    const auto [lower, upper] = *overhead.ci95_percent;
    EXPECT_LT(lower, upper);
    if (lower <= 0.1 && 0.1 <= upper) ++hits;
    if (lower > 0) ++tells_from_zero;
  }
  EXPECT_GE(hits, 460) << "of 500";
  EXPECT_LE(hits, 498) << "of 500";
  EXPECT_GT(tells_from_zero, 10);
}

// The more groups, the longer: a minute under a sanitizer, which sees it all in the fewest.
const std::vector<int> kGroups =
    INLINE_PROF_TEST_SANITIZED ? std::vector{5} : std::vector{5, 8, 12, 24};

INSTANTIATE_TEST_SUITE_P(Groups, OverheadInterval, ValuesIn(kGroups));

TEST(OverheadMeasurement, SaysHowManyMoreIterationsItNeeds) {
  const Program program{.slowdown = 0.001, .noise = 0.02};
  const OverheadMeasurement first = measure_overhead(blocks_of(program, 12));
  ASSERT_TRUE(first.iterations_needed);
  ASSERT_GT(*first.iterations_needed, 0);
  // With so many more it is resolved, or nearly.
  const auto groups = static_cast<int>(12 + *first.iterations_needed / 32);
  const OverheadMeasurement second = measure_overhead(blocks_of(program, groups));
  const double half_width = (second.ci95_percent->second - second.ci95_percent->first) / 2;
  EXPECT_NEAR(half_width, kOverheadResolutionPercent, 0.05);
}

// Iterations of which some take a hundred times as long as others.
TEST(OverheadMeasurement, AsksForNoMoreIterationsThanAnybodyWaitsFor) {
  std::vector<BlockTimes> blocks;
  for (int block = 0; block < 16; ++block) {
    const bool armed = block % 4 == 0 || block % 4 == 3;
    const float time_ms =
        block == 1 || block == 6 ? 3000.0F : 3.0F + 0.001F * static_cast<float>(block);
    blocks.push_back({.armed = armed, .times_ms = {time_ms, time_ms}});
  }
  EXPECT_FALSE(measure_overhead(blocks).iterations_needed);
}

TEST(OverheadMeasurement, NeedsFourGroups) {
  const OverheadMeasurement three = measure_overhead(blocks_of({.noise = 0.01}, 3));
  EXPECT_FALSE(three.slowdown_percent);
  EXPECT_FALSE(three.ci95_percent);
  EXPECT_EQ(three.iterations_needed, 32);
  EXPECT_EQ(three.groups, 3U);
  EXPECT_TRUE(measure_overhead(blocks_of({.noise = 0.01}, 4)).ci95_percent);
  auto three_blocks = blocks_of({}, 1);
  three_blocks.pop_back();
  EXPECT_EQ(measure_overhead(three_blocks).iterations_needed, 4 * 4 * 8);
  EXPECT_FALSE(measure_overhead({}).iterations_needed);
}

TEST(OverheadMeasurement, LeavesOutBlocksThatFitInNoGroup) {
  auto blocks = blocks_of({.slowdown = 0.01}, 5);
  blocks.insert(blocks.begin(), {.armed = true, .times_ms = {100.0F}});
  blocks[6].times_ms.clear();  // the second group
  blocks.push_back({.armed = true, .times_ms = {100.0F}});
  const OverheadMeasurement overhead = measure_overhead(blocks);
  EXPECT_EQ(overhead.groups, 4U);
  EXPECT_NEAR(*overhead.slowdown_percent, 1.0, 1e-4);
}

TEST(OverheadMeasurement, KnowsTheReverseOrderToo) {
  auto blocks = blocks_of({.slowdown = 0.01}, 5);
  blocks.erase(blocks.begin(), blocks.begin() + 2);  // B A A B ...
  const OverheadMeasurement overhead = measure_overhead(blocks);
  EXPECT_EQ(overhead.groups, 4U);
  EXPECT_NEAR(*overhead.slowdown_percent, 1.0, 1e-4);
}

TEST(OverheadMeasurement, IsTheSameForTheSameTimes) {
  const auto blocks = blocks_of({.noise = 0.01}, 8);
  EXPECT_EQ(measure_overhead(blocks).ci95_percent, measure_overhead(blocks).ci95_percent);
}

TEST(OverheadMeasurement, TakesNoTimeOfZero) {
  std::vector<BlockTimes> blocks(16, {.armed = false, .times_ms = {0.0F}});
  for (std::size_t i = 0; i < blocks.size(); ++i)
    blocks[i].armed = i % 4 == 0 || i % 4 == 3;
  EXPECT_EQ(measure_overhead(blocks).groups, 0U);
}

}  // namespace
}  // namespace inline_prof::record
