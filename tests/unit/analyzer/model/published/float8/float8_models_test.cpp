// The published roofline at its edges, with numbers that can be checked by hand.
#include "model/machines.hpp"
#include "model/published/float8/linear.hpp"
#include "model/registry.hpp"
#include "model/row_reader.hpp"
#include "read/table.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace inline_prof::model::float8 {
namespace {

// Round numbers: 1000 TFLOP/s in bf16, twice that in fp8; 1 TB/s; all of it can be reached.
constexpr Gpu kToyGpu{.name = "toy",
                      .bf16_peak = tera_flop_per_second(1000),
                      .fp8_peak = tera_flop_per_second(2000),
                      .fp4_peak = {},
                      .bandwidth = giga_bytes_per_second(1000),
                      .gemm_fraction = 1.0,
                      .memory_fraction = 1.0};

TEST(Float8Gemm, ScalesAreCountedInWholeBytes) {
  // 31 elements are read: no whole block of 32; with 33 there is one.
  EXPECT_DOUBLE_EQ(time_gemm(kToyGpu, {1, 1, 30, Precision::kFp8, 32}).traffic.value, 31 + 60);
  EXPECT_DOUBLE_EQ(time_gemm(kToyGpu, {1, 1, 32, Precision::kFp8, 32}).traffic.value, 33 + 1 + 64);
}

TEST(Float8Gemm, RefusesAPrecisionThatTheGpuDoesNotHave) {
  EXPECT_THROW(static_cast<void>(time_gemm(kToyGpu, {1, 1, 1, Precision::kFp4, 0})),
               std::invalid_argument);
}

TEST(Float8Casts, AKernelWithoutBytesStillCostsALaunch) {
  EXPECT_DOUBLE_EQ(in_microseconds(cast_kernel(kToyGpu, 0.0, 1e9).time), 2.0);
}

TEST(Float8Casts, BlockwiseIsSixKernels) {
  const auto casts = blockwise_casts(kToyGpu, {128, 128, 128}, false);
  ASSERT_EQ(casts.size(), 6U);
  // 2 bytes read and 1 written of 16384 elements; 128 scales of 4 bytes.
  EXPECT_DOUBLE_EQ(casts[0].traffic.value, 3 * 16384 + 512);
  // One scale for the whole weight.
  EXPECT_DOUBLE_EQ(casts[1].traffic.value, 3 * 16384 + 4);
}

TEST(Float8Gpus, OnlyTheNewestEditionTakesTheStartOfAName) {
  EXPECT_EQ(find_gpu("NVIDIA H100 80GB HBM3", ConstantSet::kOriginal), nullptr);
  ASSERT_NE(find_gpu("NVIDIA H100 80GB HBM3", ConstantSet::kMain), nullptr);
  EXPECT_EQ(find_gpu("NVIDIA H100 80GB HBM3", ConstantSet::kMain)->name, "NVIDIA H100");
}

// Predicts the only row of a table.
RowPrediction predict_row(const char* model_name, const std::string& text,
                          ConstantSet constants = ConstantSet::kOriginal) {
  const read::Table table(text, "t.csv");
  ModelOptions options;
  options.constants = constants;
  const auto model = find_model(model_name).make(options);
  RowReader reader(table, model->inputs());
  return model->predict(reader.read(0));
}

struct Ending {
  const char* name;
  const char* model;
  const char* table;
  ConstantSet constants;
  const char* error;
  const char* reason;

