#include "fit/dogbox.hpp"

#include <Eigen/SVD>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace inline_prof::fit {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

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

}  // namespace inline_prof::fit
