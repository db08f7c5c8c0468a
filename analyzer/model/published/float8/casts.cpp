#include "model/published/float8/casts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace inline_prof::model::float8 {
namespace {

// Passes, in bytes per element: 2 reads or writes bf16, 1 fp8, 0.5 fp4; 0 is the second stage of a
// maximum, which touches next to nothing.
constexpr std::array kMaximumThenTwoCopies{2.0, 0.0, 3.0, 3.0};
constexpr std::array kMaximumThenBothCopies{2.0, 0.0, 4.0};
constexpr std::array kRowsThenColumnsOfWeight{3.0, 4.0, 3.0};
constexpr std::array kRowsThenColumns{5.0, 3.0};
constexpr std::array kOneCopy{3.0};
constexpr std::array kMaximumThenCopy{3.0, 0.0, 3.0};
constexpr std::array kTwoCopies{3.0, 3.0};
constexpr std::array kTwoFp4Copies{2.5, 2.5};
constexpr std::array kCopyThenTransposed{3.0, 2.0};

constexpr TrainingRecipe float8_recipe(std::string_view name, CastRule activation,
                                       CastRule weight) {
  return {.name = name,
          .is_mx = false,
          .editions = Editions::kBoth,
          .precision = Precision::kFp8,
          .grad_weight_in_bf16 = name == "rowwise_with_gw_hp",
          .activation = activation,
          .weight = weight};
}

constexpr TrainingRecipe mx_recipe(std::string_view name, Editions editions, Precision precision,
                                   CastRule activation, CastRule weight) {
  return {.name = name,
          .is_mx = true,
          .editions = editions,
          .precision = precision,
          .grad_weight_in_bf16 = false,
          .activation = activation,
          .weight = weight};
}

constexpr CastRule kMx8{.passes = kTwoCopies, .fused_first_pass = 1.0};
constexpr CastRule kMx8Once{.passes = kOneCopy, .fused_first_pass = 1.0};
constexpr CastRule kMx4{.passes = kTwoFp4Copies, .fused_first_pass = 0.5};

constexpr std::array kRecipes{
    float8_recipe("tensorwise", {.passes = kMaximumThenBothCopies, .fused_first_pass = 0.0},
                  {.passes = kMaximumThenTwoCopies, .fused_first_pass = 0.0}),
    float8_recipe("rowwise", {.passes = kRowsThenColumns, .fused_first_pass = 3.0},
                  {.passes = kRowsThenColumnsOfWeight, .fused_first_pass = 1.0}),
    // Where the fused first pass is as long as the whole one, fusing does not apply.
    float8_recipe("rowwise_with_gw_hp", {.passes = kOneCopy, .fused_first_pass = 1.0},
                  {.passes = kMaximumThenCopy, .fused_first_pass = 3.0}),
    mx_recipe("mxfp8_emulated", Editions::kBoth, Precision::kFp8, kMx8, kMx8),
    mx_recipe("mxfp8_cutlass", Editions::kOriginal, Precision::kFp8, kMx8, kMx8),
    mx_recipe("mxfp8_cublas", Editions::kBoth, Precision::kFp8, kMx8, kMx8),
    mx_recipe("mxfp8_cublas_rceil", Editions::kMain, Precision::kFp8, kMx8, kMx8),
    mx_recipe("mxfp8_32x32_flexible_gemm_layout", Editions::kMain, Precision::kFp8, kMx8Once,
              kMx8Once),
    mx_recipe("mxfp8_32x32_weight", Editions::kMain, Precision::kFp8, kMx8,
              {.passes = kCopyThenTransposed, .fused_first_pass = 3.0}),
    mx_recipe("mxfp4_cutlass", Editions::kMain, Precision::kFp4, kMx4, kMx4),
};

bool is_of(const TrainingRecipe& recipe, bool is_mx, ConstantSet constants) {
  const Editions only = constants == ConstantSet::kOriginal ? Editions::kOriginal : Editions::kMain;
  return recipe.is_mx == is_mx && (recipe.editions == Editions::kBoth || recipe.editions == only);
}

}  // namespace

std::optional<TensorRole> role_from_name(std::string_view name) {
  if (name == "input") return TensorRole::kInput;
  if (name == "weight") return TensorRole::kWeight;
  if (name == "grad_output") return TensorRole::kGradOutput;
  return std::nullopt;
}

CastKernel cast_kernel(const Gpu& gpu, double bytes_per_element, double elements,
                       double extra_bytes) {
  CastKernel kernel{.bytes_per_element = bytes_per_element,
                    .elements = elements,
                    .extra_bytes = extra_bytes,
                    .time = {}};
  kernel.time = memory_time(gpu, kernel.traffic());
  return kernel;
}

const TrainingRecipe* find_training_recipe(std::string_view name, bool is_mx,
                                           ConstantSet constants) {
  const auto* it = std::ranges::find_if(kRecipes, [&](const TrainingRecipe& recipe) {
    return recipe.name == name && is_of(recipe, is_mx, constants);
  });
  return it == kRecipes.end() ? nullptr : it;
}

std::string known_training_recipes(bool is_mx, ConstantSet constants) {
  std::string names;
  for (const TrainingRecipe& recipe : kRecipes) {
    if (!is_of(recipe, is_mx, constants)) continue;
    if (!names.empty()) names += ", ";
    names += recipe.name;
  }
  return names;
}

std::vector<CastKernel> training_cast(const Gpu& gpu, const TrainingRecipe& recipe, TensorRole role,
                                      double rows, double columns, bool fused) {
  const CastRule& rule = role == TensorRole::kWeight ? recipe.weight : recipe.activation;
  std::vector<CastKernel> kernels;
  kernels.reserve(rule.passes.size());
  for (const double bytes : rule.passes) {
    const bool is_shortened = fused && kernels.empty();
    kernels.push_back(
        cast_kernel(gpu, is_shortened ? rule.fused_first_pass : bytes, rows * columns));
  }
  return kernels;
}

Seconds total(std::span<const CastKernel> kernels) {
  Seconds sum;
  for (const CastKernel& kernel : kernels)
    sum = sum + kernel.time;
  return sum;
}

std::string explain(const CastKernel& kernel, const Gpu& gpu) {
  const std::string extra =
      kernel.extra_bytes == 0.0 ? "" : fmt::format(" + {:g}", kernel.extra_bytes);
  const Seconds streaming{(kernel.traffic() / gpu.bandwidth).value / gpu.memory_fraction};
  return fmt::format("max(({:g}*{:.0f}{}) bytes / {:g} / {:g} = {:g} us, {:g} us) = {:g} us",
                     kernel.bytes_per_element, kernel.elements, extra, gpu.bandwidth.value,
                     gpu.memory_fraction, in_microseconds(streaming), in_microseconds(kLaunchFloor),
                     in_microseconds(kernel.time));
}

}  // namespace inline_prof::model::float8
