// The calibrated model of kernels that only move data: element-wise operations, copies, casts,
// optimisers (README.md beside this file).
#pragma once

#include "model/calibrated/analytic.hpp"
#include "model/calibrated/calibration.hpp"
#include "model/model.hpp"

#include <Eigen/Core>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace inline_prof::read {
struct Parameters;
}

namespace inline_prof::model {

[[nodiscard]] ModelEntry memory_entry();

struct MemoryTime {
  double time_us = 0;
  double move_us = 0;      // what the bytes take
  double dram_share = 0;   // of them that come from DRAM
  std::string_view bound;  // "memory", "l2" or "launch"
};

//   T = (t0^p + (D / BW * (f / h + (1 - f) / h2))^p)^(1/p),   f = 1 / (1 + (x * L2 / D)^k)
//
// D bytes read and written, f their share that L2 does not hold.  `values`: one for each of
// memory_parameters().  Throws std::invalid_argument where `machine` lacks the size of its L2.
[[nodiscard]] MemoryTime memory_time(double bytes, const read::Machine& machine,
                                     std::span<const double> values);
[[nodiscard]] std::span<const ParameterSpec> memory_parameters();

// Returns the features of the residual: the logarithm of the bytes, and the share that is read.
[[nodiscard]] Eigen::VectorXd memory_features(double read_bytes, double write_bytes);

class CalibratedMemory {
 public:
  struct Prediction {
    MemoryTime analytic;
    Calibration::Estimate estimate;
  };

  // Throws read::InputError, and std::invalid_argument where `machine` lacks something.
  CalibratedMemory(const read::Parameters& parameters, const read::Machine& machine);

  [[nodiscard]] Prediction predict(double read_bytes, double write_bytes) const;
  // Returns the kernel alone: the timer's launch is taken out of the time, and the machine's is put
  // in its place; how much of the timer a long kernel hides is not known, so the interval's upper
  // end keeps it.  Empty where that launch is so long that the measurements say little about the
  // kernel.
  [[nodiscard]] std::optional<Prediction> predict_kernel(double read_bytes,
                                                         double write_bytes) const;

 private:
  read::Machine machine_;
  std::vector<double> values_;
  Calibration calibration_;
};

}  // namespace inline_prof::model
