// A vendor's own estimate of matrix products: that of NVIDIA's Python package
// nvidia-matmul-heuristics, where the user has it (docs/models/nvmmh.md).
#pragma once

#include "model/model.hpp"

namespace inline_prof::model {

[[nodiscard]] ModelEntry nvmmh_entry();

}  // namespace inline_prof::model
