// How often the iteration of recorded programs is found, how soon, and what the confidence is
// worth.
//
// The recordings of tests/data/recordings are halved by a hash of their names: thresholds of the
// finder were chosen by the first half.  Each is shown to the finder up to its thirtieth iteration;
// `schedule_test --gtest_filter=Recordings.*` prints the table of all answers.
#include "iteration_judge.hpp"
#include "launch_recording.hpp"
#include "testing.hpp"

namespace inline_prof::schedule {
namespace {

using test::Answer;
using test::Judgement;
using test::Verdict;

const std::vector<Judgement>& recorded() {
  static const std::vector<Judgement> all = [] {
    std::vector<Judgement> result;
    for (const auto& named : test::recorded_sequences())
      result.push_back(test::judge(named));
    test::print_table(result);
    return result;
  }();
  return all;
}

TEST(Recordings, ShowTheirIterationWithinThirtyOfThem) {
  std::size_t all_exact = 0;
  std::size_t all_programs = 0;
  for (const bool for_judging : {false, true}) {
    const auto exact = count(recorded(), Verdict::kExact, for_judging);
    const auto wrong = count(recorded(), Verdict::kWrong, for_judging);
    const auto all = exact + count(recorded(), Verdict::kNoAnswer, for_judging) + wrong;
    std::printf("%s: %zu of %zu exact, %zu wrong\n", for_judging ? "judging" : "building", exact,
                all, wrong);
    EXPECT_GE(100 * exact, 90 * all);
    all_exact += exact;
    all_programs += all;
  }
  EXPECT_GE(100 * all_exact, 95 * all_programs);
}

TEST(Recordings, ShowNoneWhereThereIsNone) {
  for (const Judgement& one : recorded()) {
    if (one.name.starts_with("none_")) {
      EXPECT_EQ(one.verdict, Verdict::kRightlyNone) << one.name;
    }
  }
}

// About the share of answers that their confidence says is right; none above 0.9 is wrong, and none
// above 0.5 after thirty iterations.
TEST(Recordings, AreAnsweredAsRightlyAsConfidently) {
  for (const Judgement& one : recorded()) {
    EXPECT_TRUE(one.verdict != Verdict::kWrong || one.confidence <= 0.5) << one.name;
    for (const Answer& answer : one.answers)
      EXPECT_TRUE(answer.is_right || answer.confidence <= 0.9) << one.name;
  }
  for (const test::Bin& bin : test::calibration(recorded())) {
    if (bin.answers < 10) continue;
    const auto size = static_cast<double>(bin.answers);
    EXPECT_GE(static_cast<double>(bin.right) / size, bin.sum / size - 0.12);
  }
}

// Sets of programs that the search had not seen; tests/data/recordings/README.md says what it
// answered then.  These are the figures of today.
struct FreshSet {
  const char* folder;
  std::size_t programs;  // that have an iteration
  std::size_t exact;
  std::size_t wrong;
};

void PrintTo(const FreshSet& set, std::ostream* out) {
  *out << set.folder;
}

class FreshRecordings : public TestWithParam<FreshSet> {};
INSTANTIATE_TEST_SUITE_P(Recordings, FreshRecordings,
                         Values(FreshSet{"fresh_1", 20, 18, 0}, FreshSet{"fresh_2", 26, 23, 0},
                                FreshSet{"fresh_3", 30, 22, 5}, FreshSet{"fresh_4", 45, 37, 5},
                                FreshSet{"fresh_5", 39, 31, 0}, FreshSet{"frameworks", 31, 31, 0},
                                FreshSet{"frameworks_judged", 9, 9, 0}),
                         [](const auto& set) { return std::string(set.param.folder); });

TEST_P(FreshRecordings, ShowAsManyIterationsAsTheyDid) {
  std::vector<Judgement> all;
  for (const auto& named : test::recorded_sequences(GetParam().folder))
    all.push_back(test::judge(named));
  test::print_table(all);
  const std::size_t exact = count(all, Verdict::kExact);
  const std::size_t wrong = count(all, Verdict::kWrong);
  const std::size_t programs = exact + wrong + count(all, Verdict::kNoAnswer);
  std::printf("%s: %zu of %zu exact, %zu wrong\n", GetParam().folder, exact, programs, wrong);
  test::calibration(all);
  EXPECT_EQ(programs, GetParam().programs);
  EXPECT_GE(exact, GetParam().exact);
  EXPECT_LE(wrong, GetParam().wrong);
  for (const Judgement& one : all) {
    EXPECT_TRUE(one.true_length != 0 || one.verdict == Verdict::kRightlyNone) << one.name;
    for (const Answer& answer : one.answers)
      EXPECT_TRUE(answer.is_right || answer.confidence <= 0.9) << one.name;
  }
}

}  // namespace
}  // namespace inline_prof::schedule
