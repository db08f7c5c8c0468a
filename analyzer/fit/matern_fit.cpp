#include "fit/matern_fit.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace inline_prof::fit {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kMostMaternPoints = 250;
constexpr int kMostSteps = 60;
constexpr double kLeastGain = 1e-3;  // of the log probability: less does not change a prediction

// -ln p(targets | scales) - ln p(scales), less what does not depend on the scales, and its
// gradient. A position is the logarithms of the lengths, then of signal and noise.
class Improbability {
 public:
  Improbability(const MatrixXd& features, VectorXd targets, VectorXd noise_factors,
                const MaternPrior& prior)
      : targets_(std::move(targets)), noise_factors_(std::move(noise_factors)) {
    const Index count = features.rows();
    for (Index j = 0; j < features.cols(); ++j) {
      const Eigen::ArrayXd x = features.col(j).array();
      differences_.emplace_back(
          (x.replicate(1, count) - x.transpose().replicate(count, 1)).square());
    }
    const Index size = features.cols() + 2;
    centre_ = VectorXd::Constant(size, std::log(prior.length));
    variance_ = VectorXd::Constant(size, prior.length_variance);
    centre_[size - 2] = std::log(prior.signal);
    variance_[size - 2] = prior.signal_variance;
    centre_[size - 1] = std::log(prior.noise);
    variance_[size - 1] = prior.noise_variance;
  }

  [[nodiscard]] const VectorXd& centre() const { return centre_; }

  [[nodiscard]] double operator()(const VectorXd& position, VectorXd& gradient) const {
    const Index count = targets_.size();
    const Index size = position.size();
    ArrayXXd squared = ArrayXXd::Zero(count, count);
    for (Index j = 0; j < size - 2; ++j) {
      squared += std::exp(-2 * position[j]) * differences_[static_cast<std::size_t>(j)];
    }
    const double signal = std::exp(position[size - 2]);
    const double noise_variance = std::exp(2 * position[size - 1]);
    const ArrayXXd r = (3.0 * squared).sqrt();
    const ArrayXXd decay = signal * signal * (-r).exp();
    const ArrayXXd signal_part = (1.0 + r) * decay;
    MatrixXd covariance = signal_part.matrix();
    covariance.diagonal() += noise_variance * noise_factors_;
    const Eigen::LLT<MatrixXd> decomposition(covariance);
    if (decomposition.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
    const VectorXd weights = decomposition.solve(targets_);

    const VectorXd pull = position - centre_;
    double value =
        0.5 * targets_.dot(weights) + 0.5 * pull.cwiseAbs2().cwiseQuotient(variance_).sum();
    for (Index i = 0; i < count; ++i) {
      value += std::log(decomposition.matrixLLT()(i, i));
    }
    // d value = trace((K^-1 - w w') dK) / 2, dK as ln(length), ln(signal), ln(noise) change.
    const MatrixXd slope =
        decomposition.solve(MatrixXd::Identity(count, count)) - weights * weights.transpose();
    gradient = pull.cwiseQuotient(variance_);
    const ArrayXXd by_length = 1.5 * slope.array() * decay;
    for (Index j = 0; j < size - 2; ++j) {
      gradient[j] += std::exp(-2 * position[j]) *
                     (by_length * differences_[static_cast<std::size_t>(j)]).sum();
    }
    gradient[size - 2] += (slope.array() * signal_part).sum();
    gradient[size - 1] += noise_variance * slope.diagonal().dot(noise_factors_);
    return value;
  }

 private:
  VectorXd targets_;
  VectorXd noise_factors_;
  std::vector<ArrayXXd> differences_;  // squared, of each feature
  VectorXd centre_, variance_;
};

// BFGS with backtracking (J. Nocedal, S. Wright, "Numerical Optimization", 2006, algorithm 6.1).
struct Minimum {
  VectorXd position;
  double value;
};

Minimum minimise(const Improbability& function, VectorXd position) {
  constexpr double kFirstStep = 0.02;
  const Index size = position.size();
  VectorXd gradient(size), next_gradient(size);
  double value = function(position, gradient);
  MatrixXd inverse = kFirstStep * MatrixXd::Identity(size, size);
  for (int step = 0; step < kMostSteps; ++step) {
    VectorXd direction = -(inverse * gradient);
    if (direction.dot(gradient) >= 0) {
      inverse = kFirstStep * MatrixXd::Identity(size, size);
      direction = -(inverse * gradient);
    }
    direction /= std::max(1.0, direction.cwiseAbs().maxCoeff());
    double length = 1.0;
    double next_value = value;
    VectorXd next;
    bool is_lower = false;
    for (int halving = 0; halving < 12 && !is_lower; ++halving, length *= 0.4) {
      next = position + length * direction;
      next_value = function(next, next_gradient);
      is_lower = next_value < value + 1e-4 * length * direction.dot(gradient);
    }
    if (!is_lower) break;
    const VectorXd moved = next - position;
    const VectorXd bent = next_gradient - gradient;
    const double curvature = moved.dot(bent);
    if (curvature > 1e-10) {
      const VectorXd mapped = inverse * bent;
      inverse += (1 + bent.dot(mapped) / curvature) / curvature * moved * moved.transpose() -
                 (mapped * moved.transpose() + moved * mapped.transpose()) / curvature;
    }
    const double gain = value - next_value;
    position = next;
    gradient = next_gradient;
    value = next_value;
    if (gain < kLeastGain) break;
  }
  return {position, value};
}

}  // namespace

