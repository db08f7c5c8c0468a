#include "fit/least_squares.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// The step of a forward difference in log space: far above rounding (1e-16 / 1e-6), far below the
// distance over which the models bend.
constexpr double kDifference = 1e-6;

double robust_cost(const LeastSquaresProblem& problem, const VectorXd& theta, const VectorXd& r) {
  const double scale2 = problem.scale * problem.scale;
  double sum = 0.0;
  for (Index i = 0; i < r.size(); ++i) {
    sum += scale2 * (std::sqrt(1.0 + r[i] * r[i] / scale2) - 1.0);
  }
  const VectorXd pull = problem.weight.cwiseProduct(theta - problem.centre);
  return sum + 0.5 * pull.squaredNorm();
}

struct NormalEquations {
  MatrixXd hessian;  // J' W J + prior
  VectorXd gradient;
};

NormalEquations linearise(const LeastSquaresProblem& problem, const VectorXd& theta,
                          const VectorXd& r) {
  const Index parameters = theta.size();
  MatrixXd jacobian(problem.residual_count, parameters);
  VectorXd moved_r(problem.residual_count);
  VectorXd moved = theta;
  const auto residuals = problem.residuals_near ? problem.residuals_near(theta) : problem.residuals;
  for (Index j = 0; j < parameters; ++j) {
    double step = kDifference * std::max(1.0, std::abs(theta[j]));
    if (theta[j] + step > problem.upper[j]) step = -step;
    moved[j] = theta[j] + step;
    residuals(moved, moved_r);
    jacobian.col(j) = (moved_r - r) / step;
    moved[j] = theta[j];
  }
  const double scale2 = problem.scale * problem.scale;
  const VectorXd weights = (1.0 + r.array().square() / scale2).rsqrt().matrix();
  const MatrixXd weighted = weights.asDiagonal() * jacobian;
  NormalEquations equations;
  equations.hessian = jacobian.transpose() * weighted;
  equations.hessian.diagonal() += problem.weight.cwiseAbs2();
  equations.gradient =
      weighted.transpose() * r + problem.weight.cwiseAbs2().cwiseProduct(theta - problem.centre);
  return equations;
}

void check_sizes(const LeastSquaresProblem& problem, const VectorXd& start) {
  const Index parameters = start.size();
  if (!problem.residuals || problem.residual_count < 1 || parameters < 1 ||
      problem.centre.size() != parameters || problem.weight.size() != parameters ||
      problem.lower.size() != parameters || problem.upper.size() != parameters) {
    throw std::invalid_argument("least squares: sizes of start, prior and bounds differ");
  }
}

void describe_solution(const LeastSquaresProblem& problem, const VectorXd& r,
                       const NormalEquations& equations, LeastSquaresResult& result) {
  const VectorXd diagonal = equations.hessian.diagonal().cwiseMax(1e-300).cwiseSqrt();
  const VectorXd inverse = diagonal.cwiseInverse();
  const MatrixXd scaled = inverse.asDiagonal() * equations.hessian * inverse.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(scaled);
  const VectorXd values = eigen.eigenvalues().cwiseMax(1e-15);
  const MatrixXd inverted =
      eigen.eigenvectors() * values.cwiseInverse().asDiagonal() * eigen.eigenvectors().transpose();
  const double freedom =
      std::max(1.0, static_cast<double>(problem.residual_count - result.theta.size()));
  // The robust cost stands in for the sum of squares, so that wild rows do not widen everything.
  const double scale2 = problem.scale * problem.scale;
  const double squares = (2.0 * scale2 * ((1.0 + r.array().square() / scale2).sqrt() - 1.0)).sum();
  result.covariance =
      (inverse.asDiagonal() * inverted * inverse.asDiagonal()) * (squares / freedom);
}

constexpr double kTolerance = 1e-8;  // of cost, step and gradient
constexpr int kEvaluationsPerParameter = 100;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

