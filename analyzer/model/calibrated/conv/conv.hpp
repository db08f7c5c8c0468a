// The calibrated model of convolutions: analytic, corrected by what a fit has learnt, with an
// interval.
#pragma once

#include "model/calibrated/calibration.hpp"
#include "model/calibrated/conv/conv_analytic.hpp"
#include "model/model.hpp"

#include <Eigen/Core>

#include <optional>
#include <string>
#include <vector>

namespace inline_prof::read {
struct Parameters;
}

namespace inline_prof::model {

[[nodiscard]] ModelEntry conv_entry();

// The shape in a row of the model's columns.  Complaint: what is wrong with the layer.
[[nodiscard]] ConvShape conv_shape(const Row& row);
[[nodiscard]] std::string complaint_about(const ConvShape& shape);

// Returns the features of the residual: sizes, how tiles fill up, and the algorithm if it is known.
[[nodiscard]] Eigen::VectorXd conv_features(const ConvShape& shape,
                                            const std::optional<ConvKernel>& kernel,
                                            const ConvMachine& machine);

// A shape and its kernel as a parameter file keeps it, and back.
[[nodiscard]] std::vector<double> conv_point(const ConvShape& shape,
                                             const std::optional<ConvKernel>& kernel);
inline constexpr std::size_t kConvPointSize = 18;

// Parameters at work.
class CalibratedConv {
 public:
  struct Prediction {
    ConvTime analytic;
    Calibration::Estimate estimate;
  };

  // Throws read::InputError, and std::invalid_argument where `machine` lacks something.
  // `multiplied_as`: another type of tensor cores than the parameters'; may be empty.
  CalibratedConv(const read::Parameters& parameters, const read::Machine& machine,
                 const std::string& multiplied_as = {});

  // `progress`: how far the session had come that timed it, from 0 to 1.  Where it is not known,
  // the middle, with an interval that holds both ends' launches.
  [[nodiscard]] Prediction predict(const ConvShape& shape, const std::optional<ConvKernel>& kernel,
                                   std::optional<double> progress = {}) const;
  // Returns the kernels alone: without what the measurements' timer added, which only the
  // interval's upper end keeps.  Empty where that is so much that the measurements say little about
  // the kernels.
  // `floor_us`: the least that a launch takes on the GPU.
  [[nodiscard]] std::optional<Prediction> predict_kernels(const ConvShape& shape,
                                                          const std::optional<ConvKernel>& kernel,
                                                          double floor_us) const;

  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] const std::string& direction() const { return direction_name_; }
  // Returns whether the parameters were fitted to kernels that were known by name.
  [[nodiscard]] bool knows_kernels() const { return knows_kernels_; }
  [[nodiscard]] bool has_interval() const { return calibration_.has_interval(); }
  [[nodiscard]] const std::string& trained_machine() const { return trained_machine_; }

 private:
  std::string type_;
  std::string direction_name_;
  bool knows_kernels_ = false;
  std::string trained_machine_;
  ConvMachine machine_;
  ConvAnalytic analytic_;
  Calibration calibration_;
};

}  // namespace inline_prof::model
