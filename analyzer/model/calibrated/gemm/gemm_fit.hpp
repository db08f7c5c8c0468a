#pragma once

#include "fit/fits.hpp"

namespace inline_prof::fit {

// Parameters of the improved model of matrix products (model/calibrated/gemm/gemm.hpp).
[[nodiscard]] FitEntry gemm_fit_entry();

}  // namespace inline_prof::fit
