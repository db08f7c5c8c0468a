// Finds iterations by the optimizer's steps alone, in programs that repeat nothing else evenly:
// micro-steps or evaluations of any number, batches of several kinds.
#pragma once

#include "schedule/iteration_finder.hpp"
#include "schedule/recurrence.hpp"

#include <optional>

namespace inline_prof::schedule {

// Returns the iteration that ends with each group of launches that update parameters, by the names
// of their kernels; `anchor` and `first` are kernels of the log. Nine groups in 2048 launches are
// needed that are equally long, and behind which the launches of the first iteration begin again.
// Empty where groups come at equal distances, or in turns: other searches find these.
[[nodiscard]] std::optional<FoundIteration> iteration_between_updates(const LaunchLog& log,
                                                                      Allowance& allowance);

}  // namespace inline_prof::schedule
