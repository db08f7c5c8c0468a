#pragma once

#include "join/analysis.hpp"

#include <fmt/format.h>

#include <string>

namespace inline_prof::join {

// What the comparison says.  Only a prediction with an interval can call a row slow or fast; a bare
// bound can only say how far away the row is from it.  `is_finding`: whether a time outside the
// interval is more than what chance does to one of many rows.
[[nodiscard]] inline std::string verdict(double corrected_us, double predicted_us,
                                         const std::optional<Interval>& predicted_ci90_us,
                                         bool is_extrapolated = false, bool is_finding = true) {
  if (!predicted_ci90_us) return fmt::format("{:.1f} of bound", corrected_us / predicted_us);
  if (is_extrapolated) return "extrapolated";
  if (is_finding && corrected_us > predicted_ci90_us->upper) return "slower";
  if (is_finding && corrected_us < predicted_ci90_us->lower) return "faster";
  return "as predicted";
}

}  // namespace inline_prof::join
