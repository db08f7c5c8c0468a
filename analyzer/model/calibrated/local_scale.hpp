// How far off predictions were near a point.
#pragma once

#include <Eigen/Core>

namespace inline_prof::model {

// The usual size of an error in logarithms, around any point: that of the points nearby, which
// count the less the further away they are, and of all points where none is near.  A library's
// choice of kernel is a riddle for some shapes and none for others; one width for all would be too
// narrow here and too wide there.
//
// Dividing held-out residuals by it before their quantiles are taken is locally weighted conformal
// prediction (J. Lei et al., "Distribution-free predictive inference for regression", JASA
// 113(523), 2018, section 5.2).
class LocalScale {
 public:
  LocalScale() = default;
  // Of each point of a process, > 0.  Throws std::invalid_argument for anything else.
  explicit LocalScale(Eigen::ArrayXd usual_errors);

  [[nodiscard]] bool is_empty() const { return usual_errors_.size() == 0; }
  [[nodiscard]] const Eigen::ArrayXd& usual_errors() const { return usual_errors_; }

  // `distances`: to each point, in lengths of the process.
  [[nodiscard]] double at(const Eigen::ArrayXd& distances) const;

 private:
  Eigen::ArrayXd usual_errors_;
  double mean_error_ = 0;
};

}  // namespace inline_prof::model
