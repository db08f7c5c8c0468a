// From an analytic time to a prediction: what was learnt from the residuals, and how far it may be
// trusted.
#pragma once

#include "model/calibrated/conformal.hpp"
#include "model/calibrated/local_scale.hpp"
#include "model/calibrated/matern_process.hpp"
#include "model/prediction.hpp"

#include <Eigen/Core>

#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model {

// Beyond this distance, in lengths of the process, nothing was measured that is like the operation.
inline constexpr double kFarAway = 3.0;

// What differs between two GPUs of a kind and between two runs, in logarithms: NVIDIA's tables of
// the same shapes on the same GPU model differ by 1.9 % between close releases of one stack, by 9 %
// between stacks (docs/accuracy.md).
inline constexpr double kSameMachineSigma = 0.02;
inline constexpr double kOtherMachineSigma = 0.08;
// Between kernels that move data: gelu takes 2 % less than what add and relu tell.
inline constexpr double kOtherKernelSigma = 0.025;
// With other multiprocessors than those that were fitted: products on A100 and B200 with an H100's
// parameters are off by 13 %, on V100 with an A100's by 18 %, convolutions on T4 with a V100's by
// 27 % (mean of |predicted/measured - 1|).
inline constexpr double kOtherArchitectureSigma = 0.3;

// Of parameters that were fitted on another machine or not, with as many multiprocessors or not.
[[nodiscard]] double unit_sigma(bool is_transfer, bool has_same_units);

class Calibration {
 public:
  struct Estimate {
    double time_us = 0;
    double lower_us = 0, upper_us = 0;  // 90 %
    double correction = 1;              // of the analytic time
    double sigma = 0;                   // usual error of ln(time), before the conformal table
    double distance = 0;                // to the nearest measured point
    double unit_sigma = 0;
  };

  Calibration() = default;
  // `scale`: of held-out errors near the points of the process; empty for files from before it was
  // stored, where the process's own standard deviation stands in.
  // `unit_sigma`: kSameMachineSigma or kOtherMachineSigma.  Without `uses_mean` the process says
  // how sure the analytic time is and does not correct it: where waves fill up differently, what it
  // has learnt about them is wrong.
  Calibration(MaternProcess process, LocalScale scale, ConformalTable table, double unit_sigma,
              bool uses_mean = true);

  // Whether there is anything to say about the error.
  [[nodiscard]] bool has_interval() const { return !table_.is_empty(); }

  [[nodiscard]] Estimate estimate(double analytic_us, const Eigen::VectorXd& features,
                                  std::string_view regime) const;
  // Of the logarithm of the correction at the rows of `features`: what is not known about it.
  [[nodiscard]] Eigen::MatrixXd covariance(const Eigen::MatrixXd& features) const {
    return process_.covariance(features);
  }
  // The time alone.
  [[nodiscard]] double time_us(double analytic_us, const Eigen::VectorXd& features) const;

  [[nodiscard]] TailProbability tail_probability(double measured_us, const Estimate& estimate,
                                                 std::string_view regime) const;

 private:
  [[nodiscard]] double correction(double mean) const;

  MaternProcess process_;
  LocalScale scale_;
  ConformalTable table_;
  double unit_sigma_ = kSameMachineSigma;
  bool uses_mean_ = true;
};

// The estimate as the prediction of an operation by `model`.
[[nodiscard]] Prediction as_prediction(const Calibration::Estimate& estimate,
                                       std::string_view bound, std::string model,
                                       std::string parameters);

// Why an estimate is to be doubted, where nothing near it was measured; `what` is "shape" or
// "size".
[[nodiscard]] std::string far_away_reason(const Calibration::Estimate& estimate,
                                          std::string_view what);
// What a user should know of parameters from another machine than the one that is predicted.
[[nodiscard]] std::vector<std::string> transfer_warnings(bool is_transfer,
                                                         std::string_view trained_machine,
                                                         std::string_view machine);

// How many times larger errors are at this distance from the nearest point than next to it.
[[nodiscard]] double error_growth(double distance);

// The factor exp(mean), held within three signals: further is a sum of many neighbours' noise.
[[nodiscard]] double bounded_correction(const MaternScales& scales, double mean);

}  // namespace inline_prof::model
