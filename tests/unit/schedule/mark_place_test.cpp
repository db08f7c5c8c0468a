#include "schedule/iteration_follower.hpp"
#include "testing.hpp"

namespace inline_prof::schedule {
namespace {

std::optional<MarkPlace> place_of(std::string_view iteration) {
  return find_mark_place(std::vector<std::uint32_t>(iteration.begin(), iteration.end()));
}

// Returns the two kernels and the launches of the first; "none" without a place.
std::string words_of(std::string_view iteration) {
  const auto place = place_of(iteration);
  if (!place) return "none";
  return {static_cast<char>(place->before), static_cast<char>(place->behind), ' ',
          static_cast<char>('0' + place->befores)};
}

// Answers to launches as they follow a call: '.' nothing, 'S' starts, 'B' broken; a call '|' is
// answered by whether it is in its place, and begins an iteration.
std::string follow(std::string_view iteration, std::string_view launches) {
  const auto place = place_of(iteration);
  if (!place) return "none";
  MarkFollower follower(*place);
  std::string answers;
  for (const char launch : launches) {
    if (launch == '|') {
      answers += follower.is_at_mark() ? '+' : '-';
      follower.begin_at_call();
      continue;
    }
    MarkFollower::Step step = MarkFollower::Step::kNothing;
    if (static_cast<std::uint32_t>(launch) == place->before) step = follower.on_before();
    if (static_cast<std::uint32_t>(launch) == place->behind) step = follower.on_behind();
    answers += ".SB"[static_cast<int>(step)];
  }
  return answers;
}

TEST(MarkPlace, LiesBetweenTheLastAndTheFirstLaunch) {
  EXPECT_EQ(words_of("abco"), "oa 1");
  EXPECT_EQ(words_of("abcoo"), "oa 2");
}

TEST(MarkPlace, MayLieBetweenKernelsOfSeveralLaunches) {
  EXPECT_EQ(words_of("aabacoo"), "oa 2");
  // The last kernel is launched elsewhere, too, and the one before it is not.
  EXPECT_EQ(words_of("abacpb"), "pa 1");
}

TEST(MarkPlace, IsNotToldByOneKernelOrByOnesThatAlternate) {
  EXPECT_EQ(words_of("aaaa"), "none");
  EXPECT_EQ(words_of("abab"), "none");
  EXPECT_EQ(words_of("abaoba"), "none");
  EXPECT_EQ(words_of(""), "none");
}

TEST(MarkPlace, StartsTheNextIterationsWithoutCalls) {
  EXPECT_EQ(follow("abcoo", "abcooabcooabcoo"), ".....S....S....");
}

TEST(MarkPlace, IsLeftByLaunchesThatAreNoPartOfTheIteration) {
  // An evaluation launches what an iteration begins with, and not the optimizer's kernels.
  EXPECT_EQ(follow("abcoo", "abcooabcabcabcooabc"), ".....S..........S..");
}

TEST(MarkPlace, IsBrokenByMoreOrFewerLaunchesBeforeIt) {
  EXPECT_EQ(follow("abcoo", "abcoab"), "....B.");
  EXPECT_EQ(follow("abcoo", "abcooo"), ".....B");
  EXPECT_EQ(follow("abcoo", "xbcooxbcoo"), "........BB");
}

TEST(MarkPlace, IsConfirmedByCalls) {
  EXPECT_EQ(follow("abcoo", "abcoo|abcoo|abco|abcoo|"), ".....+.....+....-.....+");
  EXPECT_EQ(follow("abcoo", "abcoabcoo|abcoo|"), "....B....-.....+");
}

}  // namespace
}  // namespace inline_prof::schedule
