#include "watch/history.hpp"

#include "testing.hpp"

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

}  // namespace
}  // namespace inline_prof::watch
