#include "model/published/float8/float8_model.hpp"
#include "model/published/float8/table_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace inline_prof::model {
namespace {

using namespace float8;

class RooflineCast : public Float8Model {
 public:
  using Float8Model::Float8Model;

  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    std::optional<Refusal> refusal;
    const auto [gpu, kernels] = compute(row, refusal);
    if (refusal) return none(*refusal);
    const Seconds time = total(std::span<const CastKernel>(kernels));
    const bool all_at_floor = std::ranges::all_of(
        kernels, [](const CastKernel& kernel) { return kernel.time <= kLaunchFloor; });
    RowPrediction prediction = timed(time, all_at_floor ? "launch" : "memory");
    std::string times;
    for (const CastKernel& kernel : kernels) {
      times += fmt::format("{}{}", times.empty() ? "" : " ", kernel.time.value);
    }
    prediction.parts = {static_cast<double>(kernels.size()), std::move(times)};
    return prediction;
  }

  [[nodiscard]] std::string explain(const Row& row) const override {
    std::optional<Refusal> refusal;
    const auto [gpu, kernels] = compute(row, refusal);
    if (refusal) return text_of(*refusal);
    const Seconds time = total(std::span<const CastKernel>(kernels));
    std::string text = describe(*gpu);
    text += explain_casts(std::array{NamedCast{row.text(kRole), kernels}}, *gpu);
    return text + fmt::format("\n  sum = {:g} us", in_microseconds(time));
  }

  enum Input : std::size_t { kGpu, kRows, kColumns, kRole, kFloat8, kMx, kFused };
  static constexpr std::array<Column, 7> kInputs{
      {kGpuColumn, size_column("dim0", "rows of the tensor"),
       size_column("dim1", "columns of the tensor"),
       Column{"tensor_role", "", ColumnKind::kText, 0, 0, true, "input, weight or grad_output"},
       kFloat8Column, kMxColumn,
       Column{"fuse_with_prev", "", ColumnKind::kFlag, 0, 1, false,
              "the operation before has read the tensor already"}}};
  static constexpr std::array<std::string_view, 2> kParts{"n_kernels", "kernel_s"};

 private:
  [[nodiscard]] std::pair<const Gpu*, std::vector<CastKernel>> compute(
      const Row& row, std::optional<Refusal>& refusal) const {
    const auto role = role_from_name(row.text(kRole));
    if (!role) {
      refusal = Refusal{"AssertionError", fmt::format("tensor_role {} is none of input, weight, "
                                                      "grad_output",
                                                      row.text(kRole))};
      return {};
    }
    // The original asks for the float8 recipe first and then never looks at the other one.
    const std::string_view float8 = word(row, kFloat8);
    const TrainingChoice choice =
        choose_training(float8, float8.empty() ? word(row, kMx) : "", constants(), refusal);
    if (refusal) return {};
    const TrainingRecipe* recipe = choice.float8 != nullptr ? choice.float8 : choice.mx;
    if (recipe == nullptr) {
      refusal = Refusal{"AssertionError", "neither a float8_recipe nor an mx_recipe"};
      return {};
    }
    const Gpu* gpu = look_up(row.text(kGpu), Precision::kBf16, refusal);
    if (gpu == nullptr) return {};
    return {gpu, training_cast(*gpu, *recipe, *role, row.number(kRows), row.number(kColumns),
                               row.has(kFused) && row.flag(kFused))};
  }
};

std::unique_ptr<Model> make(const ModelOptions& options) {
  return std::make_unique<RooflineCast>(options.constants);
}

}  // namespace

ModelEntry roofline_cast_entry() {
  return float8_entry("roofline_cast", "torchao's roofline of casting a tensor to fp8 or fp4",
                      RooflineCast::kInputs, make);
}

}  // namespace inline_prof::model
