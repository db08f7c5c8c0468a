// Which rank the others wait for, of works that are known by hand.
#include "join/rank_waits.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace inline_prof::join {
namespace {

// Two ranks whose iterations take 1000 us.
class Ranks {
 public:
  Ranks() {
    for (const std::int64_t rank : {0, 1}) {
      Run& run = analysis_.runs.emplace_back();
      run.iteration_us = 1000;
      run.profile.rank = rank;
      run.profile.host_name = "node";
    }
    analysis_.shares_us = Shares{};
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
    find_rank_waits(analysis_);
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
  const auto last = last_devices(analysis);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_NEAR(last.front().percent, 40, 1e-9);
  EXPECT_NEAR(last.front().exposed_percent, 30, 1e-9);
  EXPECT_EQ(name_of(last.front(), analysis), "rank 1 (node, device 0)");
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

}  // namespace
}  // namespace inline_prof::join
