// Stages of a pipeline, told by which ranks share the communicators of their sends.
#include "join/ranks/ranks.hpp"
#include "profile_builder.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

read::Op sent(const std::string& name, const std::string& communicator) {
  read::Op op;
  op.kind = "collective";
  op.attributes = {{"op", name}, {"bytes", std::int64_t{1 << 20}}, {"comm", communicator}};
  return op;
}

// A rank that computes for 100 us and waits for its neighbour, in an iteration of 200 us.
RankSummary stage_rank(std::int64_t rank, const std::string& kernel, const std::string& call,
                       const std::string& communicator) {
  read::Profile profile =
      profile_of({EventBuilder(kernel, 0, 1).samples_us({100}),
                  EventBuilder(call, 2, 3).samples_us({60}).op(sent(call, communicator))},
                 200);
  profile.file = "rank" + std::to_string(rank);
  profile.rank = rank;
  profile.world_size = 4;
  return summarise_rank(profile, [](const read::Op&, const read::Device*) { return 10.0; });
}

TEST(RankStages, AreToldByTheCommunicatorsOfSends) {
  const RankComparison comparison = compare_ranks(
      {stage_rank(3, "head", "recv", "0xb"), stage_rank(0, "embedding", "send", "0xa"),
       stage_rank(1, "embedding", "send", "0xb"), stage_rank(2, "head", "recv", "0xa")},
      {});
  ASSERT_EQ(comparison.stages.size(), 2U);
  EXPECT_THAT(comparison.stages[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(comparison.stages[1].ranks, ElementsAre(2, 3));
  const StageTimes& first = comparison.stages[0].times;
  EXPECT_NEAR(first.iteration_us.value(), 200, 1e-9);
  EXPECT_NEAR(first.computing_us, 100, 1e-9);
  EXPECT_NEAR(first.sends_us, 60, 1e-9);
  EXPECT_EQ(first.receives_us, 0);
  EXPECT_NEAR(first.predicted_us.value(), 10, 1e-9);
  EXPECT_NEAR(comparison.stages[1].times.receives_us, 60, 1e-9);
  EXPECT_EQ(first.unmeasured_part, 0);
  EXPECT_TRUE(comparison.warnings.empty());
  EXPECT_TRUE(comparison.unsplit.empty()) << "a send is no collective";
}

TEST(RankStages, ARankOfAStageThatRunsSomethingElseIsRefused) {
  const std::vector<RankSummary> ranks{
      stage_rank(0, "embedding", "send", "0xa"), stage_rank(1, "other", "send", "0xb"),
      stage_rank(2, "head", "recv", "0xa"), stage_rank(3, "head", "recv", "0xb")};
  EXPECT_THROW(static_cast<void>(compare_ranks(ranks, {})), std::invalid_argument);
}

TEST(RankStages, SayHowMuchOfThemHasNoSample) {
  read::Profile profile =
      profile_of({EventBuilder("kernel", 0, 1).samples_us({100}), EventBuilder("other", 2, 3),
                  EventBuilder("send", 4, 5).op(sent("send", "0xa"))},
                 200);
  const RankSummary rank =
      summarise_rank(profile, [](const read::Op&, const read::Device*) { return 10.0; });
  ASSERT_TRUE(rank.stage);
  EXPECT_NEAR(rank.stage->unmeasured_part, 2.0 / 3, 1e-9);
}

// As in attention whose keys go around a ring.
TEST(RankStages, ThereAreNoneWhereAllRanksRunTheSame) {
  const RankComparison comparison = compare_ranks(
      {stage_rank(0, "same", "send", "0xa"), stage_rank(1, "same", "send", "0xa")}, {});
  EXPECT_TRUE(comparison.stages.empty());
}

}  // namespace
}  // namespace inline_prof::join
