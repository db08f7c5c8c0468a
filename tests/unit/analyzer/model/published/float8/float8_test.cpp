// torchao's roofline against what its own code has computed.
#include "golden.hpp"
#include "model/registry.hpp"
#include "model/row_reader.hpp"
#include "profile_builder.hpp"
#include "read/table.hpp"
#include "read/text_lines.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

constexpr double kMicroseconds = 1e6;  // the files hold seconds

model::ModelOptions main_edition() {
  model::ModelOptions options;
  options.constants = model::ConstantSet::kMain;
  return options;
}

TEST(PublishedFloat8Roofline, ProductsOfALayer) {
  expect_golden("roofline_gemm", "float8/roofline_gemm.csv",
                {{"total_3gemm_s", "", 1e-12, kMicroseconds},
                 {"gemm_output_s"},
                 {"gemm_grad_input_s"},
                 {"gemm_grad_weight_s"}},
                "");
}

TEST(PublishedFloat8Roofline, Casts) {
  expect_golden("roofline_cast", "float8/roofline_cast.csv",
                {{"total_s", "", 1e-12, kMicroseconds}, {"n_kernels"}}, "");
}

TEST(PublishedFloat8Roofline, EachKernelOfACast) {
  const read::Table table = read::read_table(golden_path("float8/roofline_cast.csv"));
  const auto model = model::find_model("roofline_cast").make({});
  model::RowReader reader(table, model.inputs);
  const std::size_t column = table.require("kernel_s");
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const auto prediction = model.predict(reader.read(i));
    const std::string given = std::get<std::string>(prediction.parts.at(1));
    const std::string expected = table.cell(i, column);
    const auto given_words = read::words(given);
    const auto expected_words = read::words(expected);
    ASSERT_EQ(given_words.size(), expected_words.size()) << "line " << table.line(i);
    for (std::size_t kernel = 0; kernel < given_words.size(); ++kernel) {
      const double time = read::number_of(expected_words[kernel]).value();
      EXPECT_NEAR(read::number_of(given_words[kernel]).value(), time, 1e-12 * time);
    }
  }
}

TEST(PublishedFloat8Roofline, ALayerInTraining) {
  expect_golden("roofline_linear", "float8/roofline_linear.csv",
                {{"lowp_total_s", "", 1e-12, kMicroseconds},
                 {"bf16_gemm_s"},
                 {"lowp_gemm_s"},
                 {"lowp_ovhd_s"},
                 {"speedup"}},
                "");
}

TEST(PublishedFloat8Roofline, ALayerInTrainingInTheNewestEdition) {
  expect_golden("roofline_linear", "float8/roofline_main_train.csv",
                {{"bf16_gemm_s"}, {"lowp_gemm_s"}, {"lowp_ovhd_s"}, {"speedup"}}, "",
                main_edition());
}

TEST(PublishedFloat8Roofline, ALayerInInference) {
  expect_golden(
      "roofline_linear", "float8/roofline_main_inference.csv",
      {{"bf16_act_ovhd_s"}, {"bf16_gemm_s"}, {"lowp_gemm_s"}, {"lowp_ovhd_s"}, {"speedup_fused"}},
      "", main_edition());
}
}  // namespace
}  // namespace inline_prof::test

