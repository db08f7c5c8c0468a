// A Gaussian process that learns what an analytic model leaves over.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace inline_prof::model {

// Where the process expects neighbours to agree.
struct MaternScales {
  Eigen::VectorXd length;  // of each feature: the distance at which values become independent
  double signal = 0.08;    // standard deviation of what there is to learn
  double noise = 0.02;     // of a single measurement
};

// Covariance signal^2 * (1 + r) * exp(-r), r = sqrt(3) * |x - y| in units of length: Matern with
// nu = 3/2 and a length for each feature.  Source: C. E. Rasmussen, C. K. I. Williams, "Gaussian
// Processes for Machine Learning", 2006, equations 2.25, 2.26 and 4.17.
class MaternProcess {
 public:
  struct Estimate {
    double mean = 0;
    double variance = 0;  // of the mean: signal^2 far away from every point
    double distance = 0;  // to the nearest point, in units of length
  };

  MaternProcess() = default;
  // A row of `features` is a point.  `noise_factors` multiply the noise's variance, point by point.
  // Throws std::invalid_argument for sizes that differ or values that are not finite.
  MaternProcess(MaternScales scales, const Eigen::MatrixXd& features,
                const Eigen::VectorXd& targets, const Eigen::VectorXd& noise_factors);

  [[nodiscard]] bool is_empty() const { return points_.rows() == 0; }
  [[nodiscard]] const MaternScales& scales() const { return scales_; }
  // Without a point all is 0.
  [[nodiscard]] Estimate estimate(const Eigen::VectorXd& features) const;
  // The mean alone, at a tenth of the cost.
  [[nodiscard]] double mean(const Eigen::VectorXd& features) const;
  // The mean where the points are at these distances().
  [[nodiscard]] double mean_at(const Eigen::ArrayXd& distances) const;
  // What is not known yet about the values at the rows of `features`, together.
  [[nodiscard]] Eigen::MatrixXd covariance(const Eigen::MatrixXd& features) const;
  // To each point, in units of length.
  [[nodiscard]] Eigen::ArrayXd distances(const Eigen::VectorXd& features) const;

 private:
  // |x - y|^2 in units of length, to each point.
  [[nodiscard]] Eigen::ArrayXd squared_distances(const Eigen::VectorXd& features) const;

  MaternScales scales_;
  Eigen::MatrixXd points_;  // a row is a point, already in units of length
  Eigen::VectorXd weights_;
  Eigen::MatrixXd lower_;  // of the covariance's Cholesky decomposition
};

// The covariance of points at these squared distances.
template <typename Array>
[[nodiscard]] auto matern_covariance(double signal, const Array& squared_distances) {
  const Eigen::ArrayXXd r = (3.0 * squared_distances).sqrt();
  return Eigen::ArrayXXd((signal * signal) * (1.0 + r) * (-r).exp());
}

// Of the rows of `scaled` to each other.
[[nodiscard]] Eigen::ArrayXXd squared_distances_between(const Eigen::MatrixXd& scaled);

}  // namespace inline_prof::model
