#include "model/calibrated/collective/collective_analytic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace inline_prof::model {
namespace {

TEST(CollectiveAnalytic, BandwidthGrowsTowardsALimit) {
  std::vector<double> values;
  for (const ParameterSpec& spec : CollectiveAnalytic::parameters(false))
    values.push_back(spec.name == "growth2" ? 2.0 : spec.start);
  const CollectiveAnalytic model(CollectiveKind::kAllGather, false, values);
  // A transfer alone; (n-1)/n of the data move.  300 GB/s on 4 GPUs, where growth is 1.
  const double bytes = 1e12;
  const auto gb_per_s = [&](double ranks) {
    const CollectiveTime time = model.predict(bytes, ranks);
    EXPECT_EQ(time.piece, 2U);
    return bytes * (ranks - 1) / ranks / 1e3 / time.transfer_us;
  };
  EXPECT_NEAR(gb_per_s(4), 300, 1e-6);
  EXPECT_NEAR(gb_per_s(8) / gb_per_s(2), 2, 1e-9);
  EXPECT_GT(gb_per_s(16), gb_per_s(8));
  EXPECT_NEAR(gb_per_s(1e6) / gb_per_s(5e5), 1, 1e-5);
}

TEST(CollectiveAnalytic, ASwitchThatAddsWinsTheMoreTheRanks) {
  std::vector<double> values;
  for (const ParameterSpec& spec : CollectiveAnalytic::parameters(true))
    values.push_back(spec.start);  // 300 GB/s around the ring as to the switch
  const CollectiveAnalytic model(CollectiveKind::kAllReduce, true, values);
  const double bytes = 1e12;
  const auto times_of_a_copy = [&](double ranks) {
    return model.predict(bytes, ranks).transfer_us * 300e3 / bytes;
  };
  EXPECT_NEAR(times_of_a_copy(2), 1.0, 0.01) << "around the ring; the switch takes 1 + 1/2";
  EXPECT_NEAR(times_of_a_copy(4), 1.25, 0.01) << "1 + 1/4; the ring takes 2 * 3/4";
  EXPECT_NEAR(times_of_a_copy(8), 1.125, 0.01);
  EXPECT_TRUE(can_switch_add(CollectiveKind::kAllReduce, "f16"));
  EXPECT_FALSE(can_switch_add(CollectiveKind::kAllReduce, "i8"));
  EXPECT_FALSE(can_switch_add(CollectiveKind::kAllGather, "f16"));
}

TEST(CollectiveAnalytic, KnowsItsNamesInAnySpelling) {
  EXPECT_EQ(collective_kind("all-reduce"), CollectiveKind::kAllReduce);
  EXPECT_EQ(collective_kind("AllToAll"), CollectiveKind::kAllToAll);
  EXPECT_FALSE(collective_kind("all"));
}

}  // namespace
}  // namespace inline_prof::model
