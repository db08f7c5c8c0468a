#include "fit/matern_fit.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <limits>
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
VectorXd minimise(const Improbability& function, VectorXd position) {
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
  return position;
}

}  // namespace

model::MaternScales fit_matern_scales(const MatrixXd& features, const VectorXd& targets,
                                      const VectorXd& noise_factors, const MaternPrior& prior) {
  const Index count = std::min(kMostMaternPoints, features.rows());
  const Improbability function(features.topRows(count), targets.head(count),
                               noise_factors.head(count), prior);
  const VectorXd found = minimise(function, function.centre());
  const Index size = found.size();
  return {.length = found.head(size - 2).array().exp().matrix(),
          .signal = std::exp(found[size - 2]),
          .noise = std::exp(found[size - 1])};
}

VectorXd noise_factors_of(const VectorXd& targets, double usual) {
  // 9: a point twice as wild as usual has six times the usual noise.
  return targets.unaryExpr([usual](double target) {
    const double times = std::abs(target) / usual;
    return times > 1 ? 9 * times * times : 1.0;
  });
}

}  // namespace inline_prof::fit
