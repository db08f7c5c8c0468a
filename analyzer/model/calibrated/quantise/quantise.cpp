#include "model/calibrated/by_source/by_source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace inline_prof::model {
namespace {

constexpr std::size_t kTexts = 2;
constexpr std::array<Column, kTexts + 2> kInputs{{
    {"source", "", ColumnKind::kText, 0, 0, false, "of the kernels; absent: all that are known"},
    {"step", "", ColumnKind::kText, 0, 0, true, "scale: by a known scale; compute_scale: find it"},
    {"rows", "", ColumnKind::kInteger, 1, 1e9, true, "tokens"},
    {"cols", "", ColumnKind::kInteger, 1, 1e9, true, "numbers of a token"},
}};
enum Size : std::size_t { kRows, kCols };

enum Parameter : std::size_t {
  kLaunch,
  kShare,
  kL2Gain,
  kL2Share,
  kOverlap,
  kRowCost,
  kElementCost,
  kLongRow
};
constexpr std::array<ParameterSpec, 8> kParameters{{
    source_parameter("launch_us", 1.5, "least time"),
    source_parameter("memory_share", 0.85, "of the data sheet's bandwidth, 3 bytes a number"),
    source_parameter("l2_gain", 2, "how much faster L2 is than the memory"),
    source_parameter("l2_share", 0.7, "of L2 up to which data are found there"),
    source_parameter("overlap", 2, "power of the sum of launch and movement"),
    source_parameter("row_us", 0.05, "for 10 rows of a multiprocessor, or a wave"),
    source_parameter("element_us", 0.01, "for 1000 numbers of a multiprocessor"),
    source_parameter("long_row_us", 0.1, "for 10,000 numbers of a row, or a step"),
}};

// Kernels with a block for each row: up to 256 threads, each with 16 numbers at a time (vLLM's
// dynamic_per_token_scaled_fp8_quant).  A longer row takes steps, more rows than fit take waves.
constexpr std::size_t kBlockForARow = 1, kVariants = 2;
constexpr double kStep = 4096, kLeastThreads = 32, kMostThreads = 256, kThreadsOfAUnit = 2048;

SourceTime time(const Sizes& sizes, const read::Machine& machine, std::span<const double> values,
                std::size_t variant) {
  constexpr double bytes_of_a_number = 3, turn = 3;
  const SourceGpu gpu(machine);
  const double numbers = sizes[kRows] * sizes[kCols], bytes = bytes_of_a_number * numbers;
  const double in_memory = 1 / (1 + std::pow(values[kL2Share] * gpu.l2_bytes / bytes, turn));
  double rows = sizes[kRows] / gpu.units / 10, steps = sizes[kCols] / 1e4;
  if (variant == kBlockForARow) {
    const double threads = std::clamp(sizes[kCols], kLeastThreads, kMostThreads);
    rows = std::ceil(sizes[kRows] * threads / kThreadsOfAUnit / gpu.units) - 1;
    steps = std::ceil(sizes[kCols] / kStep) - 1;
  }
  const double move_us =
      bytes / gpu.bytes_per_us / values[kShare] * (in_memory + (1 - in_memory) / values[kL2Gain]) +
      values[kRowCost] * rows;
  const double start_us =
      values[kLaunch] + values[kElementCost] * numbers / gpu.units / 1e3 + values[kLongRow] * steps;
  return {power_sum(values[kOverlap], start_us, move_us, 0),
          move_us > start_us ? "memory" : "launch"};
}

void transfer(std::string_view /*source*/, const read::Machine& trained,
              const read::Machine& machine, std::span<double> values) {
  values[kL2Gain] *= share_by_clock(SourceGpu(trained), SourceGpu(machine));
}

Eigen::VectorXd features(const Sizes& sizes) {
  return Eigen::Vector2d(std::log2(sizes[kRows]), std::log2(sizes[kCols]));
}

// A cast to 8 bits, whose scale another kernel has found.
std::optional<SourceQuery> query(const Operation& operation) {
  const read::Op& op = operation.op;
  const auto rows = op.get<std::int64_t>("rows"), cols = op.get<std::int64_t>("cols");
  const auto recipe = op.get<std::string>("recipe");
  if (!rows || !cols || *rows < 1 || *cols < 1 || (recipe != "tensorwise" && recipe != "rowwise"))
    return std::nullopt;
  SourceQuery query;
  query.types = "scale";
  query.sizes = {static_cast<double>(*rows), static_cast<double>(*cols)};
  return query;
}

}  // namespace

const SourceForm& quantise_form() {
  static const SourceForm form{
      .model = "quantise",
      .summary = "8-bit numbers and their scales out of 16-bit ones: fitted, by source",
      .inputs = kInputs,
      .texts = kTexts,
      .specs = kParameters,
      .variants = kVariants,
      .time = time,
      .features = features,
      .fold_sizes = {kRows, kCols},
      .transfer = transfer,
      .transfer_sigmas = {.same_units = 0.05, .from_hopper = 0.22, .before_hopper = 0.22},
      .kind = OpKind::kCast,
      .query = query};
  return form;
}

}  // namespace inline_prof::model
