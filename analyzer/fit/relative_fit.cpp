#include "fit/relative_fit.hpp"

#include <Eigen/Core>
#include <Eigen/QR>

#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Solution {
  VectorXd coefficients;
  double squares = 0.0;
};

// Least squares of `design` * x = 1 with the columns of `chosen` only; the others are 0.
Solution solve(const MatrixXd& design, const std::vector<Index>& chosen) {
  const Index rows = design.rows();
  Solution solution{.coefficients = VectorXd::Zero(design.cols()),
                    .squares = static_cast<double>(rows)};
  if (chosen.empty()) return solution;

  // Terms differ by up to 1e12 in size (transactions beside a constant), which would look like
  // columns of rounding errors.
  MatrixXd scaled(rows, static_cast<Index>(chosen.size()));
  VectorXd lengths(scaled.cols());
  for (Index j = 0; j < scaled.cols(); ++j) {
    const auto column = design.col(chosen[static_cast<std::size_t>(j)]);
    const double length = column.norm();
    lengths[j] = length > 0 ? length : 1.0;
    scaled.col(j) = column / lengths[j];
  }
  const VectorXd ones = VectorXd::Ones(rows);
  const VectorXd x = scaled.colPivHouseholderQr().solve(ones);
  solution.squares = (scaled * x - ones).squaredNorm();
  for (Index j = 0; j < scaled.cols(); ++j) {
    solution.coefficients[chosen[static_cast<std::size_t>(j)]] = x[j] / lengths[j];
  }
  return solution;
}

std::vector<Index> columns_of(unsigned set, Index count) {
  std::vector<Index> chosen;
  for (Index j = 0; j < count; ++j) {
    if ((set >> static_cast<unsigned>(j) & 1U) != 0) chosen.push_back(j);
  }
  return chosen;
}

}  // namespace

RelativeFit fit_relative(std::span<const LinearSample> samples, Sign sign) {
  if (samples.empty()) throw std::invalid_argument("a fit of no samples");
  const auto columns = static_cast<Index>(samples.front().terms.size());
  MatrixXd design(static_cast<Index>(samples.size()), columns);
  for (Index i = 0; i < design.rows(); ++i) {
    const LinearSample& sample = samples[static_cast<std::size_t>(i)];
    if (static_cast<Index>(sample.terms.size()) != columns) {
      throw std::invalid_argument("a fit of samples with different terms");
    }
    if (!(sample.value > 0)) throw std::invalid_argument("a fit of a value that is not above 0");
    for (Index j = 0; j < columns; ++j) {
      design(i, j) = sample.terms[static_cast<std::size_t>(j)] / sample.value;
    }
  }

  const unsigned all = (1U << static_cast<unsigned>(columns)) - 1U;
  Solution best = solve(design, columns_of(all, columns));
  if (sign == Sign::kNotNegative && best.coefficients.minCoeff() < 0) {
    best = solve(design, {});
    for (unsigned set = 1; set < all; ++set) {
      const Solution candidate = solve(design, columns_of(set, columns));
      if (candidate.coefficients.minCoeff() >= 0 && candidate.squares < best.squares) {
        best = candidate;
      }
    }
  }
  return {.coefficients = {best.coefficients.data(), best.coefficients.data() + columns},
          .rmspe = std::sqrt(best.squares / static_cast<double>(samples.size()))};
}

}  // namespace inline_prof::fit
