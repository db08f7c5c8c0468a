// Which rank the others wait for, of works that are known by hand.
#include "join/diagnose/idle.hpp"
#include "join/join.hpp"
#include "join/rollups.hpp"
#include "profile_builder.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

// Two ranks whose iterations take 1000 us.
class Ranks {
 public:
  Ranks() {
    for (const std::int64_t rank : {0, 1}) {
      Run& run = analysis_.runs.emplace_back();
      run.iteration.us = 1000;
      run.profile.rank = rank;
      run.profile.host_name = "node";
    }
    analysis_.shares_us = Shares{};
    analysis_.iteration.us = 1000;
  }

  Row& add(std::size_t rank, std::int64_t stream, double start_us, double length_us,
           const std::string& meeting = "") {
    Row& row = analysis_.rows.emplace_back();
    row.profile = rank;
    row.stream_index = stream;
    row.start_index = static_cast<std::int64_t>(2 * analysis_.rows.size());
    row.end_index = row.start_index + 1;
    row.offset_us = start_us;
    row.corrected_us = row.in_iteration_us = length_us;
    row.meeting = meeting;
    return row;
  }

  Analysis& found() {
    analysis_.rows = with_waits(std::move(analysis_.rows));
    analysis_.rank_waits =
        rank_waits(analysis_.rows, placement_of(analysis_.runs, analysis_.rows), analysis_);
    return analysis_;
  }

 private:
  Analysis analysis_;
};

TEST(RankWaits, AreForTheOneThatComesLast) {
  Ranks ranks;
  ranks.add(0, 0, 0, 300);
  ranks.add(0, 1, 200, 500, "comm 0");  // 100 us of the transfer, 400 of waiting
  ranks.add(1, 0, 0, 600);
  ranks.add(1, 1, 600, 100, "comm 0");
  const Analysis& analysis = ranks.found();
  ASSERT_EQ(analysis.rank_waits.size(), 1U);
  const RankWait& wait = analysis.rank_waits.front();
  EXPECT_EQ(wait.profile, 0U);
  EXPECT_EQ(wait.for_profile, 1U);
  EXPECT_NEAR(wait.us, 400, 1e-9);
  EXPECT_NEAR(wait.exposed_us, 300, 1e-9) << "100 us of it the other stream works";
  const auto last = last_devices(analysis.rank_waits, analysis.runs);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_NEAR(last.front().percent, 40, 1e-9);
  EXPECT_NEAR(last.front().exposed_percent, 30, 1e-9);
  EXPECT_EQ(name_of(last.front(), analysis.runs), "rank 1 (node, device 0)");
  const auto causes = find_causes(analysis);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes.front().where, "for rank 1 (node, device 0)");
  EXPECT_NEAR(causes.front().gain_us, 300, 1e-9);
}

TEST(RankWaits, AreNotKnownOfWhatDoesNotMeet) {
  Ranks ranks;
  ranks.add(0, 1, 200, 500, "comm 0");
  ranks.add(1, 1, 600, 100, "comm 1");
  ranks.add(0, 0, 700, 10, "comm 2").corrected_us.reset();
  ranks.add(1, 0, 700, 100, "comm 2");
  EXPECT_TRUE(ranks.found().rank_waits.empty());
}

TEST(RankWaits, AreNotKnownWhereANameStandsForTwoCollectives) {
  Ranks ranks;
  ranks.add(0, 1, 200, 500, "comm 0");
  ranks.add(0, 1, 800, 50, "comm 0");
  ranks.add(1, 1, 600, 100, "comm 0");
  EXPECT_TRUE(ranks.found().rank_waits.empty());
}

read::Profile rank_with(std::size_t samples, double all_reduce_us) {
  const read::Op op{.kind = "collective",
                    .source = "test",
                    .attributes = {{"op", std::string("all_reduce")},
                                   {"type", std::string("f16")},
                                   {"bytes", std::int64_t{1} << 25},
                                   {"ranks", std::int64_t{2}},
                                   {"comm", std::string("c")},
                                   {"sequence", std::int64_t{0}}}};
  return profile_of({EventBuilder("all_reduce", 0, 1)
                         .samples_us(std::vector<double>(samples, all_reduce_us))
                         .op(op)},
                    1000);
}

TEST(RankWaits, AreNoPartOfWhatAPredictionIsHeldAgainst) {
  JoinOptions options;
  options.machine = builtin_machine("h200-sxm-141gb");
  options.event_bias.kind = BiasSetting::Kind::kOff;
  std::vector<read::Profile> profiles;
  profiles.push_back(rank_with(7, 900));
  profiles.push_back(rank_with(5, 100));
  const Analysis analysis = join_profiles(std::move(profiles), {}, options);
  ASSERT_EQ(analysis.rows.size(), 2U);
  const double ratio = 100 / analysis.rows[0].predicted_us.value();
  EXPECT_NEAR(analysis.rows[0].waited_us.value(), 800, 1e-4);
  EXPECT_NEAR(analysis.rows[0].ratio.value(), ratio, 1e-6);
  EXPECT_NEAR(analysis.rows[1].waited_us.value(), 0, 1e-4);
  EXPECT_NEAR(analysis.rows[1].ratio.value(), ratio, 1e-6);
  ASSERT_EQ(analysis.merged.size(), 1U);
  EXPECT_NEAR(analysis.merged[0].waited_us.value(), 800, 1e-4) << "the median of all is 900";
  EXPECT_NEAR(analysis.merged[0].ratio.value(), ratio, 1e-6);
  EXPECT_NEAR(analysis.errors.value().median_ratio, ratio, 1e-6);
  const auto sums = layer_sums(analysis);
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_NEAR(sums[0].time_us.value(), 500, 1e-4) << "mean over devices";
  EXPECT_NEAR(sums[0].compared_us.value(), 100, 1e-4);
  EXPECT_NEAR(sums[0].ratio.value(), ratio, 1e-6);
  // The whole row would be slower by 800 us: no rank can gain more than the transfer takes.
  EXPECT_LT(analysis.merged[0].saved_us_if_predicted.value_or(0.0), 100);
}

}  // namespace
}  // namespace inline_prof::join
