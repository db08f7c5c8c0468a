#include "model/calibrated/collective_analytic.hpp"
#include "model/calibrated/conformal.hpp"
#include "model/calibrated/embedding.hpp"
#include "model/calibrated/gemm_analytic.hpp"
#include "model/calibrated/gemm_kernel.hpp"
#include "model/calibrated/index_distribution.hpp"
#include "model/calibrated/local_scale.hpp"
#include "model/calibrated/matern_process.hpp"
#include "model/machines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <numeric>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

namespace inline_prof::model {
namespace {

read::Machine h200() {
  return choose_machine("h200-sxm-141gb", builtin_machines());
}

GemmAnalytic start_model(const read::Machine& machine) {
  const auto types = *gemm_types("bf16");
  std::vector<double> values;
  for (const ParameterSpec& spec : GemmAnalytic::parameters(false))
    values.push_back(spec.name == "l2_tb_per_s" ? 40 : spec.start);  // never what bounds
  return {gemm_machine(machine, types), types, false, values};
}

TEST(GemmAnalytic, IsNeverFasterThanPeakOrBandwidth) {
  const read::Machine machine = h200();
  const GemmAnalytic model = start_model(machine);
  for (const double m : {1.0, 64.0, 129.0, 4096.0, 65536.0}) {
    for (const double n : {8.0, 1000.0, 8192.0}) {
      for (const double k : {16.0, 777.0, 16384.0}) {
        const GemmTime time = model.predict({m, n, k, 1});
        EXPECT_GT(time.time_us, 2 * m * n * k / (machine.peak_tflops.at("bf16") * 1e6));
        EXPECT_TRUE(std::isfinite(time.time_us));
      }
    }
  }
}

TEST(GemmAnalytic, NamesWhatBoundsAProduct) {
  const GemmAnalytic model = start_model(h200());
  EXPECT_EQ(model.predict({8192, 8192, 8192, 1}).bound, "compute");
  EXPECT_EQ(model.predict({1, 65536, 8192, 1}).bound, "memory");
  EXPECT_EQ(model.predict({16, 16, 16, 1}).bound, "launch");
}

TEST(GemmAnalytic, OneMoreRowThanATileCostsAtLeastAsMuch) {
  const GemmAnalytic model = start_model(h200());
  for (const double m : {64.0, 128.0, 256.0, 1024.0})
    EXPECT_LE(model.predict({m, 4096, 4096, 1}).time_us,
              model.predict({m + 1, 4096, 4096, 1}).time_us);
}

TEST(GemmAnalytic, AKnownKernelIsOneOfThoseItChoosesFrom) {
  const GemmAnalytic model = start_model(h200());
  for (const double m : {33.0, 500.0, 4096.0}) {
    const GemmShape shape{m, 1536, 2048, 1};
    const GemmTime fastest = model.predict(shape);
    const GemmKernel own{static_cast<double>(fastest.tile_m), static_cast<double>(fastest.tile_n),
                         static_cast<double>(fastest.splits)};
    EXPECT_DOUBLE_EQ(model.predict(shape, own).time_us, fastest.time_us);
    EXPECT_GE(model.predict(shape, {256, 128, 1}).time_us, fastest.time_us);
  }
}

TEST(GemmAnalytic, GivesTheSameWithTheChoiceThatItHasMade) {
  const auto machines = builtin_machines();
  for (const char* id : {"h200-sxm-141gb", "a100-sxm4-80gb"}) {
    const GemmAnalytic model = start_model(choose_machine(id, machines));
    for (const GemmShape& shape : {GemmShape{1, 4096, 4096}, GemmShape{129, 7168, 512},
                                   GemmShape{4096, 51200, 64}, GemmShape{64, 128, 65536}}) {
      const GemmTime best = model.predict(shape);
      EXPECT_DOUBLE_EQ(model.predict_as(shape, best).time_us, best.time_us) << id << shape.m;
    }
  }
}

TEST(GemmAnalytic, SplitsADeepProductOfOneTileFurtherThanSixteenTimes) {
  EXPECT_GT(start_model(h200()).predict({64, 128, 65536, 1}).splits, 16);
}

// A tile's side is any multiple of 8, so 129 rows fit into 136, and 257 into twice 136.
TEST(GemmAnalytic, AnExtraRowCostsLessThanAWiderTile) {
  const GemmAnalytic model = start_model(h200());
  for (const double m : {129.0, 257.0}) {
    const GemmTime best = model.predict({m, 16384, 4096, 1});
    EXPECT_LT(best.time_us, 1.1 * model.predict({m - 1, 16384, 4096, 1}).time_us) << m;
    for (const double side : {128., 160., 192., 256.})
      EXPECT_LT(best.time_us, model.predict({m, 16384, 4096, 1}, {side, 128, 1}).time_us) << m;
  }
}

TEST(GemmAnalytic, LongProductsRunAtALowerClock) {
  const GemmAnalytic model = start_model(h200());
  const GemmShape burst{8192, 8192, 8192, 1}, lasting{8192, 8192, 819200, 1};
  EXPECT_GT(model.predict(lasting).time_us, 105 * model.predict(burst).time_us);
}

TEST(GemmKernel, ReadsTheTileThatTheBlocksBearOut) {
  // 438 columns in tiles of 32: 14; 84 rows: 3.
  const GemmShape shape{84, 438, 190, 1};
  const auto small = gemm_kernel("ampere_sgemm_32x32_sliced1x4_tn", shape, 42);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->tile_m, 32);
  EXPECT_EQ(small->tile_n, 32);
  EXPECT_EQ(small->splits, 1);
  // The first number is along the columns: 4 x 2 blocks; three times as many split k.
  const auto split = gemm_kernel("ampere_sgemm_128x64_tn", shape, 24);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->tile_m, 64);
  EXPECT_EQ(split->tile_n, 128);
  EXPECT_EQ(split->splits, 3);
  // Where only the other way round covers C: 2 columns of 256, 3 rows of 32.
  const auto turned = gemm_kernel("cutlass_80_tensorop_bf16_s16816gemm_32x256_32x4", shape, 6);
  ASSERT_TRUE(turned);
  EXPECT_EQ(turned->tile_m, 32);
  EXPECT_EQ(turned->tile_n, 256);
}

