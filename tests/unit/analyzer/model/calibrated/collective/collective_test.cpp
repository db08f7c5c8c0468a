#include "model/calibrated/collective/collective.hpp"

#include "model/predictor.hpp"
#include "model/registry.hpp"
#include "model/shipped_parameters.hpp"
#include "model/units.hpp"
#include "profile_builder.hpp"
#include "testing.hpp"

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

read::Op all_reduce_of(std::int64_t bytes, const char* type) {
  read::Op op;
  op.kind = "collective";
  op.attributes = {{"op", std::string("all_reduce")},
                   {"bytes", bytes},
                   {"ranks", std::int64_t{8}},
                   {"type", std::string(type)}};
  return op;
}

// A trace of gpt-oss under vLLM on 8 B200s (tests/data/real_traces) has 73 of 5.1 MB: 24.7 to 28.1
// us, but for the one that waits.
TEST(Collectives, AllReducesOfServingStacksHaveTheirOwnTimes) {
  const Predictor calibrated(Models::kCalibrated);
  const read::Machine b200 = builtin_machine("b200-sxm-180gb");
  const auto predicted = [&](const char* kernel) {
    return calibrated.predict(all_reduce_of(5114880, "bf16"), b200, {kernel, 0}).prediction.value();
  };
  const Prediction symmetric = predicted("multimem_all_reduce_kernel<c10::BFloat16>");
  EXPECT_NEAR(in_microseconds(symmetric.time), 27.4, 8);
  ASSERT_TRUE(symmetric.interval90);
  EXPECT_LT(in_microseconds(symmetric.interval90->first), 24.7);
  EXPECT_GT(in_microseconds(symmetric.interval90->second), 28.1);
  EXPECT_GT(in_microseconds(predicted("ncclDevKernel_AllReduce").time),
            in_microseconds(predicted("vllm::cross_device_reduce_2stage").time));
}

TEST(Collectives, TypesThatTheSwitchAddsTakeAsLong) {
  const CalibratedCollectives h100(choose_parameters("collective_h100-sxm5-80gb", "collective"),
                                   nullptr);
  const auto f16 = h100.predict(CollectiveKind::kAllReduce, "f16", 1 << 24, 8);
  const auto bf16 = h100.predict(CollectiveKind::kAllReduce, "bf16", 1 << 24, 8);
  const auto f8 = h100.predict(CollectiveKind::kAllReduce, "f8e4m3", 1 << 24, 8);
  ASSERT_TRUE(f16 && bf16 && f8);
  EXPECT_EQ(bf16->estimate.time_us, f16->estimate.time_us);
  EXPECT_FALSE(bf16->is_other_type);
  EXPECT_NE(f8->estimate.time_us, f16->estimate.time_us);
  EXPECT_FALSE(h100.predict(CollectiveKind::kAllGather, "f16", 1 << 24, 8, "VLLM"));
}

TEST(Collectives, AnotherMachineHasItsOwnLinks) {
  const read::Parameters h200 = choose_parameters("collective_h200-sxm-141gb", "collective");
  const read::Machine b200 = builtin_machine("b200-sxm-180gb");
  const CalibratedCollectives own(h200, nullptr), other(h200, &b200);
  const auto ratio = [&](double bytes) {
    const auto time = [&](const CalibratedCollectives& model) {
      return model.predict(CollectiveKind::kAllGather, "f16", bytes, 8)->analytic.time_us;
    };
    return time(own) / time(other);
  };
  EXPECT_NEAR(ratio(1e10), 2, 0.05) << "NVLink of 900 GB/s instead of 450";
  EXPECT_NEAR(ratio(1024), 1, 0.05) << "what starts a message is the same";
  ModelOptions options;
  options.edition = Edition::kCalibrated;
  options.machine = b200;
  options.params = "collective_h200-sxm-141gb";
  const auto model = find_model("collective").make(options);
  EXPECT_EQ(model.warnings.size(), 1U);
}

TEST(Collectives, SendsOfAGpuThatNobodyTimedTakeItsOwnLinks) {
  const auto sent = [](const char* id, std::int64_t bytes) {
    read::Op op = all_reduce_of(bytes, "bf16");
    op.attributes.front().second = std::string("send_recv");
    return Predictor(Models::kCalibrated)
        .predict(op, builtin_machine(id), {"ncclDevKernel_SendRecv", 0})
        .prediction.value();
  };
  const Prediction h100 = sent("h100-sxm5-80gb", 1LL << 33),
                   b200 = sent("b200-sxm-180gb", 1LL << 33);
  EXPECT_NEAR(h100.time.value / b200.time.value, 2, 0.05);
  EXPECT_EQ(b200.parameters, "h100-sxm5-80gb");
  EXPECT_GT(b200.interval90->second.value / b200.interval90->first.value,
            1.2 * h100.interval90->second.value / h100.interval90->first.value);
  // Exchanges of a few bytes between two A100s take 10.5 us, between two H100s 6.5 us.
  EXPECT_NEAR(in_microseconds(sent("a100-sxm4-80gb", 256).time), 10.5, 1);
  EXPECT_NEAR(in_microseconds(sent("h100-sxm5-80gb", 256).time), 6.5, 1);
}

}  // namespace
}  // namespace inline_prof::model
