#include "model/calibrated/embedding/embedding.hpp"

#include "model/machines.hpp"
#include "profile_builder.hpp"
#include "testing.hpp"

#include <list>
#include <unordered_map>

namespace inline_prof::model {
namespace {

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
  constexpr int requests = 60000;
  for (const double rows : {1e4, 1e5}) {
    for (const double alpha : {0.0, 0.8, 1.0, 1.2}) {
      const auto indices = IndexDistribution::zipf(rows, alpha);
      std::size_t unique = 0;
      const double simulated = simulated_hits(rows, alpha, requests, 3000, unique);
      EXPECT_NEAR(indices.hit_rate(requests, 3000), simulated, 0.01) << rows << " " << alpha;
      EXPECT_NEAR(indices.unique_rows(requests) / static_cast<double>(unique), 1, 0.02);
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
  const read::Machine h200 = builtin_machine("h200-sxm-141gb");
  double before = 1e30;
  for (const double alpha : {0.0, 0.5, 0.8, 1.0, 1.2}) {
    const auto time = predict_embedding(shape, IndexDistribution::zipf(1e6, alpha), h200);
    EXPECT_LE(time.time_us, before);
    before = time.time_us;
  }
}

// Sizes and medians of FBGEMM's kernels in tests/data/real_traces: offsets, indices, weights and
// rows of the call, and the gradient's width.
TEST(PredictEmbedding, IsNearFbgemmInTwoTraces) {
  struct Bags {
    const char* machine;
    double batch, tables, rows, bag, dim, forward_us, backward_us;
  };
  for (const Bags& bags : {Bags{"a100-sxm4-40gb", 8192, 122, 745, 15.8, 82.4, 2540, 7300},
                           Bags{"v100-sxm2-16gb", 2048, 485, 746, 15.5, 82.4, 4500, 11800}}) {
    EmbeddingShape shape{
        bags.batch, bags.tables, bags.rows, bags.bag, bags.dim, 4, EmbeddingPass::kForward, {}};
    const read::Machine gpu = builtin_machine(bags.machine);
    const auto indices = IndexDistribution::zipf(bags.rows, 0);
    EXPECT_NEAR(predict_embedding(shape, indices, gpu).time_us / bags.forward_us, 1, 0.2);
    shape.pass = EmbeddingPass::kBackwardRowwiseAdagrad;
    const auto backward = predict_embedding(shape, indices, gpu);
    EXPECT_NEAR((backward.time_us - backward.sort_us) / bags.backward_us, 1, 0.2);
  }
}

}  // namespace
}  // namespace inline_prof::model
