#include "model/roofline.hpp"

#include "profile_builder.hpp"

#include <gtest/gtest.h>

#include <string>

namespace inline_prof::model {
namespace {

using test::gemm_op;
using test::memory_op;
using test::toy_machine;

double predicted_us(const read::Op& op) {
  return in_microseconds(predict_roofline(op, toy_machine()).prediction.value().time);
}

void set(read::Op& op, const std::string& name, const read::Attribute& value) {
  for (auto& [key, own] : op.attributes) {
    if (key == name) {
      own = value;
      return;
    }
  }
  op.attributes.emplace_back(name, value);
}

TEST(Roofline, LargeSquareIsComputeBound) {
  // 2 * 1000^3 = 2e9 FLOP at 1e12 FLOP/s = 2000 us; 6e6 bytes at 1e11 = 60 us.
  const Outcome outcome = predict_roofline(gemm_op(1000, 1000, 1000, "f16"), toy_machine());
  ASSERT_TRUE(outcome.prediction) << outcome.reason;
  EXPECT_EQ(outcome.prediction->bound, Bound::kCompute);
  EXPECT_NEAR(in_microseconds(outcome.prediction->time), 2000, 1e-9);
  EXPECT_EQ(outcome.prediction->model, "roofline");
  EXPECT_FALSE(outcome.prediction->interval90) << "a bound has no error of its own";
}

TEST(Roofline, SingleRowIsMemoryBound) {
  // 2 * (1000 + 1e6 + 1000) = 2.004e6 bytes = 20.04 us; 2e6 FLOP = 2 us.
  const Outcome outcome = predict_roofline(gemm_op(1, 1000, 1000, "f16"), toy_machine());
  EXPECT_EQ(outcome.prediction.value().bound, Bound::kMemory);
  EXPECT_NEAR(in_microseconds(outcome.prediction->time), 20.04, 1e-9);
}

TEST(Roofline, NothingIsFasterThanALaunch) {
  const Outcome outcome = predict_roofline(gemm_op(8, 8, 8, "f16"), toy_machine());
  EXPECT_EQ(outcome.prediction.value().bound, Bound::kLaunch);
  EXPECT_NEAR(in_microseconds(outcome.prediction->time), 5, 1e-9);
}

TEST(Roofline, ABatchMultipliesWorkAndTraffic) {
  read::Op op = gemm_op(1000, 1000, 1000, "f16");
  set(op, "batch", std::int64_t{3});
  EXPECT_NEAR(predicted_us(op), 6000, 1e-9);
}

TEST(Roofline, EveryMatrixHasItsOwnWidth) {
  // 1 * 1000 f8 + 1000 * 1000 f16 + 1 * 1000 f32 = 1000 + 2e6 + 4000 bytes = 20.05 us.
  read::Op op = gemm_op(1, 1000, 1000, "f16");
  set(op, "a_type", std::string("f8e4m3"));
  set(op, "c_type", std::string("f32"));
  EXPECT_NEAR(predicted_us(op), 20.05, 1e-9);
}

TEST(Roofline, TheSlowerOperandSetsThePeak) {
  // f8 alone: 2e9 FLOP at 2e12 = 1000 us; beside f16: 2000 us.
  EXPECT_NEAR(predicted_us(gemm_op(1000, 1000, 1000, "f8e5m2")), 1000, 1e-9);
  read::Op mixed = gemm_op(1000, 1000, 1000, "f8e5m2");
  set(mixed, "b_type", std::string("f16"));
  EXPECT_NEAR(predicted_us(mixed), 2000, 1e-9);
}

TEST(Roofline, SinglePrecisionMayRunOnTensorCores) {
  // f32: 0.25e12 FLOP/s, 8000 us; tf32: 0.5e12, 4000 us.
  read::Op op = gemm_op(1000, 1000, 1000, "f32");
  EXPECT_NEAR(predicted_us(op), 8000, 1e-9);
  set(op, "compute_type", std::string("tf32"));
  EXPECT_NEAR(predicted_us(op), 4000, 1e-9);
}

TEST(Roofline, MemoryCountsBothDirections) {
  // 3e6 + 1e6 bytes at 1e11 bytes/s = 40 us.
  const Outcome outcome = predict_roofline(memory_op(3000000, 1000000), toy_machine());
  EXPECT_EQ(outcome.prediction.value().bound, Bound::kMemory);
  EXPECT_NEAR(in_microseconds(outcome.prediction->time), 40, 1e-9);
}

TEST(Roofline, SizesBeyond32BitsDoNotOverflow) {
  // 2 * 1e6 * 1e6 * 1e6 FLOP at 1e12 FLOP/s = 2e6 s.
  EXPECT_NEAR(predicted_us(gemm_op(1000000, 1000000, 1000000, "f16")), 2e12, 1);
}

TEST(Roofline, NeverPredictsMoreForLessWork) {
  double previous_us = 0;
  for (std::int64_t n = 1; n <= 1 << 20; n *= 2) {
    const double now_us = predicted_us(gemm_op(64, n, 64, "f16"));
    EXPECT_GE(now_us, previous_us) << "n=" << n;
    previous_us = now_us;
  }
}

TEST(Roofline, SaysWhyThereIsNoPrediction) {
  const auto reason = [](const read::Op& op) {
    const Outcome outcome = predict_roofline(op, toy_machine());
    EXPECT_FALSE(outcome.prediction);
    return outcome.reason;
  };
  EXPECT_EQ(reason(test::op_of_kind("embedding")), "no model for embedding");
  EXPECT_EQ(reason(test::op_of_kind("fft")), "unknown kind of operation fft");
  EXPECT_EQ(reason(test::op_of_kind("gemm")), "gemm without m");
  EXPECT_EQ(reason(test::op_of_kind("memory")), "memory without read_bytes or write_bytes");
  EXPECT_EQ(reason(memory_op(0, 0)), "memory of 0 bytes");
  EXPECT_EQ(reason(gemm_op(0, 1, 1, "f16")), "gemm with m = 0");
  EXPECT_EQ(reason(gemm_op(1, 1, 1, "bf16")), "toy has no peak for bf16");
  EXPECT_EQ(reason(gemm_op(1, 1, 1, "f12")), "unknown number type f12");
  read::Op untyped = gemm_op(1, 1, 1, "f16");
  untyped.attributes.pop_back();
  EXPECT_EQ(reason(untyped), "gemm without c_type");
}

TEST(Roofline, NoInfinityLeavesIt) {
  read::Machine machine = test::toy_machine();
  machine.peak_tflops["f16"] = 1e-320;
  const Outcome for_ever = predict_roofline(test::gemm_op(4096, 4096, 4096, "f16"), machine);
  EXPECT_FALSE(for_ever.prediction);
  EXPECT_EQ(for_ever.reason, "toy would take inf s");
  machine.memory_gb_per_s = 1e308;
  machine.launch_floor_us = 0;
  const Outcome no_time = predict_roofline(test::memory_op(1, 0), machine);
  EXPECT_FALSE(no_time.prediction);
  EXPECT_EQ(no_time.reason, "toy would take 0 s");
}

}  // namespace
}  // namespace inline_prof::model
