#include "watch/history.hpp"

#include "testing.hpp"
#include "watch/quantile_sketch.hpp"

namespace inline_prof::watch {
namespace {

constexpr double kSecondsOfADay = 86400;

// The size of a history as columns of JSON.
std::size_t json_size(const History& history) {
  std::string text = R"({"start_s":[],"end_s":[],"first_iteration":[],"last_iteration":[],)"
                     R"("first_bucket":[],"counts":[]})";
  for (const Bin& bin : history.bins()) {
    text += std::to_string(std::llround(bin.start_s)) + ".1," +
            std::to_string(std::llround(bin.end_s)) + ".1," + std::to_string(bin.first_iteration) +
            "," + std::to_string(bin.last_iteration) + "," +
            std::to_string(bin.sketch.first_bucket()) + ",[],";
    for (const std::uint32_t count : bin.sketch.counts())
      text += std::to_string(count) + ",";
  }
  return text.size();
}

std::uint64_t samples_of(const History& history) {
  std::uint64_t samples = 0;
  for (const Bin& bin : history.bins())
    samples += bin.sketch.count();
  return samples;
}

void add_days(History& history, double from_day, double to_day, double step_s,
              bool has_heavy_tails) {
  std::mt19937_64 random(static_cast<unsigned>(from_day) + 1);
  std::normal_distribution<double> normal(0, 0.05);
  std::student_t_distribution<double> student(2);
  for (double time = from_day * kSecondsOfADay; time < to_day * kSecondsOfADay; time += step_s) {
    const double noise = has_heavy_tails ? std::abs(0.05 * student(random)) : normal(random);
    history.add(time, static_cast<std::int64_t>(4 * time), 50'000 * (1 + noise));
  }
}

TEST(History, IsFineWhereNewAndCoarseWhereOld) {
  History history;
  add_days(history, 0, 30, 20, false);
  const auto& bins = history.bins();
  ASSERT_GE(bins.size(), 20U);
  ASSERT_LE(bins.size(), History::kMostBins);
  EXPECT_LE(bins.back().end_s - bins.back().start_s, 60);
  EXPECT_DOUBLE_EQ(bins.front().start_s, 0);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double width = bins[i].end_s - bins[i].start_s;
    const double age = bins.back().end_s - bins[i].end_s;
    EXPECT_LE(width, 30 * std::pow(age + 60, 0.75)) << "age " << age;
    EXPECT_GT(width, age > kSecondsOfADay ? 3600 : 0) << "age " << age;
    if (i > 0) {
      EXPECT_GT(bins[i].start_s, bins[i - 1].end_s);
      EXPECT_GT(bins[i].first_iteration, bins[i - 1].last_iteration);
    }
  }
  EXPECT_EQ(samples_of(history), 30 * 86400 / 20U);
}

// 1,000 events after a month and after a year: at most 3,000 bytes each leaves 1,000 for the
// samples of the characterisation, below the 4 MiB of prof.json.
TEST(History, IsBoundedForEver) {
  for (const bool has_heavy_tails : {false, true}) {
    History history;
    add_days(history, 0, 30, 100, has_heavy_tails);
    const std::size_t bins = history.bins().size();
    EXPECT_LE(bins, History::kMostBins);
    EXPECT_LE(json_size(history), 3000U);
    EXPECT_LE(history.bytes(), 6000U);
    add_days(history, 30, 365, 1000, has_heavy_tails);
    EXPECT_LE(history.bins().size(), History::kMostBins);
    EXPECT_GE(history.bins().size(), has_heavy_tails ? 8U : 20U);
    EXPECT_LE(json_size(history), 3000U);
    EXPECT_LE(history.bytes(), 6000U);
    EXPECT_NEAR(history.bins().front().sketch.quantile(0.5),
                has_heavy_tails ? 50'000 * (1 + 0.05 * 0.8165) : 50'000, 600);
  }
}

TEST(History, TimeMayStandStillAndJump) {
  History history;
  for (int i = 0; i < 1000; ++i)
    history.add(5, i, 100);
  EXPECT_THAT(history.bins(), SizeIs(1));
  history.add(5 + kSecondsOfADay, 1000, 100);
  history.add(4, 1001, 100);  // no such clock
  ASSERT_THAT(history.bins(), SizeIs(2));
  EXPECT_DOUBLE_EQ(history.bins()[0].end_s, 5);
  EXPECT_DOUBLE_EQ(history.bins()[1].start_s, 5 + kSecondsOfADay);
  EXPECT_DOUBLE_EQ(history.bins()[1].end_s, 5 + kSecondsOfADay);
  EXPECT_EQ(samples_of(history), 1002U);
}

TEST(History, ABinHoldsIterationsInAnyOrder) {
  History history;
  for (const int iteration : {12, 10, 15, 11})
    history.add(100, iteration, 5000);
  ASSERT_THAT(history.bins(), SizeIs(1));
  EXPECT_EQ(history.bins()[0].first_iteration, 10);
  EXPECT_EQ(history.bins()[0].last_iteration, 15);
}

bool same(const QuantileSketch& a, const QuantileSketch& b) {
  return a.first_bucket() == b.first_bucket() && a.counts() == b.counts();
}

QuantileSketch sketch_of(double median, double sigma, int count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> times(std::log(median), sigma);
  QuantileSketch sketch;
  for (int i = 0; i < count; ++i)
    sketch.add(times(random));
  return sketch;
}

TEST(QuantileSketch, IsWithinOnePercentOfEachQuantile) {
  for (const double sigma : {0.0, 0.001, 0.05, 0.12}) {
    std::mt19937_64 random(1);
    std::lognormal_distribution<double> times(std::log(123456.0), std::max(sigma, 1e-9));
    std::vector<double> values;
    QuantileSketch sketch;
    for (int i = 0; i < 10'000; ++i) {
      values.push_back(times(random));
      sketch.add(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const double q : {0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0}) {
      const double exact = values[static_cast<std::size_t>(q * 9999)];
      EXPECT_NEAR(sketch.quantile(q) / exact, 1, 0.0101) << "sigma " << sigma << ", q " << q;
    }
  }
}

TEST(QuantileSketch, BucketsAreThoseOfTheFormat) {
  for (const int bucket : {-300, -1, 0, 1, 2, 577, 2000}) {
    QuantileSketch sketch;
    sketch.add(std::pow(QuantileSketch::kRatio, bucket - 0.5));
    EXPECT_EQ(sketch.first_bucket(), bucket);
    EXPECT_THAT(sketch.counts(), ElementsAre(1U));
  }
}

TEST(QuantileSketch, TakesExtremeValues) {
  for (const double value :
       {0.0, -1.0, 1e-3, 1e18, 1e300, std::numeric_limits<double>::infinity()}) {
    QuantileSketch sketch;
    sketch.add(value);
    EXPECT_EQ(sketch.count(), 1U) << value;
    EXPECT_NEAR(sketch.quantile(0.5) / std::clamp(value, 1e-3, 1e18), 1, 0.02) << value;
  }
  QuantileSketch sketch;
  sketch.add(std::numeric_limits<double>::quiet_NaN());
  sketch.add(5.0, 0);
  EXPECT_THAT(sketch.counts(), IsEmpty());
  EXPECT_TRUE(std::isnan(sketch.quantile(0.5)));
}

TEST(QuantileSketch, MergesInAnyOrder) {
  const QuantileSketch a = sketch_of(1000, 0.05, 500, 1);
  const QuantileSketch b = sketch_of(1300, 0.02, 300, 2);
  const QuantileSketch c = sketch_of(900, 0.08, 200, 3);
  QuantileSketch left = a;
  left.merge(b);
  left.merge(c);
  QuantileSketch right = c;
  right.merge(b);
  QuantileSketch other = a;
  other.merge(right);
  EXPECT_TRUE(same(left, other));
  EXPECT_EQ(left.count(), 1000U);
  left.merge(QuantileSketch());
  EXPECT_TRUE(same(left, other));
}

TEST(QuantileSketch, FoldsOutliersAndKeepsItsMedian) {
  std::mt19937_64 random(4);
  QuantileSketch sketch;
  sketch.add(8.64e13);  // a process that slept for a day, before anything else
  for (int i = 0; i < 1000; ++i) {
    if (i % 100 == 0) sketch.add(i % 200 == 0 ? 0 : 1e18);
    sketch.add(50'000.0 * (0.95 + 0.0001 * static_cast<double>(random() % 1000)));
  }
  sketch.fold_tails();
  EXPECT_LE(sketch.counts().size(), QuantileSketch::kFewBuckets);
  EXPECT_EQ(sketch.count(), 1011U);
  EXPECT_NEAR(sketch.quantile(0.5) / 50'000, 1, 0.02);
  EXPECT_GT(sketch.quantile(1), 60'000);
}

TEST(QuantileSketch, FoldsNoSecondMode) {
  QuantileSketch sketch;
  sketch.add(10'000, 600);
  sketch.add(100'000, 400);
  sketch.add(1e9);
  sketch.fold_tails();
  EXPECT_EQ(sketch.counts().size(), 116U);
  EXPECT_NEAR(sketch.quantile(0.9) / 100'000, 1, 0.01);
  sketch.add(1e12, 300);
  sketch.fold_tails();
  EXPECT_EQ(sketch.counts().size(), QuantileSketch::kManyBuckets);
  EXPECT_EQ(sketch.count(), 1301U);
}

TEST(QuantileSketch, CountsDoNotOverflow) {
  QuantileSketch sketch;
  sketch.add(7.0, std::numeric_limits<std::uint32_t>::max());
  sketch.add(7.0);
  EXPECT_EQ(sketch.count(), std::numeric_limits<std::uint32_t>::max());
}

TEST(QuantileSketch, ComesBackFromItsBuckets) {
  const QuantileSketch sketch = sketch_of(1000, 0.05, 500, 1);
  EXPECT_TRUE(same(QuantileSketch::from(sketch.first_bucket(), sketch.counts()), sketch));
  const QuantileSketch trimmed = QuantileSketch::from(10, {0, 0, 3, 0, 4, 0});
  EXPECT_EQ(trimmed.first_bucket(), 12);
  EXPECT_THAT(trimmed.counts(), ElementsAre(3U, 0U, 4U));
  EXPECT_EQ(QuantileSketch::from(5, {0, 0}).count(), 0U);
  EXPECT_THROW(static_cast<void>(QuantileSketch::from(-400, {1})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(QuantileSketch::from(2070, {1, 1, 1, 1, 1})),
               std::invalid_argument);
}

}  // namespace
}  // namespace inline_prof::watch