namespace inline_prof::model {
namespace {

// At its edges, with numbers that can be checked by hand.

// Predicts the only row of a table.
RowPrediction predict_row(const char* model_name, const std::string& text,
                          ConstantSet constants = ConstantSet::kOriginal) {
  const read::Table table(text, "t.csv");
  ModelOptions options;
  options.constants = constants;
  const auto model = find_model(model_name).make(options);
  RowReader reader(table, model.inputs);
  return model.predict(reader.read(0));
}

TEST(Float8Gpus, OnlyTheNewestEditionTakesTheStartOfAName) {
  const std::string table = "gpu,M,K,N,float8_recipe\nNVIDIA H100 80GB HBM3,1,1,1,tensorwise\n";
  EXPECT_FALSE(predict_row("roofline_linear", table).time_us);
  EXPECT_TRUE(predict_row("roofline_linear", table, ConstantSet::kMain).time_us);
}

struct Ending {
  const char* model;
  const char* table;
  ConstantSet constants;
  const char* error;
  const char* reason;
};

TEST(Float8RooflineHasNoAnswer, AndNamesTheExceptionOfTheOriginal) {
  const Ending rows[] = {
      {"roofline_linear", "gpu,M,K,N,float8_recipe\nNVIDIA L40S,1,1,1,tensorwise\n",
       ConstantSet::kOriginal, "KeyError",
       "gpu NVIDIA L40S is none of NVIDIA H100, NVIDIA B200, AMD Instinct MI300X"},
      {"roofline_linear", "gpu,M,K,N,float8_recipe\nNVIDIA H100 80GB HBM3,1,1,1,tensorwise\n",
       ConstantSet::kOriginal, "KeyError",
       "gpu NVIDIA H100 80GB HBM3 is none of NVIDIA H100, NVIDIA B200, AMD Instinct MI300X"},
      {"roofline_linear", "gpu,M,K,N,float8_recipe\nNVIDIA GeForce RTX 5090,1,1,1,tensorwise\n",
       ConstantSet::kMain, "KeyError", "NVIDIA GeForce RTX 5090 has no reachable fractions"},
      {"roofline_linear", "gpu,M,K,N,recipe\nNVIDIA H100,1,1,1,nvfp4\n", ConstantSet::kMain,
       "KeyError", "NVIDIA H100 has no peak for fp4"},
      {"roofline_linear", "gpu,M,K,N\nNVIDIA H100,1,1,1\n", ConstantSet::kOriginal,
       "AssertionError", "neither a float8_recipe nor an mx_recipe"},
      {"roofline_linear", "gpu,M,K,N,mx_recipe\nNVIDIA H100,1,1,1,mxfp8_cutlass\n",
       ConstantSet::kMain, "AssertionError",
       "mx_recipe mxfp8_cutlass is none of mxfp8_emulated, mxfp8_cublas, mxfp8_cublas_rceil, "
       "mxfp8_32x32_flexible_gemm_layout, mxfp8_32x32_weight, mxfp4_cutlass"},
      {"roofline_linear",
       "gpu,M,K,N,float8_recipe,mx_recipe\nNVIDIA H100,1,1,1,rowwise_with_gw_hp,"
       "mxfp8_cublas\n",
       ConstantSet::kOriginal, "AssertionError",
       "rowwise_with_gw_hp does not go with an mx_recipe"},
      {"roofline_linear", "gpu,M,K,N,recipe\nNVIDIA B200,1,1,1,mxfp4_cutlass\n", ConstantSet::kMain,
       "ValueError",
       "recipe mxfp4_cutlass is none of tensorwise, rowwise, mxfp8..., mxfp4, nvfp4, "
       "nvfp4_static, nvfp4_no_global_scale"},
      {"roofline_gemm", "gpu,M,K,N,dtype,mx_recipe\nNVIDIA H100,1,1,1,bfloat16,mxfp8_cublas\n",
       ConstantSet::kOriginal, "AssertionError", "mxfp8_cublas does not go with bfloat16"},
      {"roofline_cast",
       "gpu,dim0,dim1,tensor_role,float8_recipe\nNVIDIA H100,1,1,bias,tensorwise\n",
       ConstantSet::kOriginal, "AssertionError",
       "tensor_role bias is none of input, weight, grad_output"}};
  for (const auto& [model, table, constants, error, reason] : rows) {
    SCOPED_TRACE(table);
    const RowPrediction prediction = predict_row(model, table, constants);
    EXPECT_FALSE(prediction.time_us);
    EXPECT_EQ(prediction.error, error);
    EXPECT_EQ(prediction.reason, reason);
  }
}

// The recipe in which roofline_linear is asked about a product.
std::string recipe_told_by(const char* type, const char* kernel) {
  const read::Op op{"gemm", "", {{"m", std::int64_t{64}}, {"a_type", std::string(type)}}};
  const read::Machine h100 = builtin_machine("h100-sxm5-80gb");
  const auto inputs =
      find_model("roofline_linear").inputs_of({op, h100, {.name = kernel, .blocks = 0}});
  for (const auto& [column, value] : inputs.values)
    if (column.ends_with("recipe")) return std::get<std::string>(value);
  return "";
}

// Names as profilers show them.
TEST(Float8Roofline, TypesAndKernelsTellTheRecipe) {
  const auto told = [](const char* type, const char* kernel) {
    return recipe_told_by(type, kernel);
  };
  EXPECT_EQ(told("bf16", "sm90_fp8_blockwise"), "");
  EXPECT_EQ(told("f8e4m3", "nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT"), "tensorwise");
  EXPECT_EQ(told("f8e4m3", "nvjet_sm90_qqtst_128x128_128x6_1x2_h_bz_ovscale_TNT"), "rowwise");
  EXPECT_EQ(told("f8e4m3", "nvjet_sm90_qqtst_128x128_128x6_1x2_h_bz_Avec128_Bblk128_TNT"),
            "blockwise_128");
  EXPECT_EQ(told("f8e4m3", "deep_gemm::sm90_fp8_gemm_1d2d_impl"), "blockwise_128");
  EXPECT_EQ(told("f8e4m3", "nvjet_sm100_qqtst_128x256_128x6_2x1_h_bz_Avec32UE8M0_Bvec32UE8M0_TNT"),
            "mxfp8_cublas");
  EXPECT_EQ(told("f8e4m3", "cutlass3x_sm120_bstensorop_s16832gemm_block_scaled_ue8m0xe4m3_f32"),
            "mxfp8_cublas");
  EXPECT_EQ(told("f8e4m3", "cutlass_mx_float8_t<float_e4m3_t>"), "mxfp8_cublas");
  EXPECT_EQ(told("f4e2m1", "cutlass_mx_float4_t<float_e2m1_t>"), "mxfp4_cutlass");
  EXPECT_EQ(told("f4e2m1", "nvjet_sm100_ootst_128x128_256x7_4x1_bx_Avec16UE4M3_Bvec16UE4M3_TNT"),
            "nvfp4");
}

// A product in nvfp4 is the one of torchao's layer in inference.
TEST(Float8Roofline, ProductsInNvfp4AreThoseOfInference) {
  const read::Machine b200 = builtin_machine("b200-sxm-180gb");
  const read::Op op{"gemm",
                    "",
                    {{"m", std::int64_t{4096}},
                     {"n", std::int64_t{4096}},
                     {"k", std::int64_t{4096}},
                     {"a_type", std::string("f4e2m1")}}};
  ModelOptions options;
  options.constants = ConstantSet::kMain;
  const ModelEntry& entry = find_model("roofline_linear");
  const auto answer =
      predict_inputs(entry.make(options), entry.inputs_of({op, b200, {.name = "", .blocks = 0}}));
  EXPECT_EQ(answer.reason, "");
  // The last part is the product: 2 m n k at 78 % of 9 PFLOP/s.
  EXPECT_NEAR(std::get<double>(answer.parts.at(7)), 2.0 * 4096 * 4096 * 4096 / 9e15 / 0.78, 1e-9);
}

}  // namespace
}  // namespace inline_prof::model
