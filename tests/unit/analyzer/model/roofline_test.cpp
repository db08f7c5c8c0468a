#include "model/roofline.hpp"

#include "profile_builder.hpp"
#include "testing.hpp"

namespace inline_prof::model {
namespace {

using test::gemm_op;

double predicted_us(const read::Op& op) {
  return in_microseconds(predict_roofline(op, toy_machine()).prediction.value().time);
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

TEST(Roofline, EveryKindHasItsWorkAndTraffic) {
  const std::string product = "gemm m=1000 n=1000 k=1000 ";
  const std::string of_f16 = " a_type=f16 b_type=f16 c_type=f16";
  const std::string groups = "grouped_gemm groups=10 n=100 k=1000" + of_f16;
  // 10 images of 32 channels, 20x20, to 64 channels, 3x3, padded: outputs 20x20.
  const std::string conv = "conv n=10 c=32 h=20 w=20 k=64 r=3 s=3 type=f16 pad=1";
  const std::string attention =
      "attention batch=2 heads=8 q_len=1000 kv_len=1000 head_dim=50 type=f16";
  // One query.
  const std::string decoding =
      "attention batch=1 heads=8 kv_heads=2 q_len=1 kv_len=10000 head_dim=64 type=f16";
  const std::string cast = "cast rows=10000 cols=1000 recipe=";
  const std::pair<std::string, double> rows[] = {
      {product + of_f16 + " batch=3", 6000},
      // Every matrix has its own width: 1000 f8 + 1000 * 1000 f16 + 1000 f32 = 2,005,000 bytes.
      {"gemm m=1 n=1000 k=1000 a_type=f8e4m3 b_type=f16 c_type=f32", 20.05},
      // The slower operand sets the peak: f8 alone 2e12 FLOP/s.
      {product + "a_type=f8e5m2 b_type=f8e5m2 c_type=f8e5m2", 1000},
      {product + "a_type=f8e5m2 b_type=f16 c_type=f8e5m2", 2000},
      // f32: 0.25e12 FLOP/s; tf32: 0.5e12.
      {product + "a_type=f32 b_type=f32 c_type=f32", 8000},
      {product + "a_type=f32 b_type=f32 c_type=f32 compute_type=tf32", 4000},
      // A group reads each of its matrices: 2 * 1000 * 100 * 1000 = 2e8 FLOP, 200 us;
      // 2 * (1e6 + 10 * 1e5 + 1e5) = 4.2e6 bytes, 42 us.
      {groups + " m_total=1000", 200},
      // 2 * (1e4 + 1e6 + 1e3) bytes: the weights.
      {groups + " m_total=10", 20.22},
      // 2 * 10 * 64 * 400 * 32 * 9 = 147,456,000 FLOP.
      {conv, 147.456},
      {conv + " groups=2", 73.728},
      // Every second output of each side: a quarter.
      {conv + " groups=1 stride=2,2", 36.864},
      // Two products forward, five backward: 4 * 2 * 8 * 1000 * 1000 * 50 = 3.2e9 FLOP.
      {attention, 3200},
      {attention + " pass=backward", 8000},
      // A triangle with its diagonal: 1001 / 2000 of the pairs.
      {attention + " pass=backward causal=1", 4004},
      // The first 99 of 1000 queries see 1 to 99 keys, the others 100: 95,050 pairs, not 500,500.
      {attention + " causal=1 window=100", 304.16},
      // 2 bytes * 64 * (8 query heads + 2 heads of 10000 keys), once for queries and outputs, and
      // once for keys and values: 5,122,048 bytes.
      {decoding, 51.22048},
      // The last query sees all keys: being causal changes nothing.
      {decoding + " causal=1", 51.22048},
      // Keys and values of one byte: 2,562,048 bytes.  Half of the keys: 1,282,048.
      {decoding + " causal=1 kv_type=f8e4m3", 25.62048},
      {decoding + " causal=1 kv_type=f8e4m3 window=5000", 12.82048},
      // 1000 * 1000 * 2 bytes, in and out; backward with the gradient.
      {"norm rows=1000 cols=1000 type=f16", 40},
      {"norm rows=1000 cols=1000 type=f16 pass=backward", 60},
      {"softmax rows=1000 cols=1000 type=f16", 40},
      {"softmax rows=1000 cols=1000 type=f16 pass=backward", 60},
      // 1e7 numbers, 3 bytes each at 1e11, and a byte for 32 of them.
      {cast + "rowwise", 300},
      {cast + "mxfp8_cublas", 303.125},
      {cast + "nvfp4", 256.25},
  };
  for (const auto& [op, time_us] : rows)
    EXPECT_NEAR(predicted_us(op_of(op)), time_us, 1e-9) << op;
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
  const std::string conv = "conv n=1 c=1 h=2 w=2 k=1 r=3 s=3 type=f16";
  const std::pair<std::string, const char*> rows[] = {
      {"embedding", "no model for embedding"},
      {"fft", "unknown kind of operation fft"},
      {"gemm", "gemm without m"},
      {"memory", "memory without read_bytes or write_bytes"},
      {"memory read_bytes=0 write_bytes=0", "memory of 0 bytes"},
      {"gemm m=0 n=1 k=1 a_type=f16 b_type=f16 c_type=f16", "gemm with m = 0"},
      {"gemm m=1 n=1 k=1 a_type=bf16 b_type=bf16 c_type=bf16", "toy has no peak for bf16"},
      {"gemm m=1 n=1 k=1 a_type=f12 b_type=f12 c_type=f12", "unknown number type f12"},
      {"gemm m=1 n=1 k=1 a_type=f16 b_type=f16", "gemm without c_type"},
      {"attention", "attention without batch"},
      {"norm rows=0 cols=1 type=f16", "norm with rows = 0"},
      {"norm rows=1 cols=1 type=f16 pass=sideways", "norm with unknown pass sideways"},
      {"softmax rows=1 cols=1 type=f16 pass=sideways", "softmax with unknown pass sideways"},
      {"cast", "cast without rows"},
      {"cast rows=1 cols=1", "cast without recipe"},
      {"cast rows=1 cols=1 recipe=fp3", "cast with unknown recipe fp3"},
      {conv, "conv with a filter beyond its padded image"},
      {conv + " pad=1,1,1", "conv with pad of 3 dimensions"},
  };
  for (const auto& [op, reason] : rows) {
    const Outcome outcome = predict_roofline(op_of(op), toy_machine());
    EXPECT_FALSE(outcome.prediction) << reason;
    EXPECT_EQ(outcome.reason, reason);
  }
}

TEST(Roofline, NoInfinityLeavesIt) {
  read::Machine machine = toy_machine();
  machine.peak_tflops["f16"] = 1e-320;
  const Outcome for_ever = predict_roofline(test::gemm_op(4096, 4096, 4096, "f16"), machine);
  EXPECT_FALSE(for_ever.prediction);
  EXPECT_EQ(for_ever.reason, "toy would take inf s");
  machine.memory_gb_per_s = 1e308;
  machine.launch_floor_us = 0;
  const Outcome no_time = predict_roofline(memory_op(1, 0), machine);
  EXPECT_FALSE(no_time.prediction);
  EXPECT_EQ(no_time.reason, "toy would take 0 s");
}

}  // namespace
}  // namespace inline_prof::model
