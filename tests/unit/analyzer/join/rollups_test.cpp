#include "join/rollups.hpp"

#include "joined_profiles.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

Analysis rolled_up(const std::vector<read::Event>& events, double iteration_us) {
  return test::joined(profile_of(events, iteration_us));
}

read::Op op_of(const std::string& source) {
  read::Op op = memory_op(500000, 500000);
  op.source = source;
  return op;
}

std::vector<std::string> names_of(const std::vector<Cause>& causes) {
  std::vector<std::string> names;
  names.reserve(causes.size());
  for (const Cause& cause : causes)
    names.push_back(cause.name);
  return names;
}

TEST(Rollups, AKernelInANamespaceWithoutANameIsAnOperatorByItsOwn) {
  const Analysis analysis = rolled_up(
      {EventBuilder("(anonymous_namespace)::softmax<float>(int)", 0, 1).samples_us({12}),
       EventBuilder("at::native::(anonymous namespace)::cat<int>(char*)", 2, 3).samples_us({11})},
      100);
  const auto operators = totals_by_operator(analysis);
  ASSERT_EQ(operators.size(), 2U);
  EXPECT_EQ(operators[0].name, "softmax");
  EXPECT_EQ(operators[1].name, "at::native::cat");
}

TEST(Rollups, CastsAreOneCauseWithTheirSum) {
  std::vector<read::Event> events;
  events.reserve(4);
  for (std::int64_t i = 0; i < 3; ++i) {
    events.push_back(EventBuilder("cast", 2 * i, 2 * i + 1)
                         .layer("blocks." + std::to_string(i) + ".mlp")
                         .op(op_of("aten::_to_copy"))
                         .samples_us({12}));
  }
  events.push_back(EventBuilder("add", 8, 9).layer("head").op(op_of("aten::add")).samples_us({11}));
  const Analysis analysis = rolled_up(events, 100);
  const auto causes = find_causes(analysis);
  ASSERT_THAT(names_of(causes), ElementsAre("dtype casts"));
  EXPECT_EQ(causes[0].rows, 3U);
  EXPECT_NEAR(causes[0].gain_us, 36, 1e-6);
  const auto operators = totals_by_operator(analysis);
  ASSERT_EQ(operators.size(), 2U);
  EXPECT_EQ(operators[0].name, "aten::_to_copy");
  EXPECT_EQ(operators[0].count, 3U);
  EXPECT_NEAR(*operators[0].ratio, 1.2, 1e-6);
  const auto layers = totals_by_layer_pattern(analysis);
  EXPECT_EQ(layers[0].name, "blocks.*.mlp");
  EXPECT_EQ(layers[0].count, 3U);
  EXPECT_NEAR(layers[0].time_us, 36, 1e-6);
}

TEST(Rollups, CopiesWithinTheDeviceAreACauseWithTheirSum) {
  read::Op copy{"copy", "", {{"bytes", std::int64_t{500000}}}};
  copy.attributes.emplace_back("direction", std::string("device_to_device"));
  const auto causes = find_causes(rolled_up(
      {EventBuilder("Memcpy DtoD (Device -> Device)", 0, 1).layer("a").op(copy).samples_us({12}),
       EventBuilder("Memcpy DtoD (Device -> Device)", 2, 3).layer("b").op(copy).samples_us({14})},
      100));
  ASSERT_THAT(names_of(causes), ElementsAre("copies within the device"));
  EXPECT_NEAR(causes[0].gain_us, 26, 1e-6);
}

TEST(Rollups, CopiesOfPageableMemoryAreToBePinned) {
  const auto copy = [](const std::string& name, std::int64_t index) -> read::Event {
    return EventBuilder(name, index, index + 1)
        .op({"copy",
             "",
             {{"bytes", std::int64_t{500000}}, {"direction", std::string("host_to_device")}}})
        .samples_us({900});
  };
  JoinOptions options;
  options.machine = builtin_machine("h200-sxm-141gb");
  options.event_bias.kind = BiasSetting::Kind::kOff;
  const Analysis analysis = join_profiles({profile_of({copy("Memcpy HtoD (Pageable -> Device)", 0),
                                                       copy("Memcpy HtoD (Pinned -> Device)", 2)},
                                                      2000)},
                                          {}, options);
  const auto causes = find_causes(analysis);
  ASSERT_THAT(names_of(causes), ElementsAre("copies of pageable memory"));
  EXPECT_EQ(causes[0].rows, 1U);
  EXPECT_NEAR(causes[0].gain_us, 900 - *analysis.merged[0].predicted_us, 1e-6);
}

