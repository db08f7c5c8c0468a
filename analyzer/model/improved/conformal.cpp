#include "model/improved/conformal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace inline_prof::model {
namespace {

constexpr double kTailShare = 0.05;
constexpr std::size_t kLeastTail = 10;  // scores that tell how fast a tail falls off

// Of `sorted`, ascending.
double share_as_high(const std::vector<double>& sorted, double score) {
  const auto count = sorted.size();
  const auto all = static_cast<double>(count) + 1;
  const auto as_high =
      static_cast<double>(sorted.end() - std::lower_bound(sorted.begin(), sorted.end(), score));
  const double counted = (1 + as_high) / all;
  const auto tail =
      std::max(kLeastTail, static_cast<std::size_t>(kTailShare * static_cast<double>(count)));
  if (count < 2 * tail) return counted;
  const auto begin = sorted.end() - static_cast<std::ptrdiff_t>(tail);
  if (score <= *begin) return counted;
  const double mean = std::accumulate(begin, sorted.end(), 0.0) / static_cast<double>(tail);
  if (!(mean > *begin)) return counted;
  const double expected =
      static_cast<double>(tail + 1) / all * std::exp(-(score - *begin) / (mean - *begin));
  return std::min(counted, std::max(expected, as_high / all));
}

}  // namespace

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
  return share_as_high(of(regime), score);
}

double ConformalTable::share_below(std::string_view regime, double score) const {
  const auto& scores = of(regime);
  std::vector<double> mirrored(scores.rbegin(), scores.rend());
  for (double& value : mirrored)
    value = -value;
  return share_as_high(mirrored, -score);
}

}  // namespace inline_prof::model
