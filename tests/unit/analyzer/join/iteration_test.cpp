// The report, gates, comparisons and the dataset speak of one time of an iteration.
#include "base/two_threads.hpp"
#include "export/dataset.hpp"
#include "join/compare/compare.hpp"
#include "join/join.hpp"
#include "join/rows/row.hpp"
#include "profile_builder.hpp"
#include "report/tables.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

// Two ranks: 9 iterations of 1 ms, and 31 of 2 ms.  The mean of their medians is 1.5 ms, the median
// of all iterations 2 ms.
std::vector<read::Profile> two_ranks() {
  std::vector<read::Profile> ranks;
  for (const double ms : {1.0, 2.0}) {
    read::Profile& rank =
        ranks.emplace_back(profile_of({EventBuilder("a", 0, 1).samples_us({100, 101, 102})}, 1000));
    rank.iter_time_ms.assign(ms > 1 ? 31 : 9, ms);
  }
  return ranks;
}

// The cell of the first row of a table, as the csv has it.
std::string cell(const exports::Table& table, std::string_view column) {
  std::string csv;
  table.append_csv(csv);
  std::istringstream lines(csv);
  std::string names;
  std::string values;
  std::getline(lines, names);
  std::getline(lines, values);
  std::istringstream all_names(names);
  std::istringstream all_values(values);
  std::string value;
  for (std::string name; std::getline(all_names, name, ',') && name != column;)
    std::getline(all_values, value, ',');
  std::getline(all_values, value, ',');
  return value;
}

TEST(Iteration, IsOneTimeForReportGateAndComparison) {
  const Analysis analysis = join_profiles(two_ranks(), {}, {});
  ASSERT_TRUE(analysis.iteration.us);
  EXPECT_NEAR(*analysis.iteration.us, 1500, 1e-9);
  EXPECT_THAT(report::head(analysis, 200), HasSubstr("iteration   1.500 ms"));
  const GateOutcome gate = check_gate(parse_gate("iteration_ms<1.6"), analysis);
  EXPECT_EQ(gate.result, GateResult::kPassed);
  EXPECT_THAT(gate.detail, HasSubstr("1.5"));
  const Comparison comparison = compare_runs(analysis, analysis, {});
  ASSERT_TRUE(comparison.iteration);
  EXPECT_DOUBLE_EQ(comparison.iteration->before_us.value, *analysis.iteration.us);
  EXPECT_DOUBLE_EQ(comparison.iteration->after_us.ci95->upper, analysis.iteration.ci95_us->upper);
}

TEST(Iteration, OfEachFileIsTheDatasetsToo) {
  const Analysis both = join_profiles(two_ranks(), {}, {});
  std::vector<read::Profile> ranks = two_ranks();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    exports::DatasetPhase phase;
    JoinOptions options;
    options.keep_events = true;
    phase.analysis = join_profiles({ranks[i]}, {}, options);
    phase.places = {0};
    for (const exports::Table& table : exports::dataset_of({phase})) {
      if (table.facts().name != "run") continue;
      EXPECT_DOUBLE_EQ(std::stod(cell(table, "iteration_us")), *both.runs[i].iteration.us);
    }
  }
}

TEST(Iteration, OfNoTimeIsNotKnown) {
  EXPECT_FALSE(iteration_of({}).us);
  EXPECT_FALSE(iteration_of(std::vector<double>{0, 0, 0}).us) << "nothing is a share of it";
  EXPECT_FALSE(mean_iteration({{.us = 1.0, .ci95_us = {}}, {}}).us);
}

TEST(TwoThreads, ResultsComeInTheirOrder) {
  std::vector<std::size_t> taken;
  base::in_two_threads(
      200,
      [](std::size_t i) {
        // The first is the last to be ready.
        if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return std::make_unique<std::size_t>(i);
      },
      [&](std::size_t i, std::unique_ptr<std::size_t> result) {
        EXPECT_EQ(*result, i);
        taken.push_back(i);
      });
  std::vector<std::size_t> expected(200);
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(taken, expected);
}

TEST(TwoThreads, TheFirstFailureIsThrownWhicheverThreadIsQuicker) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    std::string said;
    try {
      base::in_two_threads(
          100,
          [](std::size_t i) {
            if (i == 6) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (i >= 6) throw std::runtime_error(std::to_string(i));
            return i;
          },
          [](std::size_t, std::size_t) {});
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    EXPECT_EQ(said, "6");
  }
}

TEST(TwoThreads, NothingIsNothing) {
  base::in_two_threads(
      0, [](std::size_t i) { return i; }, [](std::size_t, std::size_t) { FAIL(); });
}

TEST(SharedText, IsTheSameTextOnce) {
  const SharedText a = "fc1";
  const SharedText b = std::string("fc") + "1";
  EXPECT_EQ(&a.str(), &b.str());
  EXPECT_TRUE(a == b);
  EXPECT_TRUE(a == "fc1");
  EXPECT_FALSE(a == SharedText("fc2"));
  EXPECT_TRUE(SharedText().empty());
  EXPECT_EQ(fmt::format("{:>5}", a), "  fc1");
}

}  // namespace
}  // namespace inline_prof::join
