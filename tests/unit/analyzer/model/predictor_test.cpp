// Which model prof-analyze takes, on the parameters that are shipped.
#include "model/predictor.hpp"

#include "model/machines.hpp"

#include <gtest/gtest.h>

#include <string>

namespace inline_prof::model {
namespace {

read::Machine machine(const std::string& id) {
  return choose_machine(id, builtin_machines());
}

read::Op product(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& type) {
  read::Op op;
  op.kind = "gemm";
  op.attributes = {{"m", m},         {"n", n},         {"k", k},
                   {"a_type", type}, {"b_type", type}, {"c_type", type}};
  return op;
}

TEST(Predictor, KnowsProductsOnAMeasuredMachine) {
  const auto found = Predictor(Mode::kImproved)
                         .predict(product(4096, 4096, 4096, "bf16"), machine("h200-sxm-141gb"));
  ASSERT_TRUE(found.prediction) << found.reason;
  EXPECT_EQ(found.prediction->model, "gemm");
  EXPECT_EQ(found.prediction->parameters, "h200-sxm-141gb bf16");
  // NVIDIA's table has 175 us for this shape.
  EXPECT_NEAR(in_microseconds(found.prediction->time), 175, 18);
  ASSERT_TRUE(found.prediction->interval90);
  EXPECT_LT(found.prediction->interval90->first, found.prediction->time);
  EXPECT_FALSE(found.prediction->is_extrapolated);
  const Odds slow = found.prediction->odds(2 * found.prediction->time);
  EXPECT_LT(slow.slower, 0.01);
  EXPECT_GT(slow.faster, 0.9);
}

TEST(Predictor, TakesAMachineWithTheSameUnitsForAnother) {
  const auto found = Predictor(Mode::kImproved)
                         .predict(product(4096, 4096, 4096, "f16"), machine("a100-sxm4-40gb"));
  ASSERT_TRUE(found.prediction);
  EXPECT_EQ(found.prediction->parameters, "a100-sxm4-80gb bf16");
}

TEST(Predictor, FallsBackToTheRoofline) {
  const Predictor improved(Mode::kImproved);
  const auto wide = improved.predict(product(512, 512, 512, "f32"), machine("h200-sxm-141gb"));
  ASSERT_TRUE(wide.prediction);
  EXPECT_EQ(wide.prediction->model, "roofline");  // no parameters for the type
  const auto other = improved.predict(product(512, 512, 512, "f16"), machine("v100-sxm2-16gb"));
  ASSERT_TRUE(other.prediction);
  EXPECT_EQ(other.prediction->model, "roofline");  // nor for the machine
}

TEST(Predictor, CompatIsTheRooflineForEverything) {
  const auto found = Predictor(Mode::kCompat)
                         .predict(product(4096, 4096, 4096, "bf16"), machine("h200-sxm-141gb"));
  ASSERT_TRUE(found.prediction);
  EXPECT_EQ(found.prediction->model, "roofline");
  EXPECT_FALSE(found.prediction->interval90);
}

TEST(Predictor, KnowsCollectivesOfMeasuredRankCounts) {
  read::Op op;
  op.kind = "collective";
  op.attributes = {{"op", std::string("all_reduce")},
                   {"bytes", std::int64_t{1} << 28},
                   {"type", std::string("f16")},
                   {"ranks", std::int64_t{8}}};
  const Predictor improved(Mode::kImproved);
  const auto found = improved.predict(op, machine("h200-sxm-141gb"));
  ASSERT_TRUE(found.prediction) << found.reason;
  EXPECT_EQ(found.prediction->model, "collective");
  EXPECT_FALSE(found.prediction->is_extrapolated);
  op.attributes.back().second = std::int64_t{4};
  EXPECT_TRUE(improved.predict(op, machine("h200-sxm-141gb")).prediction->is_extrapolated);
}

}  // namespace
}  // namespace inline_prof::model
