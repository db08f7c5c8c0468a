// The calibrated model of kernels that only move data: element-wise operations, copies, casts,
// optimisers (README.md beside this file).
#pragma once

#include "model/calibrated/analytic.hpp"
#include "model/calibrated/calibration.hpp"
#include "model/model.hpp"

#include <Eigen/Core>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace inline_prof::read {
struct Parameters;
}

namespace inline_prof::model {

[[nodiscard]] ModelEntry memory_entry();

struct MemoryMachine {
  double bytes_per_us = 0;  // of DRAM
  double l2_bytes = 0;
};

// Throws std::invalid_argument where `machine` lacks the size of its L2.
[[nodiscard]] MemoryMachine memory_machine(const read::Machine& machine);

struct MemoryTime {
  double time_us = 0;
  double move_us = 0;      // what the bytes take
  double dram_share = 0;   // of them that come from DRAM
  std::string_view bound;  // "memory", "l2" or "launch"
};

//   T = (t0^p + (D / BW * (f / h + (1 - f) / h2))^p)^(1/p),   f = 1 / (1 + (x * L2 / D)^k)
//
// D bytes read and written, f their share that L2 does not hold.
class MemoryAnalytic {
 public:
  [[nodiscard]] static std::span<const ParameterSpec> parameters();

  MemoryAnalytic(const MemoryMachine& machine, std::span<const double> values);

  [[nodiscard]] MemoryTime predict(double bytes) const;
  // With another launch than that of the measurements' timer.
  [[nodiscard]] double time_with_launch_us(double move_us, double launch_us) const;
  [[nodiscard]] double launch_us() const;

 private:
  MemoryMachine machine_;
  std::array<double, 6> values_{};
};

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
  // Returns the kernel alone: the timer's launch is taken out of the time, and `floor_us` is put in
  // its place; how much of the timer a long kernel hides is not known, so the interval's upper end
  // keeps it.  Empty where that launch is so long that the measurements say little about the
  // kernel.
  [[nodiscard]] std::optional<Prediction> predict_kernel(double read_bytes, double write_bytes,
                                                         double floor_us) const;
  [[nodiscard]] bool is_transfer() const { return is_transfer_; }
  [[nodiscard]] const std::string& trained_machine() const { return trained_machine_; }

 private:
  std::string trained_machine_;
  bool is_transfer_;
  MemoryAnalytic analytic_;
  Calibration calibration_;
};

}  // namespace inline_prof::model
