// Attention, experts and quantisation: the fits on rows of NVIDIA's, whole groups of shapes held
// out, and what the shipped parameters say of operations.
#include "model/calibrated/by_source/by_source.hpp"

#include "fit/fits.hpp"
#include "model/predictor.hpp"
#include "model/shipped_parameters.hpp"
#include "profile_builder.hpp"
#include "read/file_text.hpp"
#include "read/parameters.hpp"
#include "testing.hpp"

namespace inline_prof {
namespace {

struct HeldOut {
  double error = 0, inside = 0;  // per cent
};

HeldOut held_out(const std::string& name) {
  fit::FitRequest request;
  request.machine = builtin_machine("h100-sxm5-80gb");
  request.say = [](std::string_view) {};
  const std::string file = name + "_h100.csv";
  request.tables.emplace_back(read::read_text(INLINE_PROF_TEST_DATA "/aiconfigurator/" + file),
                              file);
  const std::string summary = fit::find_fit(name).fit(request).summary;
  HeldOut found;
  const std::size_t at = summary.find("groups held out");
  EXPECT_EQ(std::sscanf(summary.c_str() + std::min(at, summary.size()),
                        "groups held out MAPE %lf %%, 90 %% interval holds %lf", &found.error,
                        &found.inside),
            2)
      << summary;
  return found;
}

// A few more per cent than 120 rows leave; all rows leave less (by_source/README.md).
TEST(BySource, HoldsOutGroupsOfShapes) {
  for (const auto& [model, most] : {std::pair{"attention_prompts", 9.0},
                                    {"attention_decoding", 10.0},
                                    {"attention_encoders", 8.0},
                                    {"experts", 20.0},
                                    {"quantise", 5.0}}) {
    const HeldOut found = held_out(model);
    EXPECT_LT(found.error, most) << model;
    EXPECT_GT(found.inside, 86) << model;
    EXPECT_LT(found.inside, 94) << model;
  }
}

read::Op attention_op(std::int64_t queries, std::int64_t keys, bool is_causal) {
  return {"attention",
          "",
          {{"batch", std::int64_t{8}},
           {"heads", std::int64_t{32}},
           {"kv_heads", std::int64_t{8}},
           {"q_len", queries},
           {"kv_len", keys},
           {"head_dim", std::int64_t{128}},
           {"type", std::string("bf16")},
           {"causal", is_causal}}};
}

double width(const model::Prediction& prediction) {
  return prediction.interval90->second.value / prediction.interval90->first.value;
}

TEST(BySource, AnOperationTakesItsPhaseAndItsKernelsParameters) {
  const auto machine = builtin_machine("h100-sxm5-80gb");
  const model::Predictor predictor(model::Models::kCalibrated);
  const auto of = [&](const read::Op& op, std::string_view kernel) {
    auto outcome = predictor.predict(op, machine, {kernel, 0});
    EXPECT_TRUE(outcome.prediction && outcome.prediction->interval90) << outcome.reason;
    return *outcome.prediction;
  };
  const auto known = of(attention_op(2048, 2048, true), "FlashAttnFwdSm90<...>"),
             unknown = of(attention_op(2048, 2048, true), "");
  EXPECT_EQ(known.model, "attention_prompts");
  EXPECT_EQ(known.parameters, "h100-sxm5-80gb");
  EXPECT_LT(width(known), width(unknown));
  // Measured: 0.55 to 0.65 ms by the three stacks.
  EXPECT_NEAR(in_microseconds(known.time), 570, 120);
  EXPECT_EQ(of(attention_op(1, 2048, false), "").model, "attention_decoding");
  const auto encoder = of(attention_op(2048, 2048, false), "");
  EXPECT_EQ(encoder.model, "attention_encoders");
  EXPECT_GT(encoder.time.value, 1.3 * unknown.time.value);
  // A kernel of a generation that no table has is its family's.
  EXPECT_TRUE(
      of(attention_op(2048, 2048, true), "flash_fwd_kernel<...>").model.starts_with("family"));
  // So far from the encoders of the table that the family knows more.
  EXPECT_LT(width(of(attention_op(4096, 4096, false), "FlashAttnFwdSm90<...>")), 3);
  read::Op backward = attention_op(2048, 2048, true);
  backward.attributes.emplace_back("pass", std::string("backward"));
  const auto gradient = of(backward, "");
  EXPECT_NEAR(gradient.time.value / unknown.time.value, 2.5, 1e-9);
  EXPECT_TRUE(gradient.is_extrapolated);
  EXPECT_NE(gradient.model.find("2.5 times the forward pass"), std::string::npos);
}

TEST(BySource, AnotherGpuTakesTheNearestOnesWithAWiderInterval) {
  const model::Predictor predictor(model::Models::kCalibrated);
  const auto op = attention_op(2048, 2048, true);
  const auto own =
                 predictor.predict(op, builtin_machine("h100-sxm5-80gb"), {"FlashAttnFwdSm90", 0}),
             other =
                 predictor.predict(op, builtin_machine("h100-pcie-80gb"), {"FlashAttnFwdSm90", 0});
  ASSERT_TRUE(own.prediction && other.prediction);
  EXPECT_GT(width(*other.prediction), 1.2 * width(*own.prediction));
}

TEST(BySource, ASourceWithoutAFastKernelIsNotCarriedToAnotherGeneration) {
  const auto answered_by = [](const std::string& machine) {
    const model::BySource sources(
        model::experts_form(), model::choose_parameters("experts_h200-sxm-141gb_f8e4m3", "experts"),
        builtin_machine(machine));
    model::Sizes sizes{512, 2816, 704, 8, 128, 1, 3, 0};
    model::experts_form().complete(sizes);
    const auto answer =
        sources.of_group("vllm_modeloptfp8moe_flashinfer_cutlass_flashinferexperts f8e4m3", sizes);
    return answer ? answer->sources : 0;
  };
  EXPECT_EQ(answered_by("h100-sxm5-80gb"), 1U);
  EXPECT_EQ(answered_by("b200-sxm-180gb"), 2U);
}

TEST(ExpertLoads, AreThoseOfTheFullestGpu) {
  const auto even = model::expert_loads(128, 8, 256, 1, 0);
  EXPECT_EQ(even.active, 256);
  EXPECT_EQ(even.rows, 1024);
  EXPECT_EQ(even.tile, 16);
  const auto shared = model::expert_loads(128, 8, 256, 8, 0),
             skewed = model::expert_loads(128, 8, 256, 8, 1.2);
  EXPECT_EQ(shared.rows, 128);
  EXPECT_GT(skewed.rows, shared.rows);
  EXPECT_LT(skewed.rows, 1024);
  // One choice goes to one expert, however many there are.
  EXPECT_EQ(model::expert_loads(1, 1, 512, 8, 1.2).active, 1);
  // So few choices leave nothing to be uneven about: the law rounds to none anywhere.
  const auto few = model::expert_loads(1, 8, 256, 1, 1.2);
  EXPECT_EQ(few.active, 8);
  EXPECT_EQ(few.rows, 8);
  // The first GPU's experts are the first to get a second row: 48 tokens, a stride of 32.
  EXPECT_EQ(model::expert_loads(48, 8, 256, 32, 0).rows, 16);
}

TEST(ExpertLoads, NoExpertGetsMoreRowsThanThereAreTokens) {
  const auto loads = model::expert_loads(64, 4, 32, 1, 1.2);
  EXPECT_EQ(loads.rows, 256);
  EXPECT_EQ(loads.active, 32);
}

}  // namespace
}  // namespace inline_prof
