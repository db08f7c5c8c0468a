#pragma once

#include "fit/fits.hpp"

namespace inline_prof::fit {

// Parameters of the improved model of data movement (model/calibrated/memory/memory.hpp).
[[nodiscard]] FitEntry memory_fit_entry();

}  // namespace inline_prof::fit
