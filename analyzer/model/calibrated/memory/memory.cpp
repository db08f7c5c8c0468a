#include "model/calibrated/memory/memory.hpp"

#include "model/calibrated/analytic.hpp"
#include "model/calibrated/calibration_json.hpp"
#include "model/shipped_parameters.hpp"
#include "read/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace inline_prof::model {
namespace {

enum Parameter : std::size_t { kLaunch, kDramShare, kL2Gain, kL2Share, kSharpness, kOverlap };

// A kernel that moves its data for so many launches of the timer is most of what was timed.
constexpr double kLaunchesOfAKnownKernel = 3.0;

constexpr std::array<ParameterSpec, 6> kParameters{{
    {"launch_us", 3, 0.05, 0.1, 100, "least time, that of the timer included"},
    {"dram_share", 0.85, 0.05, 0.3, 1.5, "of the data sheet's bandwidth that is reached"},
    {"l2_gain", 2, 0.05, 0.2, 10, "how much faster L2 is than DRAM"},
    {"l2_share", 0.7, 0.05, 0.1, 10, "of L2 up to which data are found there"},
    {"sharpness", 4, 0.05, 0.2, 5, "power with which data stop to fit into L2"},
    {"overlap", 3, 0.05, 0.34, 5, "power of the sum of launch and movement"},
}};

enum Input : std::size_t { kReadBytes, kWriteBytes };
constexpr double kMostBytes = 1e15;

constexpr std::array<Column, 2> kInputs{{
    {"read_bytes", "bytes", ColumnKind::kNumber, 0, kMostBytes, true, "read by the kernel"},
    {"write_bytes", "bytes", ColumnKind::kNumber, 0, kMostBytes, true, "written by the kernel"},
}};

constexpr std::array<std::string_view, 5> kParts{"analytic_us", "move_us", "dram_share", "distance",
                                                 "sigma"};

class MemoryModel : public Model {
 public:
  MemoryModel(const read::Parameters& parameters, const read::Machine& machine)
      : memory_(parameters, machine), machine_id_(machine.id) {}

  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    const double read_bytes = row.number(kReadBytes), write_bytes = row.number(kWriteBytes);
    if (read_bytes + write_bytes < 1) return RowPrediction::none("", "nothing is read or written");
    const auto found = memory_.predict(read_bytes, write_bytes);
    RowPrediction prediction;
    prediction.time_us = found.estimate.time_us;
    prediction.lower_us = found.estimate.lower_us;
    prediction.upper_us = found.estimate.upper_us;
    prediction.bound = found.analytic.bound;
    prediction.reason = far_away_reason(found.estimate, "size");
    prediction.parts = {found.analytic.time_us, found.analytic.move_us, found.analytic.dram_share,
                        found.estimate.distance, found.estimate.sigma};
    return prediction;
  }

  [[nodiscard]] std::optional<Prediction> predict_operation(
      const Operation& operation) const override {
    const auto read_bytes = operation.op.get<std::int64_t>("read_bytes").value_or(0),
               write_bytes = operation.op.get<std::int64_t>("write_bytes").value_or(0);
    if (read_bytes < 0 || write_bytes < 0 || read_bytes + write_bytes == 0) return std::nullopt;
    const auto found =
        memory_.predict_kernel(static_cast<double>(read_bytes), static_cast<double>(write_bytes),
                               operation.machine.launch_floor_us);
    if (!found) return std::nullopt;
    return as_prediction(found->estimate, found->analytic.bound, "memory",
                         memory_.trained_machine());
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    return transfer_warnings(memory_.is_transfer(), memory_.trained_machine(), machine_id_);
  }

 private:
  CalibratedMemory memory_;
  std::string machine_id_;
};

std::unique_ptr<Model> make_memory(const ModelOptions& options) {
  return std::make_unique<MemoryModel>(choose_parameters(options.params, "memory"),
                                       *options.machine);
}

}  // namespace

