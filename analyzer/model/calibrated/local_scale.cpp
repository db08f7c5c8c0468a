#include "model/calibrated/local_scale.hpp"

#include <stdexcept>
#include <utility>

namespace inline_prof::model {
namespace {

// In lengths of the process: over which errors are alike.
constexpr double kReach = 1.2;
// As how many points nearby the mean over all counts.
constexpr double kWeightOfAll = 1;

}  // namespace

LocalScale::LocalScale(Eigen::ArrayXd usual_errors) : usual_errors_(std::move(usual_errors)) {
  if (!usual_errors_.allFinite() || !(usual_errors_ > 0).all()) {
    throw std::invalid_argument("local scale: an error is not greater than 0");
  }
  if (usual_errors_.size() > 0) mean_error_ = usual_errors_.mean();
}

double LocalScale::at(const Eigen::ArrayXd& distances) const {
  const Eigen::ArrayXd weights = (-(distances / kReach).square()).exp();
  return ((weights * usual_errors_).sum() + kWeightOfAll * mean_error_) /
         (weights.sum() + kWeightOfAll);
}

}  // namespace inline_prof::model
