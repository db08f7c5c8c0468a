#include "join/rows/verdict.hpp"

#include <fmt/format.h>

namespace inline_prof::join {

Verdict judge(double corrected_us, double predicted_us,
              const std::optional<Interval>& predicted_ci90_us, const Doubts& doubts) {
  if (!predicted_ci90_us) {
    return doubts.may_hold_launching && corrected_us > predicted_us ? Verdict::kUpperBound
                                                                    : Verdict::kAboveBound;
  }
  if (doubts.is_extrapolated) return Verdict::kExtrapolated;
  if (doubts.is_finding && corrected_us > predicted_ci90_us->upper)
    return doubts.may_hold_launching ? Verdict::kUpperBound : Verdict::kSlower;
  if (doubts.is_finding && corrected_us < predicted_ci90_us->lower) return Verdict::kFaster;
  return Verdict::kAsPredicted;
}

std::string verdict_text(Verdict verdict, const std::optional<double>& ratio,
                         const std::string& reason) {
  switch (verdict) {
    case Verdict::kNotMeasured:
      return "not measured";
    case Verdict::kNoPrediction:
      return fmt::format("no prediction: {}", reason);
    case Verdict::kImpossible:
      return fmt::format("impossible: {}", reason);
    case Verdict::kAboveBound:
      return fmt::format("{:.1f} of bound", ratio.value_or(0.0));
    case Verdict::kUpperBound:
      return "upper bound";
    case Verdict::kExtrapolated:
      return "extrapolated";
    case Verdict::kAsPredicted:
      return "as predicted";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kFaster:
      return "faster";
  }
  return "";
}

}  // namespace inline_prof::join