TEST(GemmKernel, IsNotKnownWithoutATileOrWithOtherBlocks) {
  const GemmShape shape{8192, 8192, 4096, 1};
  // A block for each multiprocessor, which takes tile after tile.
  EXPECT_FALSE(gemm_kernel("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", shape, 132));
  EXPECT_TRUE(gemm_kernel("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", shape, 2048));
  EXPECT_FALSE(gemm_kernel("gemv2T_kernel_val", shape, 2048));
  EXPECT_FALSE(gemm_kernel("my_kernel_4x4_100x7", shape, 2048));
  EXPECT_FALSE(gemm_kernel("", shape, 1));
}

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

// The share of requests that a cache of the `capacity` rows used last serves.
double simulated_hits(double rows, double alpha, int requests, std::size_t capacity,
                      std::size_t& unique) {
  std::vector<double> cumulated(static_cast<std::size_t>(rows));
  double sum = 0;
  for (std::size_t i = 0; i < cumulated.size(); ++i)
    cumulated[i] = sum += std::pow(static_cast<double>(i + 1), -alpha);
  std::mt19937_64 random(1);
  std::list<std::size_t> used;
  std::unordered_map<std::size_t, std::list<std::size_t>::iterator> cached;
  std::set<std::size_t> seen;
  int hits = 0;
  for (int i = 0; i < requests; ++i) {
    const double place = static_cast<double>(random() >> 11) * 0x1p-53 * sum;
    const auto row = static_cast<std::size_t>(
        std::upper_bound(cumulated.begin(), cumulated.end(), place) - cumulated.begin());
    seen.insert(row);
    if (const auto it = cached.find(row); it != cached.end()) {
      ++hits;
      used.erase(it->second);
    } else if (cached.size() == capacity) {
      cached.erase(used.back());
      used.pop_back();
    }
    used.push_front(row);
    cached[row] = used.begin();
  }
  unique = seen.size();
  return static_cast<double>(hits) / requests;
}

TEST(IndexDistribution, GivesTheHitsThatASimulationGives) {
  constexpr int kRequests = 60000;
  for (const double rows : {1e4, 1e5}) {
    for (const double alpha : {0.0, 0.8, 1.0, 1.2}) {
      const auto indices = IndexDistribution::zipf(rows, alpha);
      std::size_t unique = 0;
      const double simulated = simulated_hits(rows, alpha, kRequests, 3000, unique);
      EXPECT_NEAR(indices.hit_rate(kRequests, 3000), simulated, 0.01) << rows << " " << alpha;
      EXPECT_NEAR(indices.unique_rows(kRequests) / static_cast<double>(unique), 1, 0.02);
    }
  }
}

TEST(IndexDistribution, EndsWhereOneMoreRowIsTheSameNumber) {
  for (const double rows : {9007199254740992.0, 9223372036854775807.0, 1e300}) {
    const auto indices = IndexDistribution::zipf(rows, 0);
    EXPECT_NEAR(indices.unique_rows(1000), 1000, 1e-6);
    EXPECT_GE(indices.rows(), rows * 0.9);
  }
}

TEST(IndexDistribution, AHistogramCountsAsItsZipf) {
  const read::Table table("accesses,rows\n3,1\n1,3\n", "t");  // p = 1/2, 1/6, 1/6, 1/6
  const auto indices = IndexDistribution::histogram(table);
  EXPECT_DOUBLE_EQ(indices.rows(), 4);
  EXPECT_DOUBLE_EQ(indices.highest_probability(), 0.5);
  EXPECT_NEAR(indices.unique_rows(1), 1, 1e-12);
}

