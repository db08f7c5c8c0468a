// The calibrated model of matrix products: analytic, corrected by what a fit has learnt, with an
// interval.
#pragma once

#include "model/calibrated/calibration.hpp"
#include "model/calibrated/gemm/gemm_analytic.hpp"
#include "model/model.hpp"

#include <Eigen/Core>

#include <optional>
#include <string>
#include <vector>

namespace inline_prof::read {
struct Parameters;
}

namespace inline_prof::model {

[[nodiscard]] ModelEntry gemm_entry();

// The timed work, as parameter files spell it: the product alone, or with the kernels before it
// that turn A into 8 bits.
inline constexpr const char* kGemmBoundary = "gemm";
inline constexpr const char* kGemmQuantiseBoundary = "gemm+quantise";
// The word of a file's key for the stack of all rows: predictions for another one are less sure.
inline constexpr const char* kOnlyStack = "stack";
// The value of "kernels" in the key of a file for the 8-bit products of CUTLASS on Hopper.
inline constexpr const char* kCutlassKernels = "cutlass";

// Which of a table's software stacks runs the product, from 1; 0 if nobody knows.
struct GemmStack {
  Eigen::Index number = 0, count = 0;
};

// Returns the features of the residual: the logarithms of m, n and k, how usual tiles and their
// waves fill up, and how `choice`, the analytic model's prediction, computes the product.  Where
// the kernel is known, its tile and waves take the place of usual ones.  `taken` of them are
// followed by one for each stack: 1 for the product's own, 0 for the others.
[[nodiscard]] Eigen::VectorXd gemm_features(const GemmShape& shape, const GemmMachine& machine,
                                            const GemmTime& choice, bool knows_kernel,
                                            Eigen::Index taken, const GemmStack& stack = {});
// Returns how many of them a fit for this machine takes: where kernels come with a few tiles only,
// each is a program of its own, and the last two, its tile, count as well.
[[nodiscard]] Eigen::Index gemm_feature_count(const GemmMachine& machine);

// Parameters at work.
class CalibratedGemm {
 public:
  struct Prediction {
    GemmTime analytic;
    Calibration::Estimate estimate;
    std::string_view regime;  // whose held-out errors make the interval
  };

  // For the machine of the parameters, or another one: then with wider intervals.  Throws
  // read::InputError, and std::invalid_argument where `machine` lacks something.
  // `multiplied_as`: how tensor cores multiply instead, where that is not the parameters' type:
  // with this type's peak and bytes, and intervals as on another architecture.
  CalibratedGemm(const read::Parameters& parameters, const read::Machine& machine,
                 std::string_view multiplied_as = {});

  // `stack`: one of stacks(); where a file has several and this is none of them, the interval holds
  // what they differ by.
  [[nodiscard]] Prediction predict(const GemmShape& shape,
                                   const std::optional<GemmKernel>& kernel = {},
                                   std::string_view stack = {}) const;
  // Returns the kernel alone, where launching takes it `floor_us`: if the timer of the measurements
  // took several times that, what it added is taken out, and only the interval's upper end keeps
  // it.  The kernels that turn A into 8 bits are taken out, too. Empty where it added so much that
  // the measurements say little about the kernel.
  [[nodiscard]] std::optional<Prediction> predict_kernel(const GemmShape& shape,
                                                         const std::optional<GemmKernel>& kernel,
                                                         double floor_us) const;
  // Returns the time alone, several times as fast.
  [[nodiscard]] double time_us(const GemmShape& shape, std::string_view stack = {}) const;
  [[nodiscard]] TailProbability tail_probability(double measured_us,
                                                 const Prediction& prediction) const;

  [[nodiscard]] const GemmTypes& types() const { return types_; }
  [[nodiscard]] const std::string& boundary() const { return boundary_; }
  // Returns whether the parameters were fitted to kernels that were known.
  [[nodiscard]] bool knows_kernels() const { return knows_kernels_; }
  // Returns the stacks that the fitted rows named.
  [[nodiscard]] const std::vector<std::string>& stacks() const { return stacks_; }
  [[nodiscard]] bool is_transfer() const { return is_transfer_; }
  [[nodiscard]] bool has_interval() const { return calibration_.has_interval(); }
  [[nodiscard]] const std::string& trained_machine() const { return trained_machine_; }

 private:
  // Returns as many of gemm_features() as the file's process has lengths for.
  [[nodiscard]] Eigen::VectorXd features(const GemmShape& shape, const GemmTime& choice,
                                         std::string_view stack) const;
  [[nodiscard]] GemmStack stack_of(std::string_view name) const;
  [[nodiscard]] const GemmAnalytic& analytic_of(std::string_view stack) const;

  GemmTypes types_;
  std::string boundary_;
  bool knows_kernels_ = false;
  std::vector<std::string> stacks_;
  std::string only_stack_;  // whose rows alone were fitted; empty where nobody said
  std::string trained_machine_;
  bool is_transfer_ = false;
  double other_stack_sigma_ = 0;
  double launch_us_ = 0;
  GemmMachine machine_;
  std::vector<double> values_;
  GemmAnalytic analytic_;
  std::vector<GemmAnalytic> analytic_of_stacks_;
  Eigen::Index feature_count_ = 0;
  Calibration calibration_;
};

}  // namespace inline_prof::model
