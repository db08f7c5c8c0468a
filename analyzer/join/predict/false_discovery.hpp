#pragma once

#include <vector>

namespace inline_prof::join {

// Which of many tests may be called findings, so that on average at most the share `rate` of all
// findings is chance: with a hundred layers, five would pass at 5 % each without any being slow.
// Y. Benjamini, Y. Hochberg, "Controlling the False Discovery Rate", J. Royal Statistical Society B
// 57(1), 1995: the largest i with p_(i) <= i / n * rate, and all below it.
[[nodiscard]] std::vector<bool> discoveries(const std::vector<double>& p_values, double rate);

}  // namespace inline_prof::join