MatrixXd jacobian(const Residuals& residuals, const VectorXd& x, const VectorXd& at_x) {
  const double relative = std::sqrt(std::numeric_limits<double>::epsilon());
  MatrixXd result(at_x.size(), x.size());
  for (Index i = 0; i < x.size(); ++i) {
    VectorXd moved = x;
    moved[i] += std::copysign(relative * std::max(1.0, std::abs(x[i])), x[i]);
    result.col(i) = (residuals(moved) - at_x) / (moved[i] - x[i]);
  }
  return result;
}

// The shortest of the steps that solve the linear problem best.
VectorXd newton_step(const MatrixXd& jacobian, const VectorXd& at_x) {
  Eigen::JacobiSVD<MatrixXd> svd(jacobian, Eigen::ComputeThinU | Eigen::ComputeThinV);
  svd.setThreshold(std::numeric_limits<double>::epsilon());
  return svd.solve(-at_x);
}

// How far one can go from `from` along `direction` inside a box of +-radius.
double distance_to_box(const VectorXd& from, const VectorXd& direction, double radius) {
  double least = kInfinity;
  for (Index i = 0; i < from.size(); ++i) {
    if (direction[i] == 0.0) continue;
    least = std::min(
        least, std::max((-radius - from[i]) / direction[i], (radius - from[i]) / direction[i]));
  }
  return least;
}

struct Step {
  VectorXd step;
  bool hits_box = false;
};

// The Newton step if the box holds it; else along the gradient to the minimum of the quadratic
// model (or to the box), and from there towards the Newton step until the box ends it.
Step dogleg(const MatrixXd& jacobian, const VectorXd& gradient, const VectorXd& newton,
            double radius) {
  if (newton.lpNorm<Eigen::Infinity>() <= radius) return {newton, false};
  const double curvature = 0.5 * (jacobian * gradient).squaredNorm();
  const double slope = -gradient.squaredNorm();
  const double most = distance_to_box(VectorXd::Zero(gradient.size()), -gradient, radius);
  const auto change = [&](double t) { return t * (curvature * t + slope); };
  double best = change(most) < 0.0 ? most : 0.0;
  if (curvature != 0.0) {
    const double extremum = -0.5 * slope / curvature;
    if (extremum > 0.0 && extremum < most && change(extremum) < change(best)) best = extremum;
  }
  const VectorXd cauchy = -best * gradient;
  const VectorXd rest = newton - cauchy;
  return {cauchy + distance_to_box(cauchy, rest, radius) * rest, true};
}

// The state of a search between two steps.
struct Search {
  VectorXd x;
  VectorXd at_x;
  double cost = 0.0;
  double radius = 0.0;
  int evaluations = 1;
  bool is_done = false;
};

// Tries ever shorter steps until one lowers the cost, a tolerance is met, or `most` evaluations
// were made.  Returns whether x has moved.
bool advance(const Residuals& residuals, const MatrixXd& jacobian, const VectorXd& gradient,
             int most, Search& search) {
  const VectorXd newton = newton_step(jacobian, search.at_x);
  while (search.evaluations < most) {
    const auto [step, hits_box] = dogleg(jacobian, gradient, newton, search.radius);
    const double predicted = -(0.5 * (jacobian * step).squaredNorm() + gradient.dot(step));
    const VectorXd x = search.x + step;
    const VectorXd at_x = residuals(x);
    ++search.evaluations;
    const double length = step.lpNorm<Eigen::Infinity>();
    if (!at_x.allFinite()) {
      search.radius = 0.25 * length;
      continue;
    }
    const double cost = 0.5 * at_x.squaredNorm();
    const double actual = search.cost - cost;
    const double ratio =
        predicted > 0.0 ? actual / predicted : (predicted == 0.0 && actual == 0.0 ? 1.0 : 0.0);
    if (ratio < 0.25) {
      search.radius = 0.25 * length;
    } else if (ratio > 0.75 && hits_box) {
      search.radius *= 2.0;
    }
    const bool cost_stands = actual < kTolerance * search.cost && ratio > 0.25;
    const bool x_stands = step.norm() < kTolerance * (kTolerance + search.x.norm());
    search.is_done = cost_stands || x_stands;
    if (actual > 0.0) {
      search.x = x;
      search.at_x = at_x;
      search.cost = cost;
      return true;
    }
    if (search.is_done) return false;
  }
  return false;
}

}  // namespace

