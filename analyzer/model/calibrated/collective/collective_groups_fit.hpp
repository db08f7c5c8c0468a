#pragma once

#include "fit/fits.hpp"

namespace inline_prof::fit {

// Parameters of collectives for both modes: the published curves
// (model/published/collective/collective_fit.hpp) and, where the tables have the columns op,
// num_gpus, bytes and time_us, ours (model/calibrated/collective/collective.hpp).
[[nodiscard]] FitEntry collective_fit_entry();

}  // namespace inline_prof::fit
