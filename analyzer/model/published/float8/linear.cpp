#include "model/published/float8/linear.hpp"

#include <fmt/format.h>

#include <cmath>

namespace inline_prof::model::float8 {
namespace {

constexpr double kBlock = 128.0;     // of blockwise_128
constexpr double kScaleBytes = 4.0;  // of blockwise_128
constexpr double kBf16Read = 2.0;    // bytes per element
constexpr double kFp8Written = 1.0;  // bytes per element

}  // namespace

int scale_block(std::string_view recipe) {
  if (recipe.starts_with("mx")) return 32;
  if (recipe.starts_with("nv")) return 16;
  return 0;
}

TrainingChoice choose_training(std::string_view float8, std::string_view mx, ConstantSet constants,
                               std::optional<Refusal>& refusal) {
  TrainingChoice choice;
  const auto look_up = [&](std::string_view name, bool is_mx, const TrainingRecipe*& recipe) {
    if (name.empty() || refusal) return;
    recipe = find_training_recipe(name, is_mx, constants);
    if (recipe != nullptr) return;
    refusal = Refusal{"AssertionError",
                      fmt::format("{} {} is none of {}", is_mx ? "mx_recipe" : "float8_recipe",
                                  name, known_training_recipes(is_mx, constants))};
  };
  look_up(float8, false, choice.float8);
  look_up(mx, true, choice.mx);
  if (refusal) return choice;
  if (choice.mx != nullptr && choice.float8 != nullptr && choice.float8->grad_weight_in_bf16) {
    refusal = Refusal{"AssertionError",
                      fmt::format("{} does not go with an mx_recipe", choice.float8->name)};
  }
  return choice;
}

Products training_products(const Gpu& gpu, const LinearShape& shape, Precision precision,
                           int scale_block, bool grad_weight_in_bf16) {
  const auto [m, k, n] = shape;
  const Precision last = grad_weight_in_bf16 ? Precision::kBf16 : precision;
  return {time_gemm(gpu, {m, k, n, precision, scale_block}),
          time_gemm(gpu, {m, n, k, precision, scale_block}),
          time_gemm(gpu, {k, m, n, last, scale_block})};
}

std::vector<NamedCast> training_casts(const Gpu& gpu, const LinearShape& shape,
                                      const TrainingChoice& choice, bool fused) {
  const TrainingRecipe* recipe = choice.float8 != nullptr ? choice.float8 : choice.mx;
  if (recipe == nullptr) return {};
  const auto [m, k, n] = shape;
  return {{"input", training_cast(gpu, *recipe, TensorRole::kInput, m, k, fused)},
          {"weight", training_cast(gpu, *recipe, TensorRole::kWeight, k, n, false)},
          {"grad_output", training_cast(gpu, *recipe, TensorRole::kGradOutput, m, n, fused)}};
}

Products blockwise_products(const Gpu& gpu, const LinearShape& shape) {
  const auto [m, k, n] = shape;
  return {time_gemm(gpu, {m, k, n, Precision::kFp8, 0}),
          time_gemm(gpu, {m, n, k, Precision::kFp8, 0}),
          time_gemm(gpu, {n, m, k, Precision::kFp8, 0})};
}

std::vector<NamedCast> blockwise_casts(const Gpu& gpu, const LinearShape& shape, bool fused) {
  const auto [m, k, n] = shape;
  const auto activation = [&](double elements, bool is_fused) {
    return cast_kernel(gpu, is_fused ? kFp8Written : kBf16Read + kFp8Written, elements,
                       kScaleBytes * (elements / kBlock));
  };
  const CastKernel weight =
      cast_kernel(gpu, kBf16Read + kFp8Written, n * k, kScaleBytes * (n * k / (kBlock * kBlock)));
  return {{"input", {activation(m * k, fused)}},
          {"weight", {weight}},
          {"weight, transposed", {weight}},
          {"grad_output", {activation(m * n, fused)}},
          {"grad_output, transposed", {activation(m * n, false)}},
          {"input, transposed", {activation(m * k, false)}}};
}

InferenceChoice choose_inference(std::string_view recipe, std::optional<Refusal>& refusal) {
  if (recipe == "tensorwise" || recipe == "rowwise" || recipe.starts_with("mxfp8")) {
    return {.precision = Precision::kFp8, .scale_block = scale_block(recipe)};
  }
  if (recipe == "mxfp4" || recipe == "nvfp4" || recipe == "nvfp4_static" ||
      recipe == "nvfp4_no_global_scale") {
    return {.precision = Precision::kFp4, .scale_block = scale_block(recipe)};
  }
  refusal = Refusal{"ValueError",
                    fmt::format("recipe {} is none of tensorwise, rowwise, mxfp8..., mxfp4, nvfp4, "
                                "nvfp4_static, nvfp4_no_global_scale",
                                recipe)};
  return {};
}

std::vector<CastKernel> inference_cast(const Gpu& gpu, const LinearShape& shape,
                                       std::string_view recipe) {
  const double elements = shape.m * shape.k;
  if (recipe == "tensorwise") {
    return {cast_kernel(gpu, 2.0, elements), cast_kernel(gpu, 3.0, elements)};
  }
  if (recipe == "rowwise") return {cast_kernel(gpu, 3.0, elements, 4.0 * shape.m)};
  const double scale_bytes = shape.m * std::floor(shape.k / scale_block(recipe));
  if (recipe.starts_with("mxfp8")) return {cast_kernel(gpu, 3.0, elements, scale_bytes)};
  // Dynamic nvfp4 is two kernels; the original adds their bytes up before it looks at the floor.
  return {cast_kernel(gpu, recipe == "nvfp4" ? 4.5 : 2.5, elements, scale_bytes)};
}

Seconds bf16_activation(const Gpu& gpu, const LinearShape& shape) {
  return memory_time(gpu, {4.0 * shape.m * shape.k});
}

Seconds total(const Products& products) {
  return products[0].time + products[1].time + products[2].time;
}

Seconds total(std::span<const NamedCast> casts) {
  Seconds sum;
  for (const NamedCast& cast : casts)
    sum = sum + total(std::span<const CastKernel>(cast.kernels));
  return sum;
}

}  // namespace inline_prof::model::float8
