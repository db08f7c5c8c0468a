// Mixtures of experts: a layer's grouped products, and grouped products alone
// (by_source/README.md).
#pragma once

#include "model/calibrated/by_source/by_source.hpp"

namespace inline_prof::model {

// How many of the experts of one GPU get rows, and how many.
struct ExpertLoads {
  double active = 0;
  double rows = 0;
  double tiles = 0;  // of `tile` rows, over all experts
  double tile = 0;
};

// The loads that AIConfigurator's benchmarks give to the GPU with most rows among `ranks`.
// `power`: exponent of the power law, or 0 for even loads.
[[nodiscard]] ExpertLoads expert_loads(double tokens, double chosen, double experts, double ranks,
                                       double power);

[[nodiscard]] const SourceForm& experts_form();

}  // namespace inline_prof::model