model::MaternScales fit_matern_scales(const MatrixXd& features, const VectorXd& targets,
                                      const VectorXd& noise_factors, const MaternPrior& prior) {
  const Index count = std::min(kMostMaternPoints, features.rows());
  const Improbability function(features.topRows(count), targets.head(count),
                               noise_factors.head(count), prior);
  const VectorXd centre = function.centre();
  Minimum best = minimise(function, centre);
  // The search may stop short of the best lengths: from shorter and longer ones, too.
  for (const double factor : {0.5, 2.0}) {
    VectorXd start = centre;
    start.head(features.cols()).array() += std::log(factor);
    Minimum other = minimise(function, std::move(start));
    if (other.value < best.value) best = std::move(other);
  }
  const VectorXd& found = best.position;
  const Index size = found.size();
  return {.length = found.head(size - 2).array().exp().matrix(),
          .signal = std::exp(found[size - 2]),
          .noise = std::exp(found[size - 1])};
}

namespace {

// The noise of an induced target, as a part of a measurement's variance: enough for a decomposition
// that rounded numbers of a file do not upset.
constexpr double kInducedNoise = 0.05;

// Of one row of `scaled` to all.
VectorXd covariance_with(const MatrixXd& scaled, double signal, Index row) {
  const Eigen::ArrayXd squared =
      (scaled.rowwise() - scaled.row(row)).rowwise().squaredNorm().array();
  return model::matern_covariance(signal, squared).matrix();
}

std::vector<Index> telling_rows(const MatrixXd& scaled, double signal, Index most) {
  const Index count = scaled.rows();
  MatrixXd lower = MatrixXd::Zero(count, most);
  VectorXd unexplained = VectorXd::Constant(count, signal * signal);
  std::vector<Index> rows;
  for (Index step = 0; step < most; ++step) {
    Index next = 0;
    const double variance = unexplained.maxCoeff(&next);
    if (variance < 1e-9 * signal * signal) break;  // all others are copies
    VectorXd column = covariance_with(scaled, signal, next) -
                      lower.leftCols(step) * lower.row(next).head(step).transpose();
    column /= std::sqrt(variance);
    lower.col(step) = column;
    unexplained = (unexplained - column.cwiseAbs2()).cwiseMax(0);
    unexplained[next] = 0;
    rows.push_back(next);
  }
  return rows;
}

}  // namespace

InducedProcess induce(const model::MaternScales& scales, const MatrixXd& features,
                      const VectorXd& targets, const VectorXd& noise_factors, Index most) {
  InducedProcess process;
  if (features.rows() <= most) {
    for (Index i = 0; i < features.rows(); ++i)
      process.points.push_back(i);
    process.targets = targets;
    process.noise_factors = noise_factors;
    return process;
  }
  const MatrixXd scaled = features * scales.length.cwiseInverse().asDiagonal();
  process.points = telling_rows(scaled, scales.signal, most);
  const auto count = static_cast<Index>(process.points.size());
  MatrixXd to_rows(count, features.rows());
  for (Index i = 0; i < count; ++i) {
    to_rows.row(i) =
        covariance_with(scaled, scales.signal, process.points[static_cast<std::size_t>(i)])
            .transpose();
  }
  const MatrixXd between = to_rows(Eigen::all, process.points);
  const double noise = scales.noise * scales.noise;
  const VectorXd certainty = (noise * noise_factors).cwiseInverse();
  MatrixXd system = between + to_rows * certainty.asDiagonal() * to_rows.transpose();
  system.diagonal().array() += 1e-6 * scales.signal * scales.signal;
  const VectorXd weights = system.ldlt().solve(to_rows * certainty.cwiseProduct(targets));
  process.noise_factors = VectorXd::Constant(count, kInducedNoise);
  process.targets = between * weights + kInducedNoise * noise * weights;
  return process;
}

VectorXd noise_factors_of(const VectorXd& targets, double usual) {
  // 9: a point twice as wild as usual has six times the usual noise.
  return targets.unaryExpr([usual](double target) {
    const double times = std::abs(target) / usual;
    return times > 1 ? 9 * times * times : 1.0;
  });
}

}  // namespace inline_prof::fit
