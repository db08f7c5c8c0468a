#include "model/improved/conformal.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace inline_prof::model {

ConformalTable::ConformalTable(std::map<std::string, std::vector<double>, std::less<>> scores)
    : scores_(std::move(scores)) {
  for (auto& [regime, values] : scores_) {
    std::sort(values.begin(), values.end());
  }
}

const std::vector<double>& ConformalTable::of(std::string_view regime) const {
  static const std::vector<double> nothing;
  const auto own = scores_.find(regime);
  if (own != scores_.end() && own->second.size() >= kLeastScores) return own->second;
  const auto all = scores_.find(kAll);
  return all == scores_.end() ? nothing : all->second;
}

// The ceil((n + 1) * q)-th smallest of n is not exceeded with probability q by a further one.
ConformalTable::Range ConformalTable::range(std::string_view regime, double level) const {
  const auto& scores = of(regime);
  if (scores.empty()) return {};
  const auto count = static_cast<double>(scores.size());
  constexpr double kRounding = 1e-9;  // 100 * (1 - 0.9) / 2 is a little less than 5
  const double tail = (1 - level) / 2;
  const auto rank = [&](double q) { return std::clamp(q, 1.0, count) - 1; };
  return {scores[static_cast<std::size_t>(rank(std::floor((count + 1) * tail + kRounding)))],
          scores[static_cast<std::size_t>(rank(std::ceil((count + 1) * (1 - tail) - kRounding)))]};
}

double ConformalTable::share_above(std::string_view regime, double score) const {
  const auto& scores = of(regime);
  const auto at_least = scores.end() - std::lower_bound(scores.begin(), scores.end(), score);
  return (1.0 + static_cast<double>(at_least)) / (1.0 + static_cast<double>(scores.size()));
}

double ConformalTable::share_below(std::string_view regime, double score) const {
  const auto& scores = of(regime);
  const auto at_most = std::upper_bound(scores.begin(), scores.end(), score) - scores.begin();
  return (1.0 + static_cast<double>(at_most)) / (1.0 + static_cast<double>(scores.size()));
}

}  // namespace inline_prof::model
