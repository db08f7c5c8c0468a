#include "schedule/iteration_follower.hpp"

#include "testing.hpp"

namespace inline_prof::schedule {
namespace {

// 'f' stands for a launch of `first`, 'a' for one of `anchor`, 'x' for one that is both.
// Answers: '.' nothing, 'S' starts, 'A' starts again, 'V' void, 'B' broken.  Blanks part
// iterations.
std::string follow(const FoundIteration& iteration, std::string_view launches,
                   bool* is_lost = nullptr) {
  IterationFollower follower(iteration);
  std::string answers;
  const auto answer = [&](Step step) { answers += ".SAVB"[static_cast<int>(step)]; };
  for (const char launch : launches) {
    if (launch == ' ') answers += launch;
    if (launch == 'f') answer(follower.on_first());
    if (launch == 'a') answer(follower.on_anchor());
    if (launch == 'x') {
      const Step step = follower.on_first();
      const Step at_anchor = follower.on_anchor();
      answer(at_anchor == Step::kBroken ? at_anchor : step);
    }
  }
  if (is_lost != nullptr) *is_lost = follower.is_lost();
  return answers;
}

constexpr FoundIteration kOneAndOne{.anchor = 1, .first = 2};

TEST(IterationFollower, StartsAtTheFirstLaunchBehindTheAnchor) {
  EXPECT_EQ(follow(kOneAndOne, "fafafa"), "..S.S.");
}

TEST(IterationFollower, CountsTheLaunchesOfFirst) {
  // An iteration is f f a f f: the third f behind an anchor begins the next one.
  const FoundIteration iteration{
      .anchor = 1, .first = 2, .firsts_after_anchor = 3, .firsts_before_anchor = 2};
  EXPECT_EQ(follow(iteration, "ffaff ffaff ffaff"), "..... S.... S....");
}

TEST(IterationFollower, StartsAgainBehindAnEvaluation) {
  // Two batches of forward passes, each with one `first`, between two iterations.
  EXPECT_EQ(follow(kOneAndOne, "fafa ff fafa"), "..S. SA A.S.");
}

TEST(IterationFollower, VoidsAnIterationThatHoldsTooMuch) {
  const FoundIteration iteration{.anchor = 1, .first = 2, .firsts_before_anchor = 2};
  EXPECT_EQ(follow(iteration, "ffa ffa ff ffa ffa"), "... S.. S. V.. S..");
}

TEST(IterationFollower, StartsBehindAnEvaluationWhoseLaunchesAreKnown) {
  const FoundIteration iteration{
      .anchor = 1, .first = 2, .firsts_before_anchor = 2, .firsts_of_evaluation = 4};
  EXPECT_EQ(follow(iteration, "ffa ffa ffff ffa ffa"), "... S.. S.V. S.. S..");
  const FoundIteration as_long{
      .anchor = 1, .first = 2, .firsts_before_anchor = 2, .firsts_of_evaluation = 2};
  EXPECT_EQ(follow(as_long, "ffa ff ffa ffa"), "... S. A.. S..");
}

TEST(IterationFollower, TakesOneKernelForBoth) {
  EXPECT_EQ(follow(kOneAndOne, "xxxx"), ".SSS");
}

TEST(IterationFollower, SaysWhereThePatternBreaks) {
  EXPECT_EQ(follow(kOneAndOne, "fafaafa"), "..S.BS.");
  const FoundIteration iteration{.anchor = 1, .first = 2, .firsts_before_anchor = 2};
  EXPECT_EQ(follow(iteration, "ffa ffa fa ffa"), "... S.. SB S..");
}

// An iteration launches f a a f: each of the two several times.  Four letters tell the place.
TEST(IterationFollower, ReadsTheWordOfAnIterationWithoutItsOwnKernel) {
  const FoundIteration iteration{.anchor = 1, .first = 2, .word = {true, false, false, true}};
  EXPECT_EQ(follow(iteration, "faaf faaf faaf"), ".... S... S...");
  EXPECT_EQ(follow(iteration, "af faaf fafaf faaf faaf"), ".. .... S.B.. .... S...");
}

// An optimizer's step of several launches of one kernel, behind any number of micro-steps.
TEST(IterationFollower, StartsBehindTheLastOfSeveralAnchors) {
  const FoundIteration iteration{.anchor = 1, .first = 2, .firsts_before_anchor = 0};
  EXPECT_EQ(follow(iteration, "afaaafffaaf"), ".S...S....S");
}

// Two micro-steps, an optimizer's step of several launches of one kernel, and sometimes an
// evaluation.
TEST(IterationFollower, TakesAGroupOfAnchorsForOne) {
  const FoundIteration iteration{
      .anchor = 1, .is_group = true, .first = 2, .firsts_before_anchor = 2};
  EXPECT_EQ(follow(iteration, "ffaaaffaaafffffaaaffaaa"), ".....S....S.V.....S....");
}

TEST(IterationFollower, IsLostAfterThreeBreaksInARow) {
  bool is_lost = true;
  EXPECT_EQ(follow(kOneAndOne, "faaafaaa", &is_lost), "..BBS.BB");
  EXPECT_FALSE(is_lost);
  follow(kOneAndOne, "faaaa", &is_lost);
  EXPECT_TRUE(is_lost);
}

}  // namespace
}  // namespace inline_prof::schedule
