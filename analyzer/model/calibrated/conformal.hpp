// How sure a prediction is: intervals that held for groups of measurements which the fit had not
// seen.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model {

// Held-out residuals ln(measured / predicted), each divided by the error that is usual there; one
// sorted list, "all", and where a fit tells regimes apart ("compute", "memory", ...) one for each.
//
// Split conformal prediction: V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random
// World", 2005, section 4.1; by regime ("Mondrian"): section 4.5.  What is held out are whole
// groups (a width, a row count), since neighbours of a fitted point would flatter.
class ConformalTable {
 public:
  // A regime with fewer residuals is judged by all of them.
  static constexpr std::size_t kLeastScores = 40;
  static constexpr const char* kAll = "all";
  // The regime of what is predicted to take longer than anything that was measured: its scores are
  // those of the longest rows, held out together.
  static constexpr const char* kLonger = "longer";

  ConformalTable() = default;
  explicit ConformalTable(std::map<std::string, std::vector<double>, std::less<>> scores,
                          double longest_us = std::numeric_limits<double>::infinity());

  [[nodiscard]] const std::map<std::string, std::vector<double>, std::less<>>& scores() const {
    return scores_;
  }
  [[nodiscard]] bool is_empty() const { return scores_.empty(); }
  [[nodiscard]] double longest_us() const { return longest_us_; }
  // kLonger, or `otherwise`.
  [[nodiscard]] std::string_view regime_at(double time_us, std::string_view otherwise) const {
    return time_us > longest_us_ ? kLonger : otherwise;
  }

  struct Range {
    double lower = 0;  // usual errors, <= 0 as a rule
    double upper = 0;
  };
  // Holds a score with the probability `level`, the rest evenly on both sides.
  [[nodiscard]] Range range(std::string_view regime, double level) const;

  // One-sided p-values, never 0: the share of held-out scores as high as `score`, and as low.
  // Where few or none are, the outer scores' mean distance from where they begin says how fast
  // further ones get rare: an exponential tail (J. Pickands, "Statistical inference using extreme
  // order statistics", Annals of Statistics 3(1), 1975; its shape 0).  Counting alone could not
  // say less than 1 in n + 1, and of hundreds of tests made at once no single one would then be
  // found, however far off.
  [[nodiscard]] double share_above(std::string_view regime, double score) const;
  [[nodiscard]] double share_below(std::string_view regime, double score) const;

 private:
  [[nodiscard]] const std::vector<double>& of(std::string_view regime) const;

  std::map<std::string, std::vector<double>, std::less<>> scores_;
  double longest_us_ = std::numeric_limits<double>::infinity();
};

}  // namespace inline_prof::model
