#include "model/published/float8/float8_model.hpp"
#include "model/published/float8/table_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace inline_prof::model {
namespace {

using namespace float8;

// One layer in bf16 and in a lower precision.
struct Layer {
  const Gpu* gpu = nullptr;
  bool is_inference = false;
  std::vector<GemmTime> bf16;
  std::vector<GemmTime> low;
  std::vector<NamedCast> casts;
  Seconds bf16_activation;  // inference only
};

Seconds sum(std::span<const GemmTime> products) {
  Seconds time;
  for (const GemmTime& product : products)
    time = time + product.time;
  return time;
}

class RooflineLinear : public Float8Model {
 public:
  using Float8Model::Float8Model;

  [[nodiscard]] std::span<const Column> inputs() const override {
    // Only main knows inference; the last column is its recipe.
    return std::span(kInputs).first(constants() == ConstantSet::kMain ? kInputs.size()
                                                                      : kInputs.size() - 1);
  }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    std::optional<Refusal> refusal;
    const Layer layer = compute(row, refusal);
    if (refusal) return none(*refusal);
    const double bf16 = sum(layer.bf16).value;
    const double low = sum(layer.low).value;
    const double casts = total(layer.casts).value;
    const GemmTime& longest = *std::ranges::max_element(
        layer.low, {}, [](const GemmTime& product) { return product.time; });
    RowPrediction prediction =
        timed({low + casts}, casts > low ? std::string_view("memory") : longest.bound());
    if (layer.is_inference) {
      const double activation = layer.bf16_activation.value;
      prediction.parts = {bf16,
                          low,
                          casts,
                          low + casts,
                          std::monostate{},
                          activation,
                          (bf16 + activation) / (low + casts)};
    } else {
      prediction.parts = {bf16, low, casts, low + casts, bf16 / (low + casts)};
    }
    return prediction;
  }

  [[nodiscard]] std::string explain(const Row& row) const override {
    std::optional<Refusal> refusal;
    const Layer layer = compute(row, refusal);
    if (refusal) return text_of(*refusal);
    std::string text = describe(*layer.gpu);
    for (const GemmTime& product : layer.low) {
      text += "\n  product = " + float8::explain(product, *layer.gpu);
    }
    text += explain_casts(layer.casts, *layer.gpu);
    const Seconds low = sum(layer.low) + total(layer.casts);
    text += fmt::format("\n  products {:g} us + casts {:g} us = {:g} us",
                        in_microseconds(sum(layer.low)), in_microseconds(total(layer.casts)),
                        in_microseconds(low));
    for (const GemmTime& product : layer.bf16) {
      text += "\n  product in bf16 = " + float8::explain(product, *layer.gpu);
    }
    const Seconds bf16 = sum(layer.bf16) + layer.bf16_activation;
    if (layer.is_inference) {
      text += fmt::format("\n  input in bf16 = {:g} us", in_microseconds(layer.bf16_activation));
    }
    return text + fmt::format("\n  speed-up = {:g} us / {:g} us = {:g}", in_microseconds(bf16),
                              in_microseconds(low), bf16.value / low.value);
  }

  enum Input : std::size_t { kGpu, kM, kK, kN, kFloat8, kMx, kFused, kInference };
  static constexpr std::array<Column, 8> kInputs{
      {kGpuColumn, size_column("M", "rows of the input"), size_column("K", "columns of the input"),
       size_column("N", "columns of the weight"), kFloat8Column, kMxColumn,
       Column{"enable_fusion", "", ColumnKind::kFlag, 0, 1, false,
              "the operations before have read input and grad_output already"},
       Column{"recipe", "", ColumnKind::kText, 0, 0, false, "of inference: nvfp4, ..."}}};
  static constexpr std::array<std::string_view, 7> kParts{
      "bf16_gemm_s", "lowp_gemm_s",     "lowp_ovhd_s",  "lowp_total_s",
      "speedup",     "bf16_act_ovhd_s", "speedup_fused"};

 private:
  [[nodiscard]] Layer compute(const Row& row, std::optional<Refusal>& refusal) const {
    const bool is_inference = constants() == ConstantSet::kMain && row.has(kInference);
    return is_inference ? infer(row, refusal) : train(row, refusal);
  }

  [[nodiscard]] static LinearShape shape_of(const Row& row) {
    return {row.number(kM), row.number(kK), row.number(kN)};
  }

  [[nodiscard]] Layer train(const Row& row, std::optional<Refusal>& refusal) const {
    const bool is_blockwise = constants() == ConstantSet::kMain && word(row, kFloat8) == kBlockwise;
    TrainingChoice choice;
    if (!is_blockwise) {
      choice = choose_training(word(row, kFloat8), word(row, kMx), constants(), refusal);
      if (!refusal && choice.float8 == nullptr && choice.mx == nullptr) {
        refusal = Refusal{"AssertionError", "neither a float8_recipe nor an mx_recipe"};
      }
    }
    if (refusal) return {};
    const Precision precision = choice.mx != nullptr ? choice.mx->precision : Precision::kFp8;
    const Gpu* gpu = look_up(row.text(kGpu), precision, refusal);
    if (gpu == nullptr) return {};

    const LinearShape shape = shape_of(row);
    const bool fused = row.has(kFused) && row.flag(kFused);
    const bool third_in_bf16 = choice.float8 != nullptr && choice.float8->grad_weight_in_bf16;
    const Products bf16 = training_products(*gpu, shape, Precision::kBf16, 0, false);
    const Products low =
        is_blockwise
            ? blockwise_products(*gpu, shape)
            : training_products(*gpu, shape, precision, scale_block(word(row, kMx)), third_in_bf16);
    Layer layer;
    layer.gpu = gpu;
    layer.bf16.assign(bf16.begin(), bf16.end());
    layer.low.assign(low.begin(), low.end());
    layer.casts = is_blockwise ? blockwise_casts(*gpu, shape, fused)
                               : training_casts(*gpu, shape, choice, fused);
    return layer;
  }

  [[nodiscard]] Layer infer(const Row& row, std::optional<Refusal>& refusal) const {
    if (row.has(kFloat8) || row.has(kMx)) {
      refusal = Refusal{"", "recipe is for inference, float8_recipe and mx_recipe for training"};
      return {};
    }
    const std::string& recipe = row.text(kInference);
    const InferenceChoice choice = choose_inference(recipe, refusal);
    if (refusal) return {};
    const Gpu* gpu = look_up(row.text(kGpu), choice.precision, refusal);
    if (gpu == nullptr) return {};
    const LinearShape shape = shape_of(row);
    const auto product = [&](Precision precision, int block) {
      return time_gemm(*gpu, {shape.m, shape.k, shape.n, precision, block});
    };
    Layer layer;
    layer.gpu = gpu;
    layer.is_inference = true;
    layer.bf16 = {product(Precision::kBf16, 0)};
    layer.low = {product(choice.precision, choice.scale_block)};
    layer.casts = {{"input", inference_cast(*gpu, shape, recipe)}};
    layer.bf16_activation = bf16_activation(*gpu, shape);
    return layer;
  }
};

std::unique_ptr<Model> make(const ModelOptions& options) {
  return std::make_unique<RooflineLinear>(options.constants);
}

}  // namespace

ModelEntry roofline_linear_entry() {
  return float8_entry("roofline_linear",
                      "torchao's roofline of a linear layer in fp8 or fp4, with its casts",
                      RooflineLinear::kInputs, make);
}

}  // namespace inline_prof::model
