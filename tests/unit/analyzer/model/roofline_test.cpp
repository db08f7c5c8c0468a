#include "model/roofline.hpp"

#include "profile_builder.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

TEST(Roofline, TheSlowestOfComputeMemoryAndLaunchBounds) {
  const struct {
    read::Op op;
    double time_us;
    Bound bound;
  } rows[] = {// 2 * 1000^3 = 2e9 FLOP at 1e12 FLOP/s = 2000 us; 6e6 bytes at 1e11 = 60 us.
              {gemm_op(1000, 1000, 1000, "f16"), 2000, Bound::kCompute},
              // 2 * (1000 + 1e6 + 1000) = 2.004e6 bytes = 20.04 us; 2e6 FLOP = 2 us.
              {gemm_op(1, 1000, 1000, "f16"), 20.04, Bound::kMemory},
              {gemm_op(8, 8, 8, "f16"), 5, Bound::kLaunch},
              // 3e6 + 1e6 bytes at 1e11 bytes/s = 40 us.
              {memory_op(3000000, 1000000), 40, Bound::kMemory}};
  for (const auto& [op, time_us, bound] : rows) {
    const Outcome outcome = predict_roofline(op, toy_machine());
    ASSERT_TRUE(outcome.prediction) << outcome.reason;
    EXPECT_EQ(outcome.prediction->bound, bound) << time_us;
    EXPECT_NEAR(in_microseconds(outcome.prediction->time), time_us, 1e-9);
    EXPECT_EQ(outcome.prediction->model, "roofline");
    EXPECT_FALSE(outcome.prediction->interval90) << "a bound has no error of its own";
  }
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

read::Op op_with(const std::string& kind, std::vector<std::pair<std::string, std::int64_t>> sizes,
                 const std::string& type) {
  read::Op op = test::op_of_kind(kind);
  for (const auto& [name, size] : sizes)
    op.attributes.emplace_back(name, size);
  op.attributes.emplace_back("type", type);
  return op;
}

TEST(Roofline, AGroupOfProductsReadsEachOfItsMatrices) {
  // 2 * 1000 * 100 * 1000 = 2e8 FLOP, 200 us; 2 * (1e6 + 10 * 1e5 + 1e5) = 4.2e6 bytes, 42 us.
  read::Op op = gemm_op(1, 100, 1000, "f16");
  op.kind = "grouped_gemm";
  set(op, "groups", std::int64_t{10});
  set(op, "m_total", std::int64_t{1000});
  EXPECT_NEAR(predicted_us(op), 200, 1e-9);
  set(op, "m_total", std::int64_t{10});
  // 2 * (1e4 + 1e6 + 1e3) bytes = 20.22 us: the weights.
  EXPECT_NEAR(predicted_us(op), 20.22, 1e-9);
}

TEST(Roofline, AConvolutionIsAProductOfItsOutputs) {
  // 10 images of 32 channels, 20x20, to 64 channels, 3x3, padded: outputs 20x20.
  // 2 * 10 * 64 * 400 * 32 * 9 = 147,456,000 FLOP = 147.456 us.
  read::Op op = op_with(
      "conv", {{"n", 10}, {"c", 32}, {"h", 20}, {"w", 20}, {"k", 64}, {"r", 3}, {"s", 3}}, "f16");
  set(op, "pad", std::int64_t{1});
  EXPECT_NEAR(predicted_us(op), 147.456, 1e-9);
  set(op, "groups", std::int64_t{2});
  EXPECT_NEAR(predicted_us(op), 73.728, 1e-9);
  // Every second output of each side, of 1 group: a quarter.
  set(op, "groups", std::int64_t{1});
  set(op, "stride", std::vector<std::int64_t>{2, 2});
  EXPECT_NEAR(predicted_us(op), 36.864, 1e-9);
}

TEST(Roofline, AttentionCountsTwoProductsForwardAndFiveBackward) {
  // 4 * 2 * 8 * 1000 * 1000 * 50 = 3.2e9 FLOP = 3200 us.
  read::Op op = op_with(
      "attention",
      {{"batch", 2}, {"heads", 8}, {"q_len", 1000}, {"kv_len", 1000}, {"head_dim", 50}}, "f16");
  EXPECT_NEAR(predicted_us(op), 3200, 1e-9);
  set(op, "pass", std::string("backward"));
  EXPECT_NEAR(predicted_us(op), 8000, 1e-9);
  // A triangle with its diagonal: 1001 / 2000 of the pairs.
  set(op, "causal", true);
  EXPECT_NEAR(predicted_us(op), 4004, 1e-9);
}

TEST(Roofline, AttentionOnOneQueryReadsKeysAndValues) {
  // 2 bytes * 64 * (8 query heads + 2 heads of 10000 keys), once for queries and outputs, and once
  // for keys and values: 5,122,048 bytes = 51.22048 us.
  read::Op op = op_with("attention",
                        {{"batch", 1},
                         {"heads", 8},
                         {"kv_heads", 2},
                         {"q_len", 1},
                         {"kv_len", 10000},
                         {"head_dim", 64}},
                        "f16");
  EXPECT_NEAR(predicted_us(op), 51.22048, 1e-9);
  // The last query sees all keys: being causal changes nothing.
  set(op, "causal", std::int64_t{1});
  EXPECT_NEAR(predicted_us(op), 51.22048, 1e-9);
  // Keys and values of one byte: 2,562,048 bytes.
  set(op, "kv_type", std::string("f8e4m3"));
  EXPECT_NEAR(predicted_us(op), 25.62048, 1e-9);
  // Half of the keys: 1,282,048 bytes.
  set(op, "window", std::int64_t{5000});
  EXPECT_NEAR(predicted_us(op), 12.82048, 1e-9);
}

TEST(Roofline, AWindowLeavesAQueryItsLastKeys) {
  // The first 99 of 1000 queries see 1 to 99 keys, the others 100: 95,050 pairs instead of 500,500.
  read::Op op = op_with(
      "attention",
      {{"batch", 2}, {"heads", 8}, {"q_len", 1000}, {"kv_len", 1000}, {"head_dim", 50}}, "f16");
  set(op, "causal", true);
  set(op, "window", std::int64_t{100});
  EXPECT_NEAR(predicted_us(op), 304.16, 1e-9);
}

TEST(Roofline, NormAndSoftmaxMoveTheirTensor) {
  // 1000 * 1000 * 2 bytes, in and out: 40 us; backward with the gradient: 60 us.
  for (const char* kind : {"norm", "softmax"}) {
    read::Op op = op_with(kind, {{"rows", 1000}, {"cols", 1000}}, "f16");
    EXPECT_NEAR(predicted_us(op), 40, 1e-9) << kind;
    set(op, "pass", std::string("backward"));
    EXPECT_NEAR(predicted_us(op), 60, 1e-9) << kind;
    set(op, "pass", std::string("sideways"));
    EXPECT_EQ(predict_roofline(op, toy_machine()).reason,
              std::string(kind) + " with unknown pass sideways");
  }
}

TEST(Roofline, ACastReadsSixteenBitsAndWritesFewer) {
  read::Op op = test::op_of_kind("cast");
  set(op, "rows", std::int64_t{10000});
  set(op, "cols", std::int64_t{1000});
  set(op, "recipe", std::string("rowwise"));
  EXPECT_NEAR(predicted_us(op), 300, 1e-9) << "1e7 numbers, 3 bytes each at 1e11";
  set(op, "recipe", std::string("mxfp8_cublas"));
  EXPECT_NEAR(predicted_us(op), 303.125, 1e-9) << "and a byte for 32 of them";
  set(op, "recipe", std::string("nvfp4"));
  EXPECT_NEAR(predicted_us(op), 256.25, 1e-9);
  EXPECT_EQ(predict_roofline(op, toy_machine()).prediction->bound, Bound::kMemory);
  set(op, "recipe", std::string("fp3"));
  EXPECT_EQ(predict_roofline(op, toy_machine()).reason, "cast with unknown recipe fp3");
}

TEST(Roofline, ACastWithoutARecipeHasNoWidth) {
  read::Op op = test::op_of_kind("cast");
  EXPECT_EQ(predict_roofline(op, toy_machine()).reason, "cast without rows");
  set(op, "rows", std::int64_t{1});
  set(op, "cols", std::int64_t{1});
  EXPECT_EQ(predict_roofline(op, toy_machine()).reason, "cast without recipe");
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
  const read::Op conv = op_with(
      "conv", {{"n", 1}, {"c", 1}, {"h", 2}, {"w", 2}, {"k", 1}, {"r", 3}, {"s", 3}}, "f16");
  read::Op padded = conv;
  set(padded, "pad", std::vector<std::int64_t>{1, 1, 1});
  read::Op untyped = gemm_op(1, 1, 1, "f16");
  untyped.attributes.pop_back();
  const std::pair<read::Op, const char*> rows[] = {
      {test::op_of_kind("embedding"), "no model for embedding"},
      {test::op_of_kind("fft"), "unknown kind of operation fft"},
      {test::op_of_kind("gemm"), "gemm without m"},
      {test::op_of_kind("memory"), "memory without read_bytes or write_bytes"},
      {memory_op(0, 0), "memory of 0 bytes"},
      {gemm_op(0, 1, 1, "f16"), "gemm with m = 0"},
      {gemm_op(1, 1, 1, "bf16"), "toy has no peak for bf16"},
      {gemm_op(1, 1, 1, "f12"), "unknown number type f12"},
      {test::op_of_kind("attention"), "attention without batch"},
      {op_with("norm", {{"rows", 0}, {"cols", 1}}, "f16"), "norm with rows = 0"},
      {conv, "conv with a filter beyond its padded image"},
      {padded, "conv with pad of 3 dimensions"},
      {untyped, "gemm without c_type"}};
  for (const auto& [op, reason] : rows) {
    const Outcome outcome = predict_roofline(op, toy_machine());
    EXPECT_FALSE(outcome.prediction) << reason;
    EXPECT_EQ(outcome.reason, reason);
  }
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
