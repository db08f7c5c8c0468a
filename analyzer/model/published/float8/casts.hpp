// The kernels that bring a tensor from bf16 into a lower precision, in training.
#pragma once

#include "model/published/float8/gpus.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model::float8 {

enum class TensorRole { kInput, kWeight, kGradOutput };

[[nodiscard]] std::optional<TensorRole> role_from_name(std::string_view name);  // "grad_output"

// One pass over a tensor: bytes_per_element * elements + extra_bytes, read and written together.
// A pass of 0 bytes still costs a launch: 2 us.
struct CastKernel {
  double bytes_per_element = 0.0;
  double elements = 0.0;
  double extra_bytes = 0.0;  // scales
  Seconds time;

  [[nodiscard]] Bytes traffic() const { return {bytes_per_element * elements + extra_bytes}; }
};

[[nodiscard]] CastKernel cast_kernel(const Gpu& gpu, double bytes_per_element, double elements,
                                     double extra_bytes = 0.0);

// The passes of one recipe over one kind of tensor, in bytes per element.  Of scales nothing is
// counted.
struct CastRule {
  std::span<const double> passes;
  // What stays of the first pass when the operation before it has read the tensor already.
  double fused_first_pass = 0.0;
};

// Which editions of the constants know a recipe.
enum class Editions { kBoth, kOriginal, kMain };

struct TrainingRecipe {
  std::string_view name;
  bool is_mx = false;  // stands in the column mx_recipe, else in float8_recipe
  Editions editions = Editions::kBoth;
  Precision precision = Precision::kFp8;
  bool grad_weight_in_bf16 = false;
  CastRule activation;  // input and grad_output
  CastRule weight;
};

// Null if the edition has no such recipe in that column.
[[nodiscard]] const TrainingRecipe* find_training_recipe(std::string_view name, bool is_mx,
                                                         ConstantSet constants);
[[nodiscard]] std::string known_training_recipes(bool is_mx, ConstantSet constants);

// The kernels of casting a tensor of rows * columns elements; `fused` as in CastRule.
// Source: as gemm.hpp.
[[nodiscard]] std::vector<CastKernel> training_cast(const Gpu& gpu, const TrainingRecipe& recipe,
                                                    TensorRole role, double rows, double columns,
                                                    bool fused);

// Sum of the kernels' times.
[[nodiscard]] Seconds total(std::span<const CastKernel> kernels);
// The formula with its numbers, without an end of line.
[[nodiscard]] std::string explain(const CastKernel& kernel, const Gpu& gpu);

}  // namespace inline_prof::model::float8
