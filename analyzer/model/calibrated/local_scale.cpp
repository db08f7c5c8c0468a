#include "model/calibrated/local_scale.hpp"

#include <stdexcept>
#include <utility>

namespace inline_prof::model {
namespace {

// In lengths of the process: over which errors are alike.
constexpr double kReach = 0.8;
// As how many points nearby the mean over all counts.
constexpr double kWeightOfAll = 1;
constexpr double kSamePlace = 1e-6;  // a distance that is rounding

Eigen::ArrayXd weights_at(const Eigen::ArrayXd& distances) {
  return (-distances / kReach).exp();
}

}  // namespace

LocalScale::LocalScale(Eigen::ArrayXd usual_errors) : usual_errors_(std::move(usual_errors)) {
  if (!usual_errors_.allFinite() || !(usual_errors_ > 0).all()) {
    throw std::invalid_argument("local scale: an error is not greater than 0");
  }
}

double LocalScale::weighted(const Eigen::ArrayXd& weights) const {
  return ((weights * usual_errors_).sum() + kWeightOfAll * usual_errors_.mean()) /
         (weights.sum() + kWeightOfAll);
}

double LocalScale::at(const Eigen::ArrayXd& distances) const {
  return weighted(weights_at(distances));
}

double LocalScale::from_others(const Eigen::ArrayXd& distances) const {
  return weighted((distances > kSamePlace).select(weights_at(distances), 0.0));
}

}  // namespace inline_prof::model
