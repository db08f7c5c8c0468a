// How often the iteration is found, how soon, and what the confidence is worth.
//
// The sequences of real_structures.hpp are halved by a hash of their names: thresholds of the
// finder may be chosen by the first half; the second is only for judging.  Each is shown to the
// finder up to its thirtieth iteration.  `iteration_judge_test` prints the table of all answers.
#include "iteration_judge.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace inline_prof::schedule {
namespace {

using test::Answer;
using test::Bin;
using test::Judgement;
using test::Verdict;

const std::vector<Judgement>& judgements() {
  static const std::vector<Judgement> all = [] {
    std::vector<Judgement> result;
    for (const auto& named : test::sequences())
      result.push_back(test::judge(named));
    test::print_table(result);
    return result;
  }();
  return all;
}

TEST(IterationJudge, FindsNineteenOfTwentyWithinThirtyIterations) {
  for (const bool for_judging : {false, true}) {
    const auto exact = count(judgements(), Verdict::kExact, for_judging);
    const auto wrong = count(judgements(), Verdict::kWrong, for_judging);
    const auto all = exact + count(judgements(), Verdict::kNoAnswer, for_judging) + wrong;
    std::printf("%s: %zu of %zu exact, %zu wrong\n", for_judging ? "judging" : "building", exact,
                all, wrong);
    EXPECT_GE(100 * exact, 95 * all);
  }
}

TEST(IterationJudge, ClaimsNothingWhereThereIsNone) {
  EXPECT_EQ(count(judgements(), Verdict::kRightlyNone), 12U);
}

// At least about the share of answers that their confidence says is right, and none above 0.9 is
// wrong.
TEST(IterationJudge, IsRightAsOftenAsItIsConfident) {
  for (const Judgement& one : judgements()) {
    for (const Answer& answer : one.answers)
      EXPECT_TRUE(answer.is_right || answer.confidence <= 0.9) << one.name;
  }
  for (const Bin& bin : test::calibration(judgements())) {
    if (bin.answers < 10) continue;
    const auto size = static_cast<double>(bin.answers);
    EXPECT_GE(static_cast<double>(bin.right) / size, bin.sum / size - 0.12);
  }
}

}  // namespace
}  // namespace inline_prof::schedule
