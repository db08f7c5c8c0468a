// The published roofline of low-precision training as models on tables: roofline_gemm,
// roofline_cast, roofline_linear.
#pragma once

#include "model/model.hpp"

namespace inline_prof::model {

[[nodiscard]] ModelEntry roofline_gemm_entry();
[[nodiscard]] ModelEntry roofline_cast_entry();
[[nodiscard]] ModelEntry roofline_linear_entry();

}  // namespace inline_prof::model
