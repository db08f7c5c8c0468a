#include "model/published/float8/float8_model.hpp"
#include "model/published/float8/table_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace inline_prof::model {
namespace {

using namespace float8;

class RooflineGemm : public Float8Model {
 public:
  using Float8Model::Float8Model;

  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    std::optional<Refusal> refusal;
    const auto [gpu, products] = compute(row, refusal);
    if (refusal) return none(*refusal);
    const GemmTime& longest = *std::ranges::max_element(
        products, {}, [](const GemmTime& product) { return product.time; });
    RowPrediction prediction = timed(total(products), longest.bound());
    for (const GemmTime& product : products)
      prediction.parts.emplace_back(product.time.value);
    return prediction;
  }

  [[nodiscard]] std::string explain(const Row& row) const override {
    std::optional<Refusal> refusal;
    const auto [gpu, products] = compute(row, refusal);
    if (refusal) return text_of(*refusal);
    std::string text = describe(*gpu);
    for (std::size_t i = 0; const char* name : {"output", "grad_input", "grad_weight"}) {
      text += fmt::format("\n  {} = {}", name, float8::explain(products[i++], *gpu));
    }
    return text + fmt::format("\n  sum = {:g} us", in_microseconds(total(products)));
  }

  enum Input : std::size_t { kGpu, kM, kK, kN, kType, kFloat8, kMx };
  static constexpr std::array<Column, 7> kInputs{
      {kGpuColumn, size_column("M", "rows of the input"), size_column("K", "columns of the input"),
       size_column("N", "columns of the weight"),
       Column{"dtype", "", ColumnKind::kText, 0, 0, true, "bfloat16, float8_e4m3fn, ..."},
       kFloat8Column, kMxColumn}};
  static constexpr std::array<std::string_view, 3> kParts{"gemm_output_s", "gemm_grad_input_s",
                                                          "gemm_grad_weight_s"};

 private:
  [[nodiscard]] std::optional<Precision> precision_of(std::string_view type) const {
    if (type == "bfloat16") return Precision::kBf16;
    if (type == "float8_e4m3fn" || type == "float8_e5m2") return Precision::kFp8;
    if (type == "float4_e2m1fn_x2" && constants() == ConstantSet::kMain) return Precision::kFp4;
    return std::nullopt;
  }

  // Which of the two recipes mean anything to a product: the third one's type, and the scales.
  void check_recipes(const Row& row, Precision precision, std::optional<Refusal>& refusal) const {
    const std::string_view mx = word(row, kMx);
    if (mx.empty()) {
      static_cast<void>(choose_training(word(row, kFloat8), "", constants(), refusal));
    } else if (precision == Precision::kBf16) {
      refusal = Refusal{"AssertionError", fmt::format("{} does not go with bfloat16", mx)};
    } else if (constants() == ConstantSet::kOriginal) {
      static_cast<void>(choose_training(word(row, kFloat8), mx, constants(), refusal));
    } else if (scale_block(mx) == 0) {
      refusal = Refusal{"AssertionError", fmt::format("mx_recipe {} is none of mx..., nv...", mx)};
    } else if (word(row, kFloat8) == "rowwise_with_gw_hp") {
      refusal = Refusal{"AssertionError", "rowwise_with_gw_hp does not go with an mx_recipe"};
    }
  }

  [[nodiscard]] std::pair<const Gpu*, Products> compute(const Row& row,
                                                        std::optional<Refusal>& refusal) const {
    const auto precision = precision_of(row.text(kType));
    if (!precision) {
      refusal = Refusal{"AssertionError", fmt::format("no product of dtype {}", row.text(kType))};
      return {};
    }
    check_recipes(row, *precision, refusal);
    if (refusal) return {};
    const Gpu* gpu = look_up(row.text(kGpu), *precision, refusal);
    if (gpu == nullptr) return {};
    return {gpu, training_products(*gpu, {row.number(kM), row.number(kK), row.number(kN)},
                                   *precision, scale_block(word(row, kMx)),
                                   word(row, kFloat8) == "rowwise_with_gw_hp")};
  }
};

std::unique_ptr<Model> make(const ModelOptions& options) {
  return std::make_unique<RooflineGemm>(options.constants);
}

}  // namespace

ModelEntry roofline_gemm_entry() {
  return float8_entry("roofline_gemm",
                      "torchao's roofline of a layer's three products, forward and backward",
                      RooflineGemm::kInputs, make);
}

}  // namespace inline_prof::model
