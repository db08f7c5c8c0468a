#pragma once

#include "fit/fits.hpp"

namespace inline_prof::fit {

// prof-model fit --model seer: tables in SEER's formats, told by the names of their files.
[[nodiscard]] FitEntry seer_fit_entry();

}  // namespace inline_prof::fit
