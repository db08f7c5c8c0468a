// The outcome of comparing a measured time with its prediction.
#pragma once

#include "join/rows/statistics.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace inline_prof::join {

// Only a prediction with an interval can call a row slow or fast; a bare bound can only say how far
// away the row is from it.
enum class Verdict : std::uint8_t {
  kNotMeasured,
  kNoPrediction,
  kImpossible,  // faster than its bound allows: bytes or time are wrong
  kAboveBound,  // the prediction is the least time there can be
  kUpperBound,  // longer than predicted, but the time holds some of the host's launching
  kExtrapolated,
  kAsPredicted,
  kSlower,
  kFaster
};

// Doubts about a comparison that the two times do not show.
struct Doubts {
  bool is_extrapolated = false;
  bool is_finding = true;  // outside the interval is more than chance does to one of many rows
  bool may_hold_launching = false;  // the measured time
};

// Judges a measured time that has a prediction.
[[nodiscard]] Verdict judge(double corrected_us, double predicted_us,
                            const std::optional<Interval>& predicted_ci90_us, const Doubts& doubts);

// Whether `us`, the row's time, may: a launch that finds its stream empty begins between the pair
// of events, and not before it, so its time may be what the host took to launch.  A kernel's own
// launch takes no longer than 10 us between its pair: a driver's call takes 2 to 5.
template <typename AnyRow>
[[nodiscard]] bool may_hold_launching(const AnyRow& row, double us) {
  constexpr double longest_launch_us = 10.0;
  return row.is_upper_bound() && !(row.is_one_launch && us > *row.predicted_us + longest_launch_us);
}

// For a reader: "slower", "1.5 of bound" for a ratio of 1.5, "no prediction: REASON".
[[nodiscard]] std::string verdict_text(Verdict verdict, const std::optional<double>& ratio,
                                       const std::string& reason);

// Takes a Row or a MergedRow.
template <typename AnyRow>
[[nodiscard]] std::string verdict_text(const AnyRow& row) {
  return verdict_text(row.verdict, row.ratio, row.reason);
}

}  // namespace inline_prof::join
