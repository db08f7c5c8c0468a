#include "watch/selection.hpp"

#include "testing.hpp"

namespace inline_prof::watch {
namespace {

// A step of 1,000 events: a few large ones, many small ones.
std::vector<double> weights_of_a_step() {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> times(std::log(20'000), 1.5);
  std::vector<double> weights;
  weights.reserve(1000);
  for (int i = 0; i < 1000; ++i)
    weights.push_back(weight(times(random), 0.05));
  return weights;
}

std::vector<double> changed(std::vector<double> weights, double deviation, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> factor(1, deviation);
  for (double& weight : weights)
    weight *= std::max(factor(random), 0.1);
  return weights;
}

TEST(Selection, KeepsTheRate) {
  const std::vector<double> weights = {1, 2, 3, 4, 5};
  for (const double rate : {0.001, 0.1, 0.75, 1.0, 2.3}) {
    std::size_t pairs = 0;
    const std::int64_t iterations = rate < 0.01 ? 1'000'000 : 100'000;
    for (std::int64_t i = 0; i < iterations; ++i)
      pairs += choose(i, 1, weights, rate).size();
    const double expected = rate * static_cast<double>(iterations);
    EXPECT_NEAR(static_cast<double>(pairs), expected, 5 * std::sqrt(expected)) << rate;
  }
}

// Measured: 97.4 % of the choices of two ranks whose weights differ by 5 %.
TEST(Selection, RanksWithSimilarWeightsChooseTheSame) {
  const std::vector<double> weights = weights_of_a_step();
  const std::vector<double> other = changed(weights, 0.05 / std::sqrt(2), 2);
  const std::vector<double> another = changed(weights, 0.05 / std::sqrt(2), 3);
  int equal = 0;
  constexpr int iterations = 2000;
  for (int i = 0; i < iterations; ++i)
    equal += choose(i, 7, other, 1) == choose(i, 7, another, 1) ? 1 : 0;
  EXPECT_GT(equal, 0.95 * iterations);
  EXPECT_LT(equal, iterations);
}

TEST(Selection, ASmallerRateMeasuresAPart) {
  const std::vector<double> weights = weights_of_a_step();
  for (int i = 0; i < 300; ++i) {
    std::vector<std::size_t> before;
    for (const double rate : {0.0, 0.3, 0.9, 1.4, 6.5}) {
      const std::vector<std::size_t> events = choose(i, 7, weights, rate);
      ASSERT_GE(events.size(), before.size());
      ASSERT_TRUE(std::equal(before.begin(), before.end(), events.begin())) << "iteration " << i;
      before = events;
    }
  }
}

TEST(Selection, ProportionsFollowTheWeights) {
  const std::vector<double> weights = {1, 1, 2, 8, 1e-9};
  std::vector<double> seen(5);
  constexpr int iterations = 100'000;
  for (int i = 0; i < iterations; ++i)
    seen[choose(i, 3, weights, 1).at(0)] += 1;
  for (std::size_t event = 0; event < 5; ++event) {
    const double floor = 0.25 * 12 / 5;
    const double expected = iterations * (weights[event] + floor) / (12 * 1.25);
    EXPECT_NEAR(seen[event], expected, 5 * std::sqrt(expected)) << event;
  }
}

// At 0.02 %, steps of 250 ms and 7 us a pair: 7 pairs in each of 14,400 steps.
TEST(Selection, EveryEventIsSeenInEachHour) {
  std::vector<double> weights(1000, 1);
  weights[0] = 1e6;
  weights[1] = 1e-9;
  std::vector<int> seen(1000);
  for (int i = 0; i < 14'400; ++i) {
    for (const std::size_t event : choose(i, 5, weights, 7))
      ++seen[event];
  }
  EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 20);
  EXPECT_EQ(seen[0], 14'400);
}

TEST(Selection, TakesAnyInput) {
  EXPECT_THAT(choose(1, 1, {}, 3), IsEmpty());
  const std::vector<double> weights = {0, 1, 2, std::numeric_limits<double>::quiet_NaN(),
                                       std::numeric_limits<double>::infinity()};
  EXPECT_THAT(choose(1, 1, weights, 9), UnorderedElementsAre(1U, 2U));
  EXPECT_THAT(choose(1, 1, std::vector<double>(5), 9), IsEmpty());
  EXPECT_THAT(choose(1, 1, weights, std::numeric_limits<double>::quiet_NaN()), IsEmpty());
  EXPECT_THAT(choose(1, 1, weights, -1), IsEmpty());
  EXPECT_EQ(choose(-5, 1, weights, 1).size(), 1U);
}

TEST(Selection, MoreTimeAndMoreSpreadWeighMore) {
  EXPECT_DOUBLE_EQ(weight(200, 0.05), 2 * weight(100, 0.05));
  EXPECT_GT(weight(100, 0.2), weight(100, 0.05));
  EXPECT_DOUBLE_EQ(weight(100, 0), weight(100, 0.005));  // no event is so even
  EXPECT_EQ(weight(std::numeric_limits<double>::quiet_NaN(), 0.1), 0);
  EXPECT_GT(weight(100, std::numeric_limits<double>::quiet_NaN()), 0);
}

}  // namespace
}  // namespace inline_prof::watch
