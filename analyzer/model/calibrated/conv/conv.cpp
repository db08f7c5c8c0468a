#include "model/calibrated/conv/conv.hpp"

#include "model/calibrated/calibration_json.hpp"
#include "model/shipped_parameters.hpp"
#include "read/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>

namespace inline_prof::model {
namespace {

constexpr double kMostSide = 1 << 20;  // larger ones are bytes, not elements

constexpr std::array<Column, 16> kInputs{{
    {"n", "", ColumnKind::kInteger, 1, kMostSide, true, "images"},
    {"c", "", ColumnKind::kInteger, 1, kMostSide, true, "channels of the input"},
    {"h", "", ColumnKind::kInteger, 1, kMostSide, true, "height of the input"},
    {"w", "", ColumnKind::kInteger, 1, kMostSide, true, "width of the input"},
    {"k", "", ColumnKind::kInteger, 1, kMostSide, true, "channels of the output"},
    {"r", "", ColumnKind::kInteger, 1, kMostSide, true, "height of the filter"},
    {"s", "", ColumnKind::kInteger, 1, kMostSide, true, "width of the filter"},
    {"stride", "", ColumnKind::kInteger, 1, kMostSide, true, "of the height, and of the width"},
    {"pad", "", ColumnKind::kInteger, 0, kMostSide, true, "on either side"},
    {"stride_w", "", ColumnKind::kInteger, 1, kMostSide, false, "of the width, if it is another"},
    {"pad_w", "", ColumnKind::kInteger, 0, kMostSide, false, "of the width, if it is another"},
    {"groups", "", ColumnKind::kInteger, 1, kMostSide, false, "1 if absent"},
    {"direction", "", ColumnKind::kText, 0, 0, false,
     "forward, backward_data or backward_filter; that of the parameters if absent"},
    {"type", "", ColumnKind::kText, 0, 0, false, "of the tensors; that of the parameters"},
    {"kernel_name", "", ColumnKind::kText, 0, 0, false, "of the kernel that multiplies"},
    {"progress", "", ColumnKind::kNumber, 0, 1, false,
     "how far the session had come that timed the row: hosts may launch ever more slowly"},
}};

constexpr std::array<std::string_view, 10> kParts{
    "algorithm", "analytic_us", "compute_us", "memory_us", "transform_us",
    "tile",      "waves",       "distance",   "sigma",     "kernel_known"};

// Kernels that take so many launches of the timer are most of what was timed.
constexpr double kLaunchesOfAKnownKernel = 3.0;
constexpr double kManyWaves = 12;  // from which a started wave no longer matters

ConvDirection direction_of(const read::Parameters& parameters) {
  const std::string name = key_word(parameters, "direction");
  const auto direction = conv_direction(name);
  if (!direction) {
    throw read::InputError(
        fmt::format("{}: /key/direction: unknown direction {}", parameters.label, name));
  }
  return *direction;
}

// A parameter file's points are numbers above 0, so what may be 0 stands there one higher.
ConvShape shape_of(const RawPoint& p) {
  return {.n = p[0],
          .c = p[1],
          .h = p[2],
          .w = p[3],
          .k = p[4],
          .r = p[5],
          .s = p[6],
          .stride_h = p[7],
          .stride_w = p[9],
          .pad_h = p[8] - 1,
          .pad_w = p[10] - 1,
          .groups = p[11]};
}

std::optional<ConvKernel> kernel_of(const RawPoint& point) {
  const double* known = &point[12];       // behind the shape
  const double algorithm = known[0] - 2;  // 1: not known
  if (algorithm < 0) return std::nullopt;
  return ConvKernel{.algorithm = static_cast<ConvAlgorithm>(
                        std::min(algorithm, static_cast<double>(kConvAlgorithmCount - 1))),
                    .tile_m = known[1] - 1,
                    .tile_n = known[2] - 1,
                    .winograd_tile = {known[3] - 1, known[4] - 1, known[5] - 1}};
}

// One number for both sides of an image, or one for each; empty for anything else.
std::optional<std::array<double, 2>> both_sides(const read::Op& op, const char* name,
                                                double otherwise) {
  if (const auto list = op.get<std::vector<std::int64_t>>(name)) {
    if (list->size() != 2) return std::nullopt;
    return std::array{static_cast<double>((*list)[0]), static_cast<double>((*list)[1])};
  }
  const double side = static_cast<double>(op.get<std::int64_t>(name).value_or(0));
  return op.find(name) == nullptr ? std::array{otherwise, otherwise} : std::array{side, side};
}

// Empty where something is missing, or is not what the model knows.
std::optional<ConvShape> shape_of(const read::Op& op) {
  ConvShape shape;
  const std::array<std::pair<const char*, double*>, 7> sizes{{{"n", &shape.n},
                                                              {"c", &shape.c},
                                                              {"h", &shape.h},
                                                              {"w", &shape.w},
                                                              {"k", &shape.k},
                                                              {"r", &shape.r},
                                                              {"s", &shape.s}}};
  for (const auto& [name, size] : sizes) {
    const auto value = op.get<std::int64_t>(name);
    if (!value || *value < 1) return std::nullopt;
    *size = static_cast<double>(*value);
  }
  const auto stride = both_sides(op, "stride", 1), pad = both_sides(op, "pad", 0),
             dilation = both_sides(op, "dilation", 1);
  if (!stride || !pad || !dilation || *dilation != std::array{1.0, 1.0}) return std::nullopt;
  if ((*stride)[0] < 1 || (*stride)[1] < 1 || (*pad)[0] < 0 || (*pad)[1] < 0) return std::nullopt;
  std::tie(shape.stride_h, shape.stride_w) = std::tie((*stride)[0], (*stride)[1]);
  std::tie(shape.pad_h, shape.pad_w) = std::tie((*pad)[0], (*pad)[1]);
  shape.groups = static_cast<double>(op.get<std::int64_t>("groups").value_or(1));
  if (shape.groups < 1 || !complaint_about(shape).empty()) return std::nullopt;
  return shape;
}

std::string direction_of(const read::Op& op) {
  return op.get<std::string>("direction").value_or("forward");
}

constexpr const char* kMultipliedAs = "multiplied_as";

// The type that is multiplied; empty if the operation has none.
std::string type_of(const read::Op& op) {
  return op.get<std::string>("compute_type") == "tf32" ? "tf32"
                                                       : op.get<std::string>("type").value_or("");
}

std::vector<ParameterKey> parameter_keys(const Operation& operation) {
  const std::string type = type_of(operation.op);
  const std::string direction = direction_of(operation.op);
  // Timed were f16's kernels: those of other types have other bytes and another peak.
  if (type == "bf16" || type == "tf32")
    return {{"f16_" + direction, "f16", {{kMultipliedAs, type}}}};
  return {{fmt::format("{}_{}", type, direction), type == "f16" ? "f16" : ""}};
}

RowPrediction predict_row(const CalibratedConv& conv, const Row& row) {
  for (const auto& [column, own] :
       {std::pair("type", &conv.type()), std::pair("direction", &conv.direction())}) {
    if (row.has(column) && row.text(column) != *own) {
      throw NoAnswer{"",
                     fmt::format("the parameters are for {}, not for {}", *own, row.text(column))};
    }
  }
  const ConvShape shape = conv_shape(row);
  if (std::string wrong = complaint_about(shape); !wrong.empty())
    throw NoAnswer{"", std::move(wrong)};
  std::optional<ConvKernel> kernel;
  if (conv.knows_kernels()) {
    if (!row.has("kernel_name"))
      throw NoAnswer{"", "the parameters are for kernels that are known by name"};
    kernel = parse_conv_kernel(row.text("kernel_name"), shape.r, shape.s, shape.stride_h);
    if (!kernel) throw NoAnswer{"", "the kernel's name is of no known convolution"};
  }
  std::optional<double> progress;
  if (row.has("progress")) progress = row.number("progress");
  const auto [analytic, estimate] = conv.predict(shape, kernel, progress);
  if (!std::isfinite(estimate.time_us))
    throw NoAnswer{"", "the convolution is too large for a time"};
  return as_row(estimate, analytic.bound, "shape",
                {std::string(conv_algorithm_name(analytic.algorithm)), analytic.time_us,
                 analytic.compute_us, analytic.memory_us, analytic.transform_us,
                 fmt::format("{:g}x{:g}", analytic.tile_m, analytic.tile_n), analytic.waves,
                 estimate.distance, estimate.sigma, conv.knows_kernels() ? 1.0 : 0.0},
                conv.has_interval());
}

// Kernels that compute no convolution are not predicted, nor are unknown ones of single precision.
std::optional<Prediction> predict_operation(const CalibratedConv& conv,
                                            const Operation& operation) {
  const auto shape = shape_of(operation.op);
  if (!shape || type_of(operation.op) != conv.type() ||
      direction_of(operation.op) != conv.direction()) {
    return std::nullopt;
  }
  const std::string_view name = operation.kernel.name;
  auto kernel = parse_conv_kernel(name, shape->r, shape->s, shape->stride_h);
  if (!kernel && (conv.knows_kernels() || !name.empty())) return std::nullopt;
  if (kernel && !conv.knows_kernels()) kernel->blocks = operation.kernel.blocks;
  const auto found = conv.predict_kernels(*shape, kernel, operation.machine.launch_floor_us);
  if (!found) return std::nullopt;
  return as_prediction(
      found->estimate, found->analytic.bound, "conv",
      fmt::format("{} {} {}", conv.trained_machine(), conv.type(), conv.direction()));
}

Model make_conv(const ModelOptions& options) {
  const read::Parameters parameters = choose_parameters(options.params, "conv");
  const std::string& machine = options.machine->id;
  const auto conv = std::make_shared<const CalibratedConv>(parameters, *options.machine,
                                                           setting(options, kMultipliedAs, ""));
  return {kInputs, kParts, [conv](const Row& row) { return predict_row(*conv, row); },
          transfer_warnings(parameters.machine != machine, parameters.machine, machine),
          [conv](const Operation& op) { return predict_operation(*conv, op); }};
}

}  // namespace

ConvShape conv_shape(const Row& row) {
  const double stride = row.number("stride"), pad = row.number("pad");
  return {.n = row.number("n"),
          .c = row.number("c"),
          .h = row.number("h"),
          .w = row.number("w"),
          .k = row.number("k"),
          .r = row.number("r"),
          .s = row.number("s"),
          .stride_h = stride,
          .stride_w = row.number("stride_w", stride),
          .pad_h = pad,
          .pad_w = row.number("pad_w", pad),
          .groups = row.number("groups", 1)};
}

std::string complaint_about(const ConvShape& shape) {
  if (shape.p() < 1 || shape.q() < 1) return "the filter does not fit into the padded image";
  if (std::fmod(shape.c, shape.groups) != 0 || std::fmod(shape.k, shape.groups) != 0) {
    return fmt::format("{} and {} channels in {} groups", shape.c, shape.k, shape.groups);
  }
  return "";
}

Eigen::VectorXd conv_features(const ConvShape& shape, const std::optional<ConvKernel>& kernel,
                              const ConvMachine& machine) {
  const double outputs = shape.n * shape.p() * shape.q();
  const double waves = std::ceil(outputs / 128) * std::ceil(shape.k / 64) / machine.sm_count;
  const double winograd_tile = 4;
  constexpr Eigen::Index shape_features = 7;
  Eigen::VectorXd features =
      Eigen::VectorXd::Zero(shape_features + static_cast<Eigen::Index>(kConvAlgorithmCount));
  features[0] = std::log2(outputs);
  features[1] = std::log2(shape.k);
  features[2] = std::log2(shape.c * shape.r * shape.s / shape.groups);
  features[3] = std::log2(shape.p() * shape.q());
  features[4] = waves < kManyWaves ? 2 * (waves - std::floor(waves)) : 0.0;
  features[5] = 1.5 * std::log2(std::ceil(shape.k / 64) * 64 / shape.k);
  features[6] = 1.5 * std::log2(std::ceil(shape.q() / winograd_tile) * winograd_tile / shape.q());
  // One axis an algorithm: two of them are far apart until the data say that they are not.
  constexpr double apart = 3;
  if (kernel) features[shape_features + static_cast<Eigen::Index>(kernel->algorithm)] = apart;
  return features;
}

std::vector<double> conv_point(const ConvShape& shape, const std::optional<ConvKernel>& kernel) {
  const ConvKernel known = kernel.value_or(ConvKernel{});
  return {shape.n,
          shape.c,
          shape.h,
          shape.w,
          shape.k,
          shape.r,
          shape.s,
          shape.stride_h,
          shape.pad_h + 1,
          shape.stride_w,
          shape.pad_w + 1,
          shape.groups,
          kernel ? static_cast<double>(known.algorithm) + 2 : 1.0,
          known.tile_m + 1,
          known.tile_n + 1,
          known.winograd_tile[0] + 1,
          known.winograd_tile[1] + 1,
          known.winograd_tile[2] + 1};
}

CalibratedConv::CalibratedConv(const read::Parameters& parameters, const read::Machine& machine,
                               const std::string& multiplied_as)
    : type_(multiplied_as.empty() ? key_word(parameters, "type") : multiplied_as),
      direction_name_(key_word(parameters, "direction")),
      knows_kernels_(key_word(parameters, "kernel") == "known"),
      trained_machine_(parameters.machine),
      machine_(conv_machine(machine, type_)),
      analytic_(machine_, direction_of(parameters),
                values_on(machine, parameters, ConvAnalytic::parameters())) {
  const auto features = [&](const RawPoint& point) {
    return conv_features(shape_of(point), kernel_of(point), machine_);
  };
  const bool has_same_waves = parameters.number("sm_count") == machine_.sm_count;
  const bool is_transfer = parameters.machine != machine.id;
  calibration_ = read_calibration(
      parameters, kConvPointSize, features,
      is_transfer ? transfer_sigma(machine, has_same_waves) : kSameMachineSigma, has_same_waves);
}

CalibratedConv::Prediction CalibratedConv::predict(const ConvShape& shape,
                                                   const std::optional<ConvKernel>& kernel,
                                                   std::optional<double> progress) const {
  constexpr double middle = 0.5;
  Prediction prediction;
  prediction.analytic = analytic_.predict(shape, kernel, progress.value_or(middle));
  Calibration::Estimate& estimate = prediction.estimate;
  estimate =
      calibration_.estimate(prediction.analytic.time_us, conv_features(shape, kernel, machine_),
                            prediction.analytic.bound);
  if (progress) return prediction;
  // The two errors know nothing of each other.
  const auto widened = [&](double limit_us, double at) {
    const double launched = analytic_.predict(shape, kernel, at).time_us;
    return std::hypot(std::log(limit_us / estimate.time_us),
                      std::log(launched / prediction.analytic.time_us));
  };
  estimate.lower_us = estimate.time_us * std::exp(-widened(estimate.lower_us, 0));
  estimate.upper_us = estimate.time_us * std::exp(widened(estimate.upper_us, 1));
  return prediction;
}

std::optional<CalibratedConv::Prediction> CalibratedConv::predict_kernels(
    const ConvShape& shape, const std::optional<ConvKernel>& kernel, double floor_us) const {
  // As if timed when the session began: then the host added least.
  Prediction prediction = predict(shape, kernel, 0.0);
  const double launch_us = analytic_.launch_us(0);
  if (is_timed_on_the_gpu(launch_us, floor_us)) return prediction;
  if (prediction.estimate.time_us < (1 + kLaunchesOfAKnownKernel) * launch_us) return std::nullopt;
  prediction.analytic.time_us -= launch_us;
  prediction.estimate.time_us -= launch_us;
  prediction.estimate.lower_us = std::max(0.0, prediction.estimate.lower_us - launch_us);
  return prediction;
}

ModelEntry conv_entry() {
  return {.name = "conv",
          .summary = "convolution: matrix products, Winograd or FFT; fitted, with an interval",
          .editions = {Edition::kCalibrated},
          .inputs = kInputs,
          .machine = Need::kRequired,
          .params = Need::kRequired,
          .params_meaning =
              "parameters that prof-model fit --model conv has written, or a shipped set of them",
          .settings = {{kMultipliedAs, "", "tf32, bf16: with the parameters of f16"}},
          .make = make_conv,
          .operations = {OpKind::kConv},
          .parameter_keys = parameter_keys};
}

}  // namespace inline_prof::model