TEST(PredictEmbedding, MoreReuseIsNeverSlower) {
  EmbeddingShape shape;
  shape.batch = 2048;
  shape.tables = 26;
  shape.rows = 1e6;
  shape.bag = 32;
  shape.dim = 128;
  double before = 1e30;
  for (const double alpha : {0.0, 0.5, 0.8, 1.0, 1.2}) {
    const auto time = predict_embedding(shape, IndexDistribution::zipf(1e6, alpha), h200());
    EXPECT_LE(time.time_us, before);
    before = time.time_us;
  }
}

TEST(ConformalTable, HoldsTheShareThatItIsAskedFor) {
  std::vector<double> scores(99);
  std::iota(scores.begin(), scores.end(), -49.0);  // -49 ... 49
  const ConformalTable table({{ConformalTable::kAll, scores}});
  EXPECT_DOUBLE_EQ(table.range("any", 0.9).lower, -45);  // the 5th smallest of 99
  EXPECT_DOUBLE_EQ(table.range("any", 0.9).upper, 45);
  EXPECT_DOUBLE_EQ(table.share_above("any", 0), 0.51);  // (1 + 50) / 100
  EXPECT_DOUBLE_EQ(table.share_above("any", 40), 0.11);
  EXPECT_DOUBLE_EQ(table.share_below("any", -40), 0.11);
}

TEST(ConformalTable, SaysHowRareAScoreIsThatNoneReached) {
  std::vector<double> scores(99);
  std::iota(scores.begin(), scores.end(), -49.0);
  const ConformalTable table({{ConformalTable::kAll, scores}});
  // The 10 outer ones, from 40 on, lie 4.5 above it on average.
  EXPECT_DOUBLE_EQ(table.share_above("any", 53.5), 0.11 * std::exp(-3));
  EXPECT_DOUBLE_EQ(table.share_below("any", -53.5), 0.11 * std::exp(-3));
  EXPECT_LT(table.share_above("any", 100), 1e-5);
  EXPECT_GT(table.share_above("any", 100), 0);
}

TEST(ConformalTable, OneWildScoreMakesFurtherOnesBelievable) {
  std::vector<double> scores(99);
  std::iota(scores.begin(), scores.end(), -49.0);
  scores.back() = 500;
  const ConformalTable table({{ConformalTable::kAll, scores}});
  EXPECT_GE(table.share_above("any", 500), 0.01);  // one of a hundred was as high
  EXPECT_GT(table.share_above("any", 600), 1e-7);
  EXPECT_LE(table.share_above("any", 600), 0.01);
}

TEST(ConformalTable, CountsWhereThereAreTooFewForATail) {
  const ConformalTable table({{ConformalTable::kAll, {-2, -1, 0, 1, 2}}});
  EXPECT_DOUBLE_EQ(table.share_above("any", 100), 1.0 / 6);
  EXPECT_DOUBLE_EQ(ConformalTable().share_above("any", 100), 1);
}

TEST(LocalScale, IsWhatIsUsualNearby) {
  const LocalScale scale(Eigen::Array3d(0.02, 0.02, 0.2));
  const Eigen::Array3d near_the_first(0.1, 0.1, 30), near_the_last(30, 30, 0.1);
  EXPECT_LT(scale.at(near_the_first), 0.05);
  EXPECT_GT(scale.at(near_the_last), 0.1);
  // Far from all of them only their mean is left.
  EXPECT_NEAR(scale.at(Eigen::Array3d(90, 90, 90)), 0.08, 1e-9);
  EXPECT_THROW(LocalScale(Eigen::Array2d(0.1, 0)), std::invalid_argument);
  EXPECT_TRUE(LocalScale().is_empty());
}

TEST(MaternProcess, GoesThroughItsPointsAndForgetsFarAway) {
  const MaternScales scales{Eigen::VectorXd::Constant(1, 1.0), 0.1, 0.001};
  const Eigen::MatrixXd features = Eigen::Vector3d(0, 1, 2);
  const MaternProcess process(scales, features, Eigen::Vector3d(0.1, -0.05, 0.02),
                              Eigen::Vector3d::Ones());
  const Eigen::VectorXd at = Eigen::VectorXd::Constant(1, 1.0);
  const Eigen::VectorXd far = Eigen::VectorXd::Constant(1, 50.0);
  EXPECT_NEAR(process.estimate(at).mean, -0.05, 1e-4);
  EXPECT_NEAR(process.mean(at), process.estimate(at).mean, 1e-12);
  EXPECT_NEAR(process.estimate(far).mean, 0, 1e-12);
  EXPECT_NEAR(process.estimate(far).variance, 0.01, 1e-9);
  EXPECT_NEAR(process.estimate(far).distance, 48, 1e-9);
}

}  // namespace
}  // namespace inline_prof::model
