#include "model/calibrated/memory/memory.hpp"

#include "model/calibrated/calibration_json.hpp"
#include "model/shipped_parameters.hpp"
#include "read/parameters.hpp"

#include <fmt/format.h>

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

constexpr double kMostBytes = 1e15;

constexpr std::array<Column, 2> kInputs{{
    {"read_bytes", "bytes", ColumnKind::kNumber, 0, kMostBytes, true, "read by the kernel"},
    {"write_bytes", "bytes", ColumnKind::kNumber, 0, kMostBytes, true, "written by the kernel"},
}};

constexpr std::array<std::string_view, 5> kParts{"analytic_us", "move_us", "dram_share", "distance",
                                                 "sigma"};

RowPrediction predict_row(const CalibratedMemory& memory, const Row& row) {
  const double read_bytes = row.number("read_bytes"), write_bytes = row.number("write_bytes");
  if (read_bytes + write_bytes < 1) throw NoAnswer{"", "nothing is read or written"};
  const auto [analytic, estimate] = memory.predict(read_bytes, write_bytes);
  return as_row(
      estimate, analytic.bound, "size",
      {analytic.time_us, analytic.move_us, analytic.dram_share, estimate.distance, estimate.sigma});
}

Model make_memory(const ModelOptions& options) {
  const read::Parameters parameters = choose_parameters(options.params, "memory");
  const read::Machine& machine = *options.machine;
  const auto memory = std::make_shared<const CalibratedMemory>(parameters, machine);
  return {kInputs, kParts, [memory](const Row& row) { return predict_row(*memory, row); },
          transfer_warnings(parameters.machine != machine.id, parameters.machine, machine.id),
          [memory,
           trained = parameters.machine](const Operation& operation) -> std::optional<Prediction> {
            const auto read_bytes = operation.op.get<std::int64_t>("read_bytes").value_or(0),
                       write_bytes = operation.op.get<std::int64_t>("write_bytes").value_or(0);
            if (read_bytes < 0 || write_bytes < 0 || read_bytes + write_bytes == 0)
              return std::nullopt;
            const auto found = memory->predict_kernel(static_cast<double>(read_bytes),
                                                      static_cast<double>(write_bytes));
            if (!found) return std::nullopt;
            return as_prediction(found->estimate, found->analytic.bound, "memory", trained);
          }};
}

}  // namespace

std::span<const ParameterSpec> memory_parameters() {
  return kParameters;
}

MemoryTime memory_time(double bytes, const read::Machine& machine, std::span<const double> v) {
  if (!machine.l2_mb) throw std::invalid_argument(fmt::format("{} has no l2_mb", machine.id));
  MemoryTime result;
  result.dram_share =
      1 / (1 + std::pow(v[kL2Share] * (*machine.l2_mb * 1e6) / bytes, v[kSharpness]));
  const double dram = result.dram_share / v[kDramShare];
  const double l2 = (1 - result.dram_share) / v[kL2Gain];
  result.move_us = bytes / (machine.memory_gb_per_s * 1e3) * (dram + l2);
  result.time_us = power_sum(v[kOverlap], v[kLaunch], result.move_us, 0);
  result.bound = v[kLaunch] > result.move_us ? "launch" : dram > l2 ? "memory" : "l2";
  return result;
}

Eigen::VectorXd memory_features(double read_bytes, double write_bytes) {
  const double all = read_bytes + write_bytes;
  return Eigen::Vector2d(std::log2(all), 2 * read_bytes / all);
}

CalibratedMemory::CalibratedMemory(const read::Parameters& parameters, const read::Machine& machine)
    : machine_(machine), values_(parameter_values(parameters, kParameters)) {
  static_cast<void>(memory_time(1, machine, values_));  // throws where it cannot be computed
  const bool is_transfer = parameters.machine != machine.id;
  calibration_ = read_calibration(
      parameters, 2, [](const RawPoint& point) { return memory_features(point[0], point[1]); },
      is_transfer ? TransferSigmas{}.same_units : kOtherKernelSigma, !is_transfer);
}

CalibratedMemory::Prediction CalibratedMemory::predict(double read_bytes,
                                                       double write_bytes) const {
  const MemoryTime analytic = memory_time(read_bytes + write_bytes, machine_, values_);
  return {analytic,
          calibration_.estimate(analytic.time_us, memory_features(read_bytes, write_bytes),
                                analytic.bound)};
}

std::optional<CalibratedMemory::Prediction> CalibratedMemory::predict_kernel(
    double read_bytes, double write_bytes) const {
  Prediction prediction = predict(read_bytes, write_bytes);
  MemoryTime& analytic = prediction.analytic;
  if (analytic.move_us < kLaunchesOfAKnownKernel * values_[kLaunch]) return std::nullopt;
  const double with_timer_us = analytic.time_us;
  analytic.time_us = power_sum(values_[kOverlap], machine_.launch_floor_us, analytic.move_us, 0);
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
