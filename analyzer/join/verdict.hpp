// What the comparison of a measured time with its prediction says.
#pragma once

#include "join/statistics.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace inline_prof::join {

// Only a prediction with an interval can call a row slow or fast; a bare bound can only say how far
// away the row is from it.
enum class Verdict : std::uint8_t {
  kNotMeasured,
  kNoPrediction,
  kAboveBound,  // the prediction is the least time there can be
  kExtrapolated,
  kAsPredicted,
  kSlower,
  kFaster
};

// Of a measured time that has a prediction.  `is_finding`: whether a time outside the interval is
// more than what chance does to one of many rows.
[[nodiscard]] Verdict judge(double corrected_us, const std::optional<Interval>& predicted_ci90_us,
                            bool is_extrapolated = false, bool is_finding = true);

// For a reader: "slower", "1.5 of bound" for a ratio of 1.5, "no prediction: REASON".
[[nodiscard]] std::string verdict_text(Verdict verdict, const std::optional<double>& ratio,
                                       const std::string& reason);

// Of a Row or a MergedRow.
template <typename AnyRow>
[[nodiscard]] std::string verdict_text(const AnyRow& row) {
  return verdict_text(row.verdict, row.ratio, row.reason);
}

}  // namespace inline_prof::join