TEST(Rollups, AttentionOfProductsIsACauseWithoutItsProducts) {
  read::Op product = test::gemm_op(512, 512, 512, "f16");
  product.source = "cublasGemmStridedBatchedEx";
  const auto event = [](const std::string& name, std::int64_t index, read::Op op, double time_us) {
    return EventBuilder(name, index, index + 1)
        .layer("attn")
        .op(std::move(op))
        .samples_us({time_us});
  };
  const auto causes = find_causes(
      rolled_up({event("bmm", 0, product, 300), event("scale", 2, op_of("aten::div"), 12),
                 event("soft", 4, op_of("aten::_softmax"), 12), event("bmm2", 6, product, 300)},
                1000));
  ASSERT_THAT(names_of(causes), ElementsAre("attention of single products"));
  EXPECT_THAT(causes[0].advice, HasSubstr("scaled_dot_product_attention"));
  EXPECT_NEAR(causes[0].gain_us, 24, 1e-6);
}

TEST(Rollups, UnfusedKernelsOfEqualLayersAreOneCause) {
  std::vector<read::Event> events;
  events.reserve(6);
  for (std::int64_t i = 0; i < 6; ++i) {
    events.push_back(EventBuilder("kernel", i, i + 1)
                         .layer("Block_" + std::to_string(i / 3) + "/Norm")
                         .kernel("void at::native::vectorized_elementwise_kernel<4, f>")
                         .op(op_of(i % 3 == 0 ? "aten::_to_copy" : "aten::op" + std::to_string(i)))
                         .occurrence(i)
                         .samples_us({12}));
  }
  const auto causes = find_causes(rolled_up(events, 100));
  ASSERT_THAT(names_of(causes), ElementsAre("unfused kernels in Norm")) << "casts among them";
  EXPECT_EQ(causes[0].rows, 6U);
  EXPECT_NEAR(causes[0].time_us, 72, 1e-6);
  EXPECT_NEAR(causes[0].gain_us, 72 - 2 * 12, 1e-6) << "two kernels, as long as the longest";
}

TEST(Rollups, AnUnfusedOptimizerSavesWhatLiesAboveItsBound) {
  const auto causes = find_causes(rolled_up({EventBuilder("optimizer.step", 0, 1)
                                                 .layer("optimizer.AdamW")
                                                 .op(op_of("PROFILE_OP"))
                                                 .samples_us({90})},
                                            100));
  ASSERT_THAT(names_of(causes), ElementsAre("unfused optimizer"));
  EXPECT_NEAR(causes[0].gain_us, 80, 1e-6);
  const auto of_fused =
      find_causes(rolled_up({EventBuilder("optimizer.step", 0, 1)
                                 .layer("optimizer.AdamW")
                                 .kernel("multi_tensor_apply_kernel<FusedAdamMathFunctor>")
                                 .op(op_of("PROFILE_OP"))
                                 .samples_us({14})},
                            100));
  EXPECT_THAT(names_of(of_fused), IsEmpty());
}

// A message is smaller than those that the model was fitted to, but waits for a hundred times what
// it takes.
TEST(Rollups, AReceiveThatWaitsForItsStageIsACause) {
  JoinOptions options;
  options.machine = builtin_machine("h200-sxm-141gb");
  const read::Op recv{.kind = "collective",
                      .source = "ncclRecv",
                      .attributes = {{"op", std::string("recv")},
                                     {"type", std::string("f32")},
                                     {"bytes", std::int64_t{1} << 14},
                                     {"ranks", std::int64_t{4}}}};
  const Analysis analysis = join_profiles(
      {profile_of({EventBuilder("recv", 0, 1).samples_us({600}).op(recv)}, 1000)}, {}, options);
  EXPECT_EQ(analysis.merged[0].verdict, Verdict::kExtrapolated);
  EXPECT_THAT(names_of(find_causes(analysis)),
              ElementsAre("collectives that take longer than their transfer"));
}

TEST(Rollups, OfOptimizersThatPyTorchDoesNotFuseTheStepIsCompiled) {
  const auto causes = find_causes(rolled_up({EventBuilder("optimizer.step", 0, 1)
                                                 .layer("optimizer.RMSprop")
                                                 .op(op_of("PROFILE_OP"))
                                                 .samples_us({90}),
                                             EventBuilder("optimizer.step", 1, 2)
                                                 .layer("optimizer.Adam")
                                                 .op(op_of("PROFILE_OP"))
                                                 .samples_us({80})},
                                            200));
  ASSERT_THAT(names_of(causes), ElementsAre("unfused optimizer", "unfused optimizer"));
  EXPECT_THAT(causes[0].advice, HasSubstr("torch.compile(optimizer.step)"));
  EXPECT_THAT(causes[1].advice, HasSubstr("fused=True"));
  EXPECT_EQ(causes[0].unit, "row") << "a step is several kernels";
}

