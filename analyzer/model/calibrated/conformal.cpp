#include "model/calibrated/conformal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace inline_prof::model {
namespace {

constexpr double kTailShare = 0.05;
constexpr std::size_t kLeastTail = 10;  // scores that tell how fast a tail falls off

// Of scores that ascend from `begin` to `end` once each is multiplied by `sign`, as `score` is.
template <typename Iterator>
double share_as_far(Iterator begin, Iterator end, double sign, double score) {
  const auto count = static_cast<std::size_t>(end - begin);
  const auto all = static_cast<double>(count) + 1;
  const auto first_as_far = std::lower_bound(
      begin, end, score, [sign](double value, double limit) { return sign * value < limit; });
  const auto as_far = static_cast<double>(end - first_as_far);
  const double counted = (1 + as_far) / all;
  const auto tail =
      std::max(kLeastTail, static_cast<std::size_t>(kTailShare * static_cast<double>(count)));
  if (count < 2 * tail) return counted;
  const auto outer = end - static_cast<std::ptrdiff_t>(tail);
  const double tail_begins = sign * *outer;
  if (score <= tail_begins) return counted;
  const double sum = std::accumulate(
      outer, end, 0.0, [sign](double so_far, double value) { return so_far + sign * value; });
  const double mean = sum / static_cast<double>(tail);
  if (!(mean > tail_begins)) return counted;
  const double expected =
      static_cast<double>(tail + 1) / all * std::exp(-(score - tail_begins) / (mean - tail_begins));
  return std::min(counted, std::max(expected, as_far / all));
}

}  // namespace

ConformalTable::ConformalTable(std::map<std::string, std::vector<double>, std::less<>> scores,
                               double longest_us)
    : scores_(std::move(scores)), longest_us_(longest_us) {
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
  constexpr double rounding = 1e-9;  // 100 * (1 - 0.9) / 2 is a little less than 5
  const double tail = (1 - level) / 2;
  const auto rank = [&](double q) { return std::clamp(q, 1.0, count) - 1; };
  return {scores[static_cast<std::size_t>(rank(std::floor((count + 1) * tail + rounding)))],
          scores[static_cast<std::size_t>(rank(std::ceil((count + 1) * (1 - tail) - rounding)))]};
}

double ConformalTable::share_above(std::string_view regime, double score) const {
  const auto& scores = of(regime);
  return share_as_far(scores.begin(), scores.end(), 1, score);
}

double ConformalTable::share_below(std::string_view regime, double score) const {
  const auto& scores = of(regime);
  return share_as_far(scores.rbegin(), scores.rend(), -1, -score);
}

}  // namespace inline_prof::model
