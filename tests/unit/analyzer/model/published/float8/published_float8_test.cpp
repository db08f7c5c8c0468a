// torchao's roofline against what its own code has computed.
#include "golden.hpp"
#include "model/registry.hpp"
#include "model/row_reader.hpp"
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
  model::RowReader reader(table, model->inputs());
  const std::size_t column = table.require("kernel_s");
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const auto prediction = model->predict(reader.read(i));
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
