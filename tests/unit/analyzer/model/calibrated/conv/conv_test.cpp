#include "model/calibrated/conv/conv.hpp"

#include "fit/fits.hpp"
#include "model/registry.hpp"
#include "profile_builder.hpp"
#include "read/parameters.hpp"
#include "testing.hpp"

#include <fmt/format.h>

namespace inline_prof::model {
namespace {

std::optional<ConvKernel> kernel_3x3(std::string_view name) {
  return parse_conv_kernel(name, 3, 3, 1);
}

TEST(ConvKernelName, TellsTheAlgorithm) {
  using enum ConvAlgorithm;
  const struct {
    const char* name;
    double filter, stride;
    ConvAlgorithm algorithm;
  } rows[] = {
      {"cudnn_infer_ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", 3, 1, kWinograd},
      {"ampere_sgemm_128x128_nn", 3, 1, kWinogradNonfused},
      {"ampere_gcgemm_64x64_nt", 3, 1, kFft},
      {"void explicit_convolve_sgemm<float, int>", 3, 1, kExplicitGemm},
      {"void implicit_convolve_sgemm<float, float, 128, 5>", 3, 1, kPlainImplicitGemm},
      {"cudnn_infer_volta_scudnn_128x64_relu_small_nn_v1", 3, 1, kImplicitGemm},
      // Kernels that prepare the image.
      {"void cudnn::winograd_nonfused::winogradForwardData4x4<float>", 3, 1, kWinogradNonfused},
      {"void cudnn::ops::im2col4d_kernel<float, long>", 3, 1, kExplicitGemm},
      // A product is no Winograd for other filters.
      {"volta_sgemm_64x64_nn", 1, 1, kExplicitGemm},
      {"volta_sgemm_64x64_nn", 3, 2, kExplicitGemm}};
  for (const auto& [name, filter, stride, algorithm] : rows) {
    const auto kernel = parse_conv_kernel(name, filter, filter, stride);
    ASSERT_TRUE(kernel) << name;
    EXPECT_EQ(kernel->algorithm, algorithm) << name;
  }
}

TEST(ConvKernelName, HoldsTheTile) {
  const auto gemm = kernel_3x3("cudnn_infer_volta_scudnn_128x32_sliced1x4_ldg4_relu_exp_small");
  EXPECT_EQ(gemm->tile_m, 128);
  EXPECT_EQ(gemm->tile_n, 32);
  const auto hopper = kernel_3x3("sm90_xmma_fprop_implicit_gemm_f32_tilesize128x256x64_cudnn");
  EXPECT_EQ(hopper->tile_m, 128);
  EXPECT_EQ(hopper->tile_n, 256);
  const auto winograd = kernel_3x3("scudnn_winograd_128x128_ldg1_ldg4_relu_tile442t_nt_v1");
  EXPECT_EQ(winograd->winograd_tile, (std::array<double, 3>{4, 4, 2}));
}

TEST(ConvKernelName, OfAnotherKernelIsNone) {
  EXPECT_FALSE(kernel_3x3("vectorized_elementwise_kernel"));
  EXPECT_FALSE(kernel_3x3(""));
}

read::Machine v100() {
  return builtin_machine("v100-pcie-32gb");
}

ConvAnalytic analytic(ConvDirection direction = ConvDirection::kForward) {
  std::vector<double> values;
  for (const ParameterSpec& spec : ConvAnalytic::parameters())
    values.push_back(spec.start);
  return {conv_machine(v100(), "f32"), direction, values};
}

ConvShape shape_3x3(double n, double c, double size, double k) {
  return {.n = n, .c = c, .h = size, .w = size, .k = k, .r = 3, .s = 3, .pad_h = 1, .pad_w = 1};
}

TEST(ConvAnalytic, TakesNoLessForMoreWork) {
  for (const std::string_view name :
       {"volta_sgemm_64x64_nn", "volta_gcgemm_64x64_nt", "scudnn_winograd_tile148t_nt",
        "volta_scudnn_128x64_relu", "void explicit_convolve_sgemm"}) {
    double previous = 0;
    for (double n = 1; n <= 1 << 16; n *= 2) {
      const double time_us = analytic().predict(shape_3x3(n, 64, 28, 64), kernel_3x3(name)).time_us;
      EXPECT_TRUE(std::isfinite(time_us)) << name;
      EXPECT_GE(time_us, previous) << name << ", n = " << n;
      previous = time_us;
    }
  }
}

TEST(ConvAnalytic, IsNoFasterThanTheDirectProductsAllow) {
  // A product has to do all multiplications; 14.1 TFLOP/s is the V100's peak.
  const ConvShape shape = shape_3x3(32, 256, 28, 256);
  const double flops = 2.0 * 32 * 28 * 28 * 256 * 256 * 9;
  EXPECT_GT(analytic().predict(shape, kernel_3x3("volta_scudnn_128x64_relu")).time_us,
            flops / 14.1e6);
}

TEST(ConvAnalytic, PicksTheFastestWayWhereNoneIsKnown) {
  const ConvShape shape = shape_3x3(32, 256, 28, 256);
  const ConvTime best = analytic().predict(shape, std::nullopt);
  EXPECT_NE(best.algorithm, ConvAlgorithm::kImplicitGemm);  // Winograd multiplies a quarter
  EXPECT_LE(best.time_us,
            analytic().predict(shape, kernel_3x3("volta_scudnn_winograd_tile148t")).time_us);
}

TEST(ConvAnalytic, TakesAsLongBackAsForthBetweenEqualTensors) {
  const ConvShape shape = shape_3x3(16, 128, 28, 128);
  EXPECT_DOUBLE_EQ(analytic(ConvDirection::kBackwardData).predict(shape, std::nullopt).time_us,
                   analytic().predict(shape, std::nullopt).time_us);
}

TEST(ConvShape, RefusesAFilterThatDoesNotFit) {
  ConvShape shape = shape_3x3(1, 3, 4, 8);
  EXPECT_EQ(complaint_about(shape), "");
  shape.r = 7;
  EXPECT_NE(complaint_about(shape), "");
  shape.r = 3;
  shape.groups = 2;
  EXPECT_NE(complaint_about(shape), "");
}

// A table whose times are the analytic model's with these factors, so that a fit can find them.
// `drift_us`: what the host adds more to the last row than to the first.
std::string table_of(double noise, double drift_us = 0) {
  std::string text = "n,c,h,w,k,r,s,stride,pad,kernel_name,progress,time_us\n";
  constexpr int rows = 27;
  int i = 0;
  for (const double n : {1, 8, 32}) {
    for (const double c : {32, 96, 256}) {
      for (const double k : {48, 128, 384}) {
        const double size = i % 2 == 0 ? 14 : 28;
        const char* name = i % 3 == 0 ? "volta_sgemm_64x64_nn" : "volta_scudnn_128x64_relu";
        const double time_us =
            1.4 * analytic().predict(shape_3x3(n, c, size, k), kernel_3x3(name)).time_us;
        const double factor = 1 + (i++ % 2 == 0 ? noise : -noise);
        const double progress = std::fmod(7.0 * i, rows) / rows;  // not with the size
        text += fmt::format("{},{},{},{},{},3,3,1,1,{},{},{}\n", n, c, size, size, k, name,
                            progress, time_us * factor + drift_us * progress);
      }
    }
  }
  return text;
}

fit::FitResult fit_of(const std::string& text, const std::string& kernel) {
  fit::FitRequest request;
  request.machine = v100();
  request.settings = {{"kernel", kernel}};
  request.tables.emplace_back(text, "conv.csv");
  request.say = [](std::string_view) {};
  return fit::conv_fit_entry().fit(request);
}

TEST(ConvFit, FindsTimesThatItsModelCanMake) {
  const fit::FitResult result = fit_of(table_of(0.01), "known");
  const auto parameters = read::parse_parameters(result.file_text, "p.json", "conv");
  const CalibratedConv conv(parameters, v100());
  EXPECT_TRUE(conv.knows_kernels());
  const auto kernel = kernel_3x3("volta_scudnn_128x64_relu");
  const ConvShape unseen = shape_3x3(16, 128, 28, 128);
  const auto p = conv.predict(unseen, kernel);
  EXPECT_NEAR(p.estimate.time_us / (1.4 * analytic().predict(unseen, kernel).time_us), 1.0, 0.15);
  EXPECT_LT(p.estimate.lower_us, p.estimate.time_us);
  EXPECT_GT(p.estimate.upper_us, p.estimate.time_us);
}

TEST(ConvFit, TellsAHostThatSlowsDownFromTheGpu) {
  constexpr double drift_us = 60;
  const fit::FitResult result = fit_of(table_of(0.01, drift_us), "known");
  const CalibratedConv conv(read::parse_parameters(result.file_text, "p.json", "conv"), v100());
  const auto kernel = kernel_3x3("volta_scudnn_128x64_relu");
  const ConvShape small = shape_3x3(1, 64, 14, 64);
  const auto first = conv.predict(small, kernel, 0.0), last = conv.predict(small, kernel, 1.0);
  EXPECT_NEAR(last.estimate.time_us - first.estimate.time_us, drift_us, 0.3 * drift_us);
  // When it was timed is not said: anything from the first to the last.
  const auto unknown = conv.predict(small, kernel);
  EXPECT_LT(unknown.estimate.lower_us, first.estimate.time_us);
  EXPECT_GT(unknown.estimate.upper_us, last.estimate.time_us);
}

TEST(ConvFit, GivesTheSameBytesTwice) {
  const std::string table = table_of(0.05);
  EXPECT_EQ(fit_of(table, "unknown").file_text, fit_of(table, "unknown").file_text);
}

TEST(ConvFit, RefusesWhatItCannotUse) {
  EXPECT_THROW(static_cast<void>(fit_of(table_of(0), "perhaps")), std::invalid_argument);
  const std::string few = "n,c,h,w,k,r,s,stride,pad,time_us\n1,2,8,8,4,3,3,1,1,10\n";
  EXPECT_THROW(static_cast<void>(fit_of(few, "unknown")), read::InputError);
}

}  // namespace
}  // namespace inline_prof::model
