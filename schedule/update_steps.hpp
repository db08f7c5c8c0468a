// Finds iterations by the optimizer's steps alone, in programs that repeat nothing else evenly:
// micro-steps or evaluations of any number, batches of several kinds.
#pragma once

#include "schedule/iteration_finder.hpp"
#include "schedule/recurrence.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace inline_prof::schedule {

// Returns the iteration that ends with each group of launches that update parameters, by the names
// of their kernels; `anchor` and `first` are kernels of the log. Nine groups in 2048 launches are
// needed that are equally long, and behind which the launches of the first iteration begin again.
// Empty where groups come in turns, or at equal distances but for what is longer: other searches
// find these.
[[nodiscard, gnu::cold]] std::optional<FoundIteration> iteration_between_updates(
    const LaunchLog& log, Allowance& allowance);

// Knows by its name whether a kernel updates parameters.

// Returns true for the kernels of optimizers' steps in PyTorch, Apex, Transformer Engine, DeepSpeed
// and FBGEMM. Averaging of gradients uses them, too; their check where they are scaled (PyTorch's
// AmpKernels), their norm and the product that clips them are none. Optimizers that are made of
// additions and products have no names of their own.
[[nodiscard]] inline bool updates_parameters(std::string_view kernel) {
  constexpr std::array<std::string_view, 12> parts{
      "_Foreach", "multi_tensor", "fused_adam", "FusedAdam", "AdamW",   "adamw",
      "Adam_",    "adam_",        "fused_sgd",  "FusedSGD",  "adagrad", "ptimizer"};
  constexpr std::array<std::string_view, 3> of_gradients{"AmpKernels", "ForeachReduceOp",
                                                         "ForeachBinaryOpScalarTens"};
  const auto names_one_of = [&](const auto& some) {
    return std::ranges::any_of(
        some, [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; });
  };
  return names_one_of(parts) && !names_one_of(of_gradients);
}

}  // namespace inline_prof::schedule
