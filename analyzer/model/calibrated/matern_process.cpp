#include "model/calibrated/matern_process.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace inline_prof::model {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

ArrayXXd squared_distances_between(const MatrixXd& scaled) {
  const Index count = scaled.rows();
  ArrayXXd distances = ArrayXXd::Zero(count, count);
  for (Index i = 0; i < count; ++i) {
    for (Index j = 0; j < i; ++j) {
      distances(i, j) = distances(j, i) = (scaled.row(i) - scaled.row(j)).squaredNorm();
    }
  }
  return distances;
}

MaternProcess::MaternProcess(MaternScales scales, const MatrixXd& features, const VectorXd& targets,
                             const VectorXd& noise_factors)
    : scales_(std::move(scales)) {
  if (features.rows() != targets.size() || features.rows() != noise_factors.size() ||
      features.cols() != scales_.length.size()) {
    throw std::invalid_argument("Gaussian process: sizes differ");
  }
  if (!features.allFinite() || !targets.allFinite() || !noise_factors.allFinite()) {
    throw std::invalid_argument("Gaussian process: a value is not finite");
  }
  const MatrixXd scaled = features * scales_.length.cwiseInverse().asDiagonal();
  MatrixXd covariance =
      matern_covariance(scales_.signal, squared_distances_between(scaled)).matrix();
  covariance.diagonal() += scales_.noise * scales_.noise * noise_factors;
  const Eigen::LLT<MatrixXd> decomposition(covariance);
  if (decomposition.info() != Eigen::Success) {
    throw std::invalid_argument("Gaussian process: the covariance is not positive definite");
  }
  points_ = scaled;
  weights_ = decomposition.solve(targets);
  lower_ = decomposition.matrixL();
}

ArrayXd MaternProcess::squared_distances(const VectorXd& features) const {
  // A feature of all points at a time: a few of one point are too few for vector instructions.
  ArrayXd squared = ArrayXd::Zero(points_.rows());
  for (Index j = 0; j < points_.cols(); ++j)
    squared += (points_.col(j).array() - features[j] / scales_.length[j]).square();
  return squared;
}

ArrayXd MaternProcess::distances(const VectorXd& features) const {
  return squared_distances(features).sqrt();
}

double MaternProcess::mean(const VectorXd& features) const {
  return is_empty() ? 0 : mean_at(distances(features));
}

double MaternProcess::mean_at(const ArrayXd& distances) const {
  const ArrayXd r = std::sqrt(3.0) * distances;
  return scales_.signal * scales_.signal * ((1.0 + r) * (-r).exp() * weights_.array()).sum();
}

MatrixXd MaternProcess::covariance(const MatrixXd& features) const {
  const Index count = features.rows();
  if (is_empty()) return MatrixXd::Zero(count, count);
  const MatrixXd scaled = features * scales_.length.cwiseInverse().asDiagonal();
  MatrixXd covariance =
      matern_covariance(scales_.signal, squared_distances_between(scaled)).matrix();
  MatrixXd to_points(points_.rows(), count);
  for (Index i = 0; i < count; ++i) {
    to_points.col(i) =
        matern_covariance(scales_.signal, squared_distances(features.row(i).transpose())).matrix();
  }
  const MatrixXd half = lower_.triangularView<Eigen::Lower>().solve(to_points);
  covariance -= half.transpose() * half;
  return covariance;
}

MaternProcess::Estimate MaternProcess::estimate(const VectorXd& features) const {
  if (is_empty()) return {};
  const ArrayXd squared = squared_distances(features);
  const VectorXd covariance = matern_covariance(scales_.signal, squared).matrix();
  Estimate estimate;
  estimate.mean = covariance.dot(weights_);
  const VectorXd half = lower_.triangularView<Eigen::Lower>().solve(covariance);
  estimate.variance = std::max(0.0, scales_.signal * scales_.signal - half.squaredNorm());
  estimate.distance = std::sqrt(squared.minCoeff());
  return estimate;
}

}  // namespace inline_prof::model
