// One linear layer under the published roofline: its products and its casts, in training and in
// inference.
#pragma once

#include "model/published/float8/casts.hpp"
#include "model/published/float8/gemm.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model::float8 {

// input[m,k] * weight[k,n].
struct LinearShape {
  double m = 0.0;
  double k = 0.0;
  double n = 0.0;
};

// A product in the forward pass and the two of the backward pass, in this order: output,
// grad_input, grad_weight.
using Products = std::array<GemmTime, 3>;

struct NamedCast {
  std::string_view tensor;
  std::vector<CastKernel> kernels;
};

// Why the original has no answer: the exception it ends with, and what was wrong.
struct Refusal {
  std::string_view error;
  std::string reason;
};

// What is cast how.  One of the two recipes may be null; both are, for all in bf16.
struct TrainingChoice {
  const TrainingRecipe* float8 = nullptr;
  const TrainingRecipe* mx = nullptr;
};

// Looks the two names up; an empty one is none.  Fills `refusal` where the original has no answer.
[[nodiscard]] TrainingChoice choose_training(std::string_view float8, std::string_view mx,
                                             ConstantSet constants,
                                             std::optional<Refusal>& refusal);

// The block of elements that shares a scale under a recipe of this name: 32 for mx..., 16 for
// nv..., 0 for others.
[[nodiscard]] int scale_block(std::string_view recipe);

// Products of one layer, forward and backward; the third in bf16 where `grad_weight_in_bf16`.
[[nodiscard]] Products training_products(const Gpu& gpu, const LinearShape& shape,
                                         Precision precision, int scale_block,
                                         bool grad_weight_in_bf16);
// Casts of input, weight and grad_output; `fused`: the operation before has read input and
// grad_output already.  A float8 recipe goes before an mx one, as in the original.
[[nodiscard]] std::vector<NamedCast> training_casts(const Gpu& gpu, const LinearShape& shape,
                                                    const TrainingChoice& choice, bool fused);

// "blockwise_128", in edition main only: scales for 1 x 128 of activations, 128 x 128 of weights.
inline constexpr std::string_view kBlockwise = "blockwise_128";
[[nodiscard]] Products blockwise_products(const Gpu& gpu, const LinearShape& shape);
[[nodiscard]] std::vector<NamedCast> blockwise_casts(const Gpu& gpu, const LinearShape& shape,
                                                     bool fused);

// Inference, in edition main only: the weight is quantised beforehand, the input on the way.
struct InferenceChoice {
  Precision precision = Precision::kFp8;
  int scale_block = 0;
};
// Fills `refusal` where the original has no answer.
[[nodiscard]] InferenceChoice choose_inference(std::string_view recipe,
                                               std::optional<Refusal>& refusal);
[[nodiscard]] std::vector<CastKernel> inference_cast(const Gpu& gpu, const LinearShape& shape,
                                                     std::string_view recipe);
// Time of reading and writing the input in bf16: what fusing the cast into it saves.
[[nodiscard]] Seconds bf16_activation(const Gpu& gpu, const LinearShape& shape);

[[nodiscard]] Seconds total(const Products& products);
[[nodiscard]] Seconds total(std::span<const NamedCast> casts);

}  // namespace inline_prof::model::float8