LeastSquaresResult solve_least_squares(const LeastSquaresProblem& problem, const VectorXd& start,
                                       const LeastSquaresOptions& options) {
  check_sizes(problem, start);
  LeastSquaresResult result;
  result.theta = start.cwiseMax(problem.lower).cwiseMin(problem.upper);
  VectorXd r(problem.residual_count);
  problem.residuals(result.theta, r);
  if (!r.allFinite())
    throw std::runtime_error("least squares: a residual at the start is not finite");
  result.cost = robust_cost(problem, result.theta, r);

  double damping = 1e-2;
  VectorXd trial_r(problem.residual_count);
  NormalEquations equations = linearise(problem, result.theta, r);
  while (result.iterations < options.max_iterations) {
    ++result.iterations;
    MatrixXd damped = equations.hessian;
    damped.diagonal() += damping * equations.hessian.diagonal().cwiseMax(1e-12);
    const VectorXd step = damped.ldlt().solve(equations.gradient);
    const VectorXd trial = (result.theta - step).cwiseMax(problem.lower).cwiseMin(problem.upper);
    problem.residuals(trial, trial_r);
    const double cost =
        trial_r.allFinite() ? robust_cost(problem, trial, trial_r) : result.cost * 2.0 + 1.0;
    if (cost < result.cost) {
      const double gain = (result.cost - cost) / std::max(result.cost, 1e-300);
      result.theta = trial;
      result.cost = cost;
      r = trial_r;
      equations = linearise(problem, result.theta, r);
      damping = std::max(damping * 0.3, 1e-9);
      if (gain < options.tolerance) break;
    } else {
      damping *= 4.0;
      if (damping > 1e8) break;
    }
  }
  describe_solution(problem, r, equations, result);
  return result;
}

DogboxResult minimise_dogbox(const Residuals& residuals, const VectorXd& start) {
  Search search;
  search.x = start;
  search.at_x = residuals(start);
  if (!search.at_x.allFinite()) throw std::invalid_argument("residuals of the start not finite");
  search.cost = 0.5 * search.at_x.squaredNorm();
  search.radius = start.lpNorm<Eigen::Infinity>();
  if (search.radius == 0.0) search.radius = 1.0;
  const int most = kEvaluationsPerParameter * static_cast<int>(start.size());

  MatrixXd slopes = jacobian(residuals, search.x, search.at_x);
  while (true) {
    const VectorXd gradient = slopes.transpose() * search.at_x;
    if (gradient.lpNorm<Eigen::Infinity>() < kTolerance) search.is_done = true;
    if (search.is_done || search.evaluations >= most) break;
    if (advance(residuals, slopes, gradient, most, search)) {
      slopes = jacobian(residuals, search.x, search.at_x);
    }
  }
  return {.x = search.x,
          .sum_of_squares = search.at_x.squaredNorm(),
          .evaluations = search.evaluations,
          .converged = search.is_done};
}

RelativeFit fit_relative(std::span<const LinearSample> samples) {
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

  // Terms differ by up to 1e12 in size (transactions beside a constant), which would look like
  // columns of rounding errors.
  VectorXd lengths(columns);
  for (Index j = 0; j < columns; ++j) {
    const double length = design.col(j).norm();
    lengths[j] = length > 0 ? length : 1.0;
    design.col(j) /= lengths[j];
  }
  const VectorXd ones = VectorXd::Ones(design.rows());
  const VectorXd scaled = design.colPivHouseholderQr().solve(ones);
  const VectorXd found = scaled.cwiseQuotient(lengths);
  return {.coefficients = {found.data(), found.data() + columns},
          .rmspe = std::sqrt((design * scaled - ones).squaredNorm() /
                             static_cast<double>(samples.size()))};
}

}  // namespace inline_prof::fit
