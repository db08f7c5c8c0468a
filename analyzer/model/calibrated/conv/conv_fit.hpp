#pragma once

#include "fit/fits.hpp"

namespace inline_prof::fit {

// prof-model fit --model conv.
[[nodiscard]] FitEntry conv_fit_entry();

}  // namespace inline_prof::fit
