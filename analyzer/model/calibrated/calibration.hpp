// From an analytic time to a prediction: a Gaussian process that has learnt from the residuals, and
// how far it may be trusted, from intervals that held for measurements which the fit had not seen.
#pragma once

#include "model/model.hpp"
#include "read/machine.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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
  // `usual_errors`: of each point of a process, > 0.  Throws std::invalid_argument for anything
  // else.
  explicit LocalScale(Eigen::ArrayXd usual_errors);

  [[nodiscard]] bool is_empty() const { return usual_errors_.size() == 0; }
  [[nodiscard]] const Eigen::ArrayXd& usual_errors() const { return usual_errors_; }

  // `distances`: to each point, in lengths of the process.
  [[nodiscard]] double at(const Eigen::ArrayXd& distances) const;

 private:
  Eigen::ArrayXd usual_errors_;
  double mean_error_ = 0;
};

// Held-out residuals ln(measured / predicted), each divided by the error that is usual there; one
// sorted list, "all", and where a fit tells regimes apart ("compute", "memory", ...) one for each.
//
// Split conformal prediction: V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random
// World", 2005, section 4.1; by regime ("Mondrian"): section 4.5.  What is held out are whole
// groups (a width, a row count), since neighbours of a fitted point would flatter.
class ConformalTable {
 public:
  // A regime with fewer residuals is judged by all of them.
  static constexpr std::size_t kLeastScores = 40;
  static constexpr const char* kAll = "all";
  // The regime of what is predicted to take longer than anything that was measured: its scores are
  // those of the longest rows, held out together.
  static constexpr const char* kLonger = "longer";
  // The regime of what an unknown software stack runs: its scores are those of whole stacks, held
  // out together.
  static constexpr const char* kOtherStack = "other stack";

  ConformalTable() = default;
  explicit ConformalTable(std::map<std::string, std::vector<double>, std::less<>> scores,
                          double longest_us = std::numeric_limits<double>::infinity());

  [[nodiscard]] const std::map<std::string, std::vector<double>, std::less<>>& scores() const {
    return scores_;
  }
  [[nodiscard]] bool is_empty() const { return scores_.empty(); }
  [[nodiscard]] double longest_us() const { return longest_us_; }
  // kLonger, or `otherwise`.
  [[nodiscard]] std::string_view regime_at(double time_us, std::string_view otherwise) const {
    return time_us > longest_us_ && otherwise != kOtherStack ? kLonger : otherwise;
  }

  struct Range {
    double lower = 0;  // usual errors, <= 0 as a rule
    double upper = 0;
  };
  // Holds a score with the probability `level`, the rest evenly on both sides.
  [[nodiscard]] Range range(std::string_view regime, double level) const;

  // Returns one-sided p-values, never 0: the share of held-out scores as high as `score`, and as
  // low. If few or none are, the outer scores' mean distance from where they begin says how fast
  // further ones get rare: an exponential tail (J. Pickands, "Statistical inference using extreme
  // order statistics", Annals of Statistics 3(1), 1975; its shape 0).  Counting alone could not
  // say less than 1 in n + 1, and of hundreds of tests made at once no single one would then be
  // found, however far off.
  [[nodiscard]] double share_above(std::string_view regime, double score) const;
  [[nodiscard]] double share_below(std::string_view regime, double score) const;

 private:
  [[nodiscard]] const std::vector<double>& of(std::string_view regime) const;

  std::map<std::string, std::vector<double>, std::less<>> scores_;
  double longest_us_ = std::numeric_limits<double>::infinity();
};

// The distances and sizes over which the process expects neighbours to agree.
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
  // Returns the mean alone, at a tenth of the cost.
  [[nodiscard]] double mean(const Eigen::VectorXd& features) const;
  // Returns the mean where the points are at these distances().
  [[nodiscard]] double mean_at(const Eigen::ArrayXd& distances) const;
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

// Beyond this distance, in lengths of the process, nothing was measured that is like the operation.
inline constexpr double kFarAway = 3.0;

// The difference between two GPUs of a kind and between two runs, in logarithms: NVIDIA's tables of
// the same shapes on the same GPU model differ by 1.9 % between close releases of one stack, by 9 %
// between stacks (docs/accuracy.md).
inline constexpr double kSameMachineSigma = 0.02;
// Between kernels that move data: gelu takes 2 % less than what add and relu tell.
inline constexpr double kOtherKernelSigma = 0.025;

// The error that a GPU without rows adds, in logarithms: with as many multiprocessors as the one
// that was fitted, from Hopper on, and before.  A model's own are those with which about 90 % of
// the rows of A100, H100, H200 and B200 lie in their intervals when the GPU is left out, each table
// counted alike (scripts/accuracy.sh, part transfers).  The usual ones are for models that were
// measured on too few GPUs: convolutions on T4 are off by 27 % with a V100's parameters.
struct TransferSigmas {
  double same_units = 0.08;
  double from_hopper = 0.3;
  double before_hopper = 0.3;
};

// Whether the GPU's tensor cores read their operands from registers: other kernels than later ones.
[[nodiscard]] bool is_before_hopper(const read::Machine& machine);
// Returns the error that the machine adds to parameters of another one.
[[nodiscard]] double transfer_sigma(const read::Machine& machine, bool has_same_units,
                                    const TransferSigmas& sigmas = {});

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
  // `unit_sigma`: kSameMachineSigma or transfer_sigma().  Without `uses_mean` the process says
  // how sure the analytic time is and does not correct it: where waves fill up differently, what it
  // has learnt about them is wrong.
  Calibration(MaternProcess process, LocalScale scale, ConformalTable table, double unit_sigma,
              bool uses_mean = true);

  // Returns whether there is anything to say about the error.
  [[nodiscard]] bool has_interval() const { return !table_.is_empty(); }

  // `more_sigma`: an error beside the unit's, such as that of a stack nobody timed.
  [[nodiscard]] Estimate estimate(double analytic_us, const Eigen::VectorXd& features,
                                  std::string_view regime, double more_sigma = 0) const;
  // Returns the time alone.
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

// Returns the estimate as the prediction of an operation by `model`.
[[nodiscard]] Prediction as_prediction(const Calibration::Estimate& estimate,
                                       std::string_view bound, std::string model,
                                       std::string parameters);

// Returns it as that of a row.  Where nothing near it was measured the reason says so; `what` is
// "shape" or "size".
[[nodiscard]] RowPrediction as_row(const Calibration::Estimate& estimate, std::string_view bound,
                                   std::string_view what, std::vector<Part> parts,
                                   bool has_interval = true);
// Returns a warning if the parameters come from another machine than the one that is predicted.
[[nodiscard]] std::vector<std::string> transfer_warnings(bool is_transfer,
                                                         std::string_view trained_machine,
                                                         std::string_view machine);

// Returns how many times larger errors are at this distance from the nearest point than next to it.
[[nodiscard]] double error_growth(double distance);

// Returns the factor exp(mean), held within three signals: further is a sum of many neighbours'
// noise.
[[nodiscard]] double bounded_correction(const MaternScales& scales, double mean);

}  // namespace inline_prof::model