TEST(Rollups, ACollectiveThatWaitsIsNoSlowKernel) {
  JoinOptions options;
  options.machine = builtin_machine("h200-sxm-141gb");
  options.event_bias.kind = BiasSetting::Kind::kOff;
  const read::Op all_reduce{.kind = "collective",
                            .source = "nccl:all_reduce",
                            .attributes = {{"op", std::string("all_reduce")},
                                           {"type", std::string("f16")},
                                           {"bytes", std::int64_t{1} << 25},
                                           {"ranks", std::int64_t{2}}}};
  const Analysis analysis = join_profiles(
      {profile_of(
          {EventBuilder("all_reduce", 0, 1).samples_us(std::vector<double>(7, 900)).op(all_reduce)},
          1000)},
      {}, options);
  const auto causes = find_causes(analysis);
  ASSERT_THAT(names_of(causes), ElementsAre("collectives that take longer than their transfer"));
  EXPECT_NEAR(causes[0].gain_us, 900 - *analysis.merged[0].predicted_us, 1e-6);
  // Work on another stream hides all but the last 100 us.
  const Analysis hidden = join_profiles({profile_of({EventBuilder("all_reduce", 0, 1)
                                                         .samples_us(std::vector<double>(7, 900))
                                                         .offset_us(0)
                                                         .op(all_reduce),
                                                     EventBuilder("work", 1, 2)
                                                         .stream(1)
                                                         .samples_us(std::vector<double>(7, 800))
                                                         .offset_us(0)},
                                                    1000)},
                                        {}, options);
  const auto left = find_causes(hidden);
  ASSERT_THAT(names_of(left), Contains("collectives that take longer than their transfer"));
  for (const Cause& cause : left) {
    if (cause.rows == 1) {
      EXPECT_NEAR(cause.gain_us, 100, 1e-6);
    }
  }
}

// 4 MB at the data sheet's 200 GB/s take 20 us, and at what is reached 40.
TEST(Rollups, ARowFasterThanItsBoundAllowsIsInNoSum) {
  const Analysis analysis =
      rolled_up({EventBuilder("copy", 0, 1).op(memory_op(2000000, 2000000)).samples_us({10}),
                 EventBuilder("other", 2, 3).op(memory_op(2000000, 2000000)).samples_us({30})},
                100);
  EXPECT_EQ(impossible_rows(analysis), 1U);
  EXPECT_EQ(analysis.merged[0].verdict, Verdict::kImpossible);
  EXPECT_FALSE(analysis.merged[0].predicted_us);
  EXPECT_EQ(analysis.merged[0].reason,
            "2.0 times faster than memory allows: bytes or time are wrong");
  EXPECT_EQ(analysis.merged[1].verdict, Verdict::kAboveBound);  // faster than is usual
  EXPECT_EQ(analysis.errors->rows, 1U);
  EXPECT_NEAR(analysis.shares_percent->predicted, 30, 1e-6);
}

TEST(Rollups, ALayerWithoutASampleTakesWhatItsPartsTake) {
  const Analysis analysis = rolled_up(
      {EventBuilder("fc", 0, 3).layer("fc"), EventBuilder("a", 1, 2).layer("fc").samples_us({30}),
       EventBuilder("b", 2, 3).layer("fc").samples_us({10})},
      100);
  const auto layers = totals_by_layer_pattern(analysis);
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_NEAR(layers[0].time_us, 40, 1e-6);
  EXPECT_NEAR(*layers[0].share_percent, 40, 1e-6);
}

// "both" is predicted to take 10 us; device 1 alone runs "one".
TEST(Rollups, TimeShareAndRatioOfALineAreMeansOverAllDevices) {
  const Analysis analysis =
      rolled_up({EventBuilder("both", 0, 1).op(op_of("both")).samples_us({10, 10, 10}),
                 EventBuilder("both", 0, 1).device(1).op(op_of("both")).samples_us({30}),
                 EventBuilder("one", 2, 3).device(1).layer("fc").op(op_of("one")).samples_us({20})},
                100);
  const auto operators = totals_by_operator(analysis);
  ASSERT_EQ(operators.size(), 2U);
  EXPECT_NEAR(operators[0].time_us, 20, 1e-6);
  EXPECT_NEAR(*operators[0].ratio, 2, 1e-6);
  for (const Total& total : {operators[1], totals_by_layer_pattern(analysis)[1]}) {
    EXPECT_NEAR(total.time_us, 10, 1e-6);
    EXPECT_NEAR(*total.share_percent, 10, 1e-6);
    EXPECT_NEAR(*total.ratio, 2, 1e-6);
  }
}

TEST(Rollups, TheUtilisationIsThatOfTheDataSheetsPeak) {
  const read::Op product = test::gemm_op(1000, 1000, 1000, "f16");
  // 2 GFLOP at 2 TFLOP/s take 1000 us.
  const Analysis analysis =
      rolled_up({EventBuilder("gemm", 0, 1).layer("fc").op(product).samples_us({4000})}, 5000);
  EXPECT_NEAR(*flops_utilisation(analysis), 0.2, 1e-9);
  EXPECT_NEAR(*totals_by_layer_pattern(analysis)[0].peak_part, 0.25, 1e-9);
}

}  // namespace
}  // namespace inline_prof::join