MemoryMachine memory_machine(const read::Machine& machine) {
  if (!machine.l2_mb) throw std::invalid_argument(fmt::format("{} has no l2_mb", machine.id));
  return {machine.memory_gb_per_s * 1e3, *machine.l2_mb * 1e6};
}

std::span<const ParameterSpec> MemoryAnalytic::parameters() {
  return kParameters;
}

MemoryAnalytic::MemoryAnalytic(const MemoryMachine& machine, std::span<const double> values)
    : machine_(machine) {
  if (values.size() != values_.size()) {
    throw std::invalid_argument("memory: expected 6 parameters");
  }
  std::copy(values.begin(), values.end(), values_.begin());
}

MemoryTime MemoryAnalytic::predict(double bytes) const {
  const auto& v = values_;
  MemoryTime result;
  result.dram_share = 1 / (1 + std::pow(v[kL2Share] * machine_.l2_bytes / bytes, v[kSharpness]));
  const double dram = result.dram_share / v[kDramShare];
  const double l2 = (1 - result.dram_share) / v[kL2Gain];
  result.move_us = bytes / machine_.bytes_per_us * (dram + l2);
  result.time_us = power_sum(v[kOverlap], v[kLaunch], result.move_us, 0);
  result.bound = v[kLaunch] > result.move_us ? "launch" : dram > l2 ? "memory" : "l2";
  return result;
}

double MemoryAnalytic::time_with_launch_us(double move_us, double launch_us) const {
  return power_sum(values_[kOverlap], launch_us, move_us, 0);
}

double MemoryAnalytic::launch_us() const {
  return values_[kLaunch];
}

Eigen::VectorXd memory_features(double read_bytes, double write_bytes) {
  const double all = read_bytes + write_bytes;
  return Eigen::Vector2d(std::log2(all), 2 * read_bytes / all);
}

CalibratedMemory::CalibratedMemory(const read::Parameters& parameters, const read::Machine& machine)
    : trained_machine_(parameters.machine),
      is_transfer_(parameters.machine != machine.id),
      analytic_(memory_machine(machine), parameter_values(parameters, kParameters)),
      calibration_(
          read_residual(parameters, 2,
                        [](const RawPoint& point) { return memory_features(point[0], point[1]); }),
          read_local_scale(parameters), read_conformal(parameters),
          is_transfer_ ? TransferSigmas{}.same_units : kOtherKernelSigma, !is_transfer_) {}

CalibratedMemory::Prediction CalibratedMemory::predict(double read_bytes,
                                                       double write_bytes) const {
  Prediction prediction;
  prediction.analytic = analytic_.predict(read_bytes + write_bytes);
  prediction.estimate =
      calibration_.estimate(prediction.analytic.time_us, memory_features(read_bytes, write_bytes),
                            prediction.analytic.bound);
  return prediction;
}

std::optional<CalibratedMemory::Prediction> CalibratedMemory::predict_kernel(
    double read_bytes, double write_bytes, double floor_us) const {
  Prediction prediction = predict(read_bytes, write_bytes);
  MemoryTime& analytic = prediction.analytic;
  if (analytic.move_us < kLaunchesOfAKnownKernel * analytic_.launch_us()) return std::nullopt;
  const double with_timer_us = analytic.time_us;
  analytic.time_us = analytic_.time_with_launch_us(analytic.move_us, floor_us);
  const double part = analytic.time_us / with_timer_us;
  prediction.estimate.time_us *= part;
  prediction.estimate.lower_us *= part;
  return prediction;
}

ModelEntry memory_entry() {
  return {.name = "memory",
          .summary = "data movement: launch, L2 and DRAM; fitted, with an interval",
          .editions = {Edition::kCalibrated},
          .inputs = kInputs,
          .machine = Need::kRequired,
          .params = Need::kRequired,
          .params_meaning =
              "parameters that prof-model fit --model memory has written, or a shipped set of them",
          .settings = {},
          .make = make_memory,
          .operations = {OpKind::kMemory}};
}

}  // namespace inline_prof::model
