#include "model/calibrated/embedding/index_distribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace inline_prof::model {

using Eigen::ArrayXd;

namespace {

constexpr double kOwnClasses = 64;
constexpr double kGrowth = 1.05;
constexpr int kNewtonSteps = 60;

ArrayXd as_array(const std::vector<double>& values) {
  return Eigen::Map<const ArrayXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

// Integral of x^-alpha.
double primitive(double x, double alpha) {
  return std::abs(alpha - 1) < 1e-9 ? std::log(x) : std::pow(x, 1 - alpha) / (1 - alpha);
}

}  // namespace

IndexDistribution::IndexDistribution(ArrayXd probabilities, ArrayXd counts)
    : probabilities_(std::move(probabilities)), counts_(std::move(counts)) {
  probabilities_ /= (probabilities_ * counts_).sum();
}

IndexDistribution IndexDistribution::zipf(double rows, double alpha) {
  std::vector<double> weights, counts;
  for (double rank = 1; rank <= std::min(rows, kOwnClasses); ++rank) {
    weights.push_back(std::pow(rank, -alpha));
    counts.push_back(1);
  }
  for (double first = kOwnClasses + 1; first <= rows;) {
    const double next = std::min(rows + 1, std::ceil(first * kGrowth));
    if (!(next > first)) break;  // from 2^53 rows on, one more is the same number
    // Midpoint rule the other way round: the integral around whole ranks stands for their sum.
    const double sum = primitive(next - 0.5, alpha) - primitive(first - 0.5, alpha);
    counts.push_back(next - first);
    weights.push_back(sum / counts.back());
    first = next;
  }
  return {as_array(weights), as_array(counts)};
}

IndexDistribution IndexDistribution::histogram(const read::Table& table) {
  const std::size_t accesses = table.require("accesses");
  const auto rows = table.find("rows");
  std::map<double, double> classes;
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const double times = table.number(i, accesses);
    if (!(times >= 0)) table.fail(i, accesses, "expected a number >= 0");
    const double count = rows ? table.number(i, *rows) : 1.0;
    if (rows && !(count > 0)) table.fail(i, *rows, "expected a number > 0");
    classes[times] += count;
  }
  std::vector<double> weights, counts;
  for (const auto& [times, count] : classes) {
    weights.push_back(times);
    counts.push_back(count);
  }
  if (weights.empty() || !(weights.back() > 0)) {
    throw read::InputError(fmt::format("{}: no row is ever accessed", table.label()));
  }
  return {as_array(weights), as_array(counts)};
}

double IndexDistribution::unique_rows(double requests) const {
  // (1 - p)^n as exp(n ln(1 - p)): p = 1 is a table of one row.
  // expm1: of 2^53 rows each one is asked for so rarely that 1 - exp(...) has no digit left.
  return -(counts_ * (requests * (-probabilities_.min(1 - 1e-16)).log1p()).expm1()).sum();
}

double IndexDistribution::touched(double requests) const {
  return (counts_ * (1 - (-requests * probabilities_).exp())).sum();
}

// Newton's method on a function that rises and flattens: from the left it never overshoots.
double IndexDistribution::stay(double capacity) const {
  double tau = capacity;  // `capacity` requests touch at most so many rows
  for (int step = 0; step < kNewtonSteps; ++step) {
    const ArrayXd left = (-tau * probabilities_).exp();
    const double missing = capacity - (counts_ * (1 - left)).sum();
    if (missing <= 1e-9 * capacity) break;
    const double slope = (counts_ * probabilities_ * left).sum();
    if (!(slope > 0)) break;
    tau += missing / slope;
  }
  return tau;
}

double IndexDistribution::hit_rate(double requests, double capacity) const {
  if (!(requests > 0) || !(capacity > 0)) return 0;
  const bool never_full = capacity >= touched(requests);
  const double filled = never_full ? requests : std::min(stay(capacity), requests);
  const ArrayXd present = 1 - (-filled * probabilities_).exp();
  const double while_filling = filled - (counts_ * present).sum();
  const double afterwards = (requests - filled) * (counts_ * probabilities_ * present).sum();
  return std::clamp((while_filling + afterwards) / requests, 0.0, 1.0);
}

}  // namespace inline_prof::model
