#include "session/control.hpp"
#include "session/watch_budget.hpp"
#include "temporary_folder.hpp"
#include "testing.hpp"

#include <unistd.h>

namespace inline_prof::session {
namespace {

constexpr double kShare = 0.0002;
constexpr int kSecondsOfHour = 3600;

// Spends whenever it may, up to `pairs` a second, each of which takes `thread_ns`; sleeps where
// `sleeps` says so, and returns the nanoseconds that were spent in each second.
template <typename Sleeps>
std::vector<std::int64_t> spent_by_second(WatchBudget& budget, int seconds, int pairs,
                                          std::int64_t thread_ns, const Sleeps& sleeps) {
  std::vector<std::int64_t> spent;
  for (int second = 0; second < seconds; ++second) {
    const std::int64_t before = budget.spent_ns();
    budget.save(1);
    for (int i = 0; i < pairs && !sleeps(second) && !budget.is_exhausted(); ++i) {
      budget.spend_pair();
      budget.spend_for_pairs(thread_ns);
    }
    spent.push_back(budget.spent_ns() - before);
  }
  return spent;
}

std::int64_t most_of_an_hour(const std::vector<std::int64_t>& spent) {
  std::int64_t hour = 0;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < spent.size(); ++i) {
    hour += spent[i];
    if (i >= kSecondsOfHour) hour -= spent[i - kSecondsOfHour];
    most = std::max(most, hour);
  }
  return most;
}

struct Case {
  int pairs = 0;  // that would be measured in a second
  std::int64_t thread_ns = 0;
  double gpu_ns = 0;
};

class WatchBudgetOfAMonth : public TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Pairs, WatchBudgetOfAMonth,
                         Values(Case{1000, 7'000, 8'000}, Case{1000, 20'000, 8'000},
                                Case{5, 2'000'000, 8'000}, Case{3, 5'000, 8'000}));

TEST_P(WatchBudgetOfAMonth, StaysWithinTheShareInEveryHour) {
  WatchBudget budget;
  budget.set(kShare, GetParam().gpu_ns);
  constexpr int month = 30 * 24 * kSecondsOfHour;
  // Each day the program sleeps for three hours.
  const auto spent = spent_by_second(budget, month, GetParam().pairs, GetParam().thread_ns,
                                     [](int second) { return second % 86'400 < 10'800; });
  const double allowed_ns = kShare * kSecondsOfHour * 1e9;
  EXPECT_LE(static_cast<double>(most_of_an_hour(spent)),
            allowed_ns + static_cast<double>(GetParam().thread_ns));
  // And it is used, where there is enough to measure.
  const double wanted_ns = static_cast<double>(GetParam().pairs) * kSecondsOfHour *
                           std::max(static_cast<double>(GetParam().thread_ns), GetParam().gpu_ns);
  EXPECT_GT(static_cast<double>(most_of_an_hour(spent)), 0.95 * std::min(allowed_ns, wanted_ns));
}

TEST(WatchBudget, TakesTheLargerOneOfGpuAndThreadForThePriceOfAPair) {
  WatchBudget budget;
  budget.set(kShare, 8'000);
  EXPECT_GT(budget.pair_ns(), 8'000);  // assumed, until the clock has shown it
  for (int i = 0; i < 100; ++i) {
    budget.spend_pair();
    budget.spend_for_pairs(3'000);
  }
  EXPECT_EQ(budget.pair_ns(), 8'000);
  for (int i = 0; i < 100; ++i) {
    budget.spend_pair();
    budget.spend_for_pairs(23'000);
  }
  EXPECT_EQ(budget.pair_ns(), 13'000);
  budget.spend_beside(1'000'000);  // is no part of a pair's
  EXPECT_EQ(budget.pair_ns(), 13'000);
  EXPECT_EQ(budget.spent_beside_ns(), 1'000'000);
  EXPECT_EQ(budget.spent_ns(), 100 * 3'000 + 100 * 23'000 + 1'000'000);
}

class AChangeCommand : public test::TemporaryFolder {
 protected:
  // Tells the command of a change of `name` and waits for the file's `lines`.
  std::vector<std::string> told(const std::string& name, double now_s, std::size_t lines) {
    const record::FoundChange change{.change = {.ratio = 1.25}};
    EXPECT_EQ(
        command_.tell({.change = change, .name = name, .text = "", .rank = "", .file = ""}, now_s),
        "");
    std::vector<std::string> found;
    for (int waited = 0; waited < 10'000 && found.size() < lines; ++waited) {
      usleep(1000);
      found.clear();
      std::ifstream stream(path("told"));
      for (std::string line; std::getline(stream, line);)
        found.push_back(line);
    }
    usleep(20'000);  // it may have just printed its line
    return found;
  }

  ChangeCommand command_{"echo $CHANGE_NAME $CHANGE_RATIO $CHANGE_LEFT_OUT >> " + path("told")};
};

TEST_F(AChangeCommand, RunsOnceAMinuteAtMost) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(told("a", 100, 1), (Lines{"a 1.25 0"}));
  EXPECT_EQ(told("b", 130, 1), (Lines{"a 1.25 0"}));
  EXPECT_EQ(told("c", 159, 1), (Lines{"a 1.25 0"}));
  EXPECT_EQ(told("d", 160, 2), (Lines{"a 1.25 0", "d 1.25 2"}));
  EXPECT_EQ(told("e", 300, 3), (Lines{"a 1.25 0", "d 1.25 2", "e 1.25 0"}));
}

TEST_F(AChangeCommand, IsNotStartedTwiceAtATime) {
  const std::string end = path("end");
  ChangeCommand slow("echo x >> " + path("told") + "; until test -e " + end +
                     "; do sleep 0.01; done");
  const record::FoundChange change{};
  for (const double now_s : {0., 1000., 2000.})
    EXPECT_EQ(slow.tell({.change = change, .name = "", .text = "", .rank = "", .file = ""}, now_s),
              "");
  std::ofstream{end};
  usleep(100'000);
  std::ifstream stream(path("told"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "x\n");
}

}  // namespace
}  // namespace inline_prof::session
