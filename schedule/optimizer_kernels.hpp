// Knows by its name whether a kernel updates parameters.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace inline_prof::schedule {

// Returns true for the kernels of optimizers' steps in PyTorch, Apex, Transformer Engine, DeepSpeed
// and FBGEMM. Clipping and averaging of gradients use them, too. Optimizers that are made of
// additions and products have no names of their own.
[[nodiscard]] inline bool updates_parameters(std::string_view kernel) {
  constexpr std::array<std::string_view, 12> parts{
      "_Foreach", "multi_tensor", "fused_adam", "FusedAdam", "AdamW",   "adamw",
      "Adam_",    "adam_",        "fused_sgd",  "FusedSGD",  "adagrad", "ptimizer"};
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return kernel.find(part) != std::string_view::npos;
  });
}

}  // namespace inline_prof::schedule