  friend void PrintTo(const Ending& row, std::ostream* out) { *out << row.table; }
};

class Float8RooflineHasNoAnswer : public testing::TestWithParam<Ending> {};

TEST_P(Float8RooflineHasNoAnswer, AndNamesTheExceptionOfTheOriginal) {
  const auto [name, model, table, constants, error, reason] = GetParam();
  const RowPrediction prediction = predict_row(model, table, constants);
  EXPECT_FALSE(prediction.time_us);
  EXPECT_EQ(prediction.error, error);
  EXPECT_EQ(prediction.reason, reason);
}

INSTANTIATE_TEST_SUITE_P(
    All, Float8RooflineHasNoAnswer,
    testing::Values(
        Ending{"UnknownGpu", "roofline_linear",
               "gpu,M,K,N,float8_recipe\nNVIDIA L40S,1,1,1,tensorwise\n", ConstantSet::kOriginal,
               "KeyError",
               "gpu NVIDIA L40S is none of NVIDIA H100, NVIDIA B200, AMD Instinct MI300X"},
        Ending{
            "LongerName", "roofline_linear",
            "gpu,M,K,N,float8_recipe\nNVIDIA H100 80GB HBM3,1,1,1,tensorwise\n",
            ConstantSet::kOriginal, "KeyError",
            "gpu NVIDIA H100 80GB HBM3 is none of NVIDIA H100, NVIDIA B200, AMD Instinct MI300X"},
        Ending{"NoFractions", "roofline_linear",
               "gpu,M,K,N,float8_recipe\nNVIDIA GeForce RTX 5090,1,1,1,tensorwise\n",
               ConstantSet::kMain, "KeyError",
               "NVIDIA GeForce RTX 5090 has no reachable fractions"},
        Ending{"NoFp4", "roofline_linear", "gpu,M,K,N,recipe\nNVIDIA H100,1,1,1,nvfp4\n",
               ConstantSet::kMain, "KeyError", "NVIDIA H100 has no peak for fp4"},
        Ending{"NoRecipe", "roofline_linear", "gpu,M,K,N\nNVIDIA H100,1,1,1\n",
               ConstantSet::kOriginal, "AssertionError",
               "neither a float8_recipe nor an mx_recipe"},
        Ending{
            "RecipeOfTheOtherEdition", "roofline_linear",
            "gpu,M,K,N,mx_recipe\nNVIDIA H100,1,1,1,mxfp8_cutlass\n", ConstantSet::kMain,
            "AssertionError",
            "mx_recipe mxfp8_cutlass is none of mxfp8_emulated, mxfp8_cublas, mxfp8_cublas_rceil, "
            "mxfp8_32x32_flexible_gemm_layout, mxfp8_32x32_weight, mxfp4_cutlass"},
        Ending{"TwoRecipes", "roofline_linear",
               "gpu,M,K,N,float8_recipe,mx_recipe\nNVIDIA H100,1,1,1,rowwise_with_gw_hp,"
               "mxfp8_cublas\n",
               ConstantSet::kOriginal, "AssertionError",
               "rowwise_with_gw_hp does not go with an mx_recipe"},
        Ending{"TrainingRecipeInInference", "roofline_linear",
               "gpu,M,K,N,recipe\nNVIDIA B200,1,1,1,mxfp4_cutlass\n", ConstantSet::kMain,
               "ValueError",
               "recipe mxfp4_cutlass is none of tensorwise, rowwise, mxfp8..., mxfp4, nvfp4, "
               "nvfp4_static, nvfp4_no_global_scale"},
        Ending{"ScalesInBf16", "roofline_gemm",
               "gpu,M,K,N,dtype,mx_recipe\nNVIDIA H100,1,1,1,bfloat16,mxfp8_cublas\n",
               ConstantSet::kOriginal, "AssertionError", "mxfp8_cublas does not go with bfloat16"},
        Ending{"UnknownRole", "roofline_cast",
               "gpu,dim0,dim1,tensor_role,float8_recipe\nNVIDIA H100,1,1,bias,tensorwise\n",
               ConstantSet::kOriginal, "AssertionError",
               "tensor_role bias is none of input, weight, grad_output"}),
    [](const auto& row) { return row.param.name; });

// The recipe in which roofline_linear is asked about a product.
std::string recipe_told_by(const char* type, const char* kernel) {
  const read::Op op{"gemm", "", {{"m", std::int64_t{64}}, {"a_type", std::string(type)}}};
  const read::Machine h100 = choose_machine("h100-sxm5-80gb", builtin_machines());
  const auto inputs =
      find_model("roofline_linear").inputs_of({op, h100, {.name = kernel, .blocks = 0}});
  for (const auto& [column, value] : inputs.values) {
    if (column == "float8_recipe" || column == "mx_recipe") return std::get<std::string>(value);
  }
  return "";
}

TEST(Float8Roofline, TypesAndKernelsTellTheRecipe) {
  EXPECT_EQ(recipe_told_by("bf16", "sm90_fp8_blockwise"), "");
  EXPECT_EQ(recipe_told_by("f8e4m3", "nvjet_qqtst_128x256"), "tensorwise");
  EXPECT_EQ(recipe_told_by("f8e4m3", "deep_gemm::sm90_fp8_gemm_1d2d_impl"), "blockwise_128");
  EXPECT_EQ(recipe_told_by("f8e4m3", "cutlass_mx_float8_t<float_e4m3_t>"), "mxfp8_cublas");
  EXPECT_EQ(recipe_told_by("f4e2m1", "gemm"), "mxfp4_cutlass");
}

}  // namespace
}  // namespace inline_prof::model::float8
