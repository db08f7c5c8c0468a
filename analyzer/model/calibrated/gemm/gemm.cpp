#include "model/calibrated/gemm/gemm.hpp"

#include "model/calibrated/calibration_json.hpp"
#include "model/shipped_parameters.hpp"
#include "read/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace inline_prof::model {
namespace {

constexpr double kMostSide = 1 << 24;  // larger ones are bytes, not elements
constexpr double kMostBatch = 1 << 24;

constexpr std::array<Column, 8> kInputs{{
    {"m", "", ColumnKind::kInteger, 1, kMostSide, true, "rows of C"},
    {"n", "", ColumnKind::kInteger, 1, kMostSide, true, "columns of C"},
    {"k", "", ColumnKind::kInteger, 1, kMostSide, true, "columns of A, rows of B"},
    {"batch", "", ColumnKind::kInteger, 1, kMostBatch, false, "products in one call; 1 if absent"},
    {"a_type", "", ColumnKind::kText, 0, 0, false, "type of A and B; that of the parameters"},
    {"kernel_name", "", ColumnKind::kText, 0, 0, false, "of the kernel that multiplies"},
    {"blocks", "", ColumnKind::kInteger, 1, 1e12, false, "that it was launched with"},
    {"stack", "", ColumnKind::kText, 0, 0, false, "of those that the parameters were fitted to"},
}};

constexpr std::array<std::string_view, 10> kParts{"analytic_us", "compute_us",  "dram_us", "l2_us",
                                                  "overhead_us", "quantise_us", "tile",    "splits",
                                                  "distance",    "sigma"};

// A kernel that takes so many launches of the timer is most of what was timed.
constexpr double kLaunchesOfAKnownKernel = 3.0;
constexpr double kManyWaves = 12;  // from which a started wave no longer matters

// All, and those without the chosen tile.
constexpr Eigen::Index kFeatures = 12, kFeaturesWithoutTile = 10;

GemmTypes types_of(const read::Parameters& parameters) {
  const std::string name = key_word(parameters, "a_type");
  const auto types = gemm_types(name);
  if (!types) {
    throw read::InputError(fmt::format("{}: /key/a_type: unknown type {}", parameters.label, name));
  }
  return *types;
}

// Files of tables without kernels do not say.
bool is_kernel_known(const read::Parameters& parameters) {
  const auto it = parameters.key.find("kernel");
  return it != parameters.key.end() && it->second == "known";
}

std::vector<std::string> stacks_of(const read::Parameters& parameters) {
  std::vector<std::string> stacks;
  if (!parameters.parameters.contains(kStackValues)) return stacks;
  for (const auto& [name, values] : parameters.parameters[kStackValues].items())
    stacks.push_back(name);
  return stacks;
}

// As many as the file has lengths, but for those of the stacks.
Eigen::Index feature_count_of(const read::Parameters& parameters, std::size_t stacks) {
  const bool has_all = !parameters.residual.is_object() ||
                       !parameters.residual.contains("length") ||
                       parameters.residual["length"].size() !=
                           static_cast<std::size_t>(kFeaturesWithoutTile) + stacks;
  return has_all ? kFeatures : kFeaturesWithoutTile;
}

constexpr const char* kTf32 = "tf32";

// How far an unknown stack is from the `known` ones, in logarithms, beyond what these differ by:
// NVIDIA's tables of the same shapes differ by 3 to 12 % in 16 bits, by 15 to 30 % below, and by
// 70 % on Blackwell, whose libraries are young.
double other_stack_sigma(const GemmTypes& types, std::size_t known, const read::Machine& machine) {
  if (types.operand_bytes >= 2) return known > 1 ? 0 : 0.08;
  if (known > 1) return 0.25 / std::sqrt(static_cast<double>(known));
  return machine.compute_capability.starts_with("10.") ? 0.55 : 0.18;
}

GemmMachine machine_of(const read::Parameters& parameters, const read::Machine& machine,
                       const GemmTypes& types) {
  GemmMachine result = gemm_machine(machine, types);
  const auto it = parameters.key.find("kernels");
  result.has_tiles_by_rows = it != parameters.key.end() && it->second == kCutlassKernels;
  // From Hopper on single precision reaches 0.8 of the share of its peak that 16 bits reach of
  // theirs, by the 110 long products in both types of OpenXLA's table for H100; before, the same.
  constexpr double tf32_share = 0.8;
  if (result.has_fine_tiles && types.name == kTf32 && key_word(parameters, "a_type") != kTf32)
    result.flops_per_us *= tf32_share;
  return result;
}

std::vector<GemmAnalytic> stack_analytics(const read::Parameters& parameters,
                                          const std::vector<std::string>& stacks,
                                          const read::Machine& machine, const GemmMachine& of_types,
                                          const GemmTypes& types, bool with_quantise) {
  std::vector<GemmAnalytic> all;
  for (const std::string& stack : stacks) {
    read::Parameters own;
    own.label = fmt::format("{}: {}", parameters.label, stack);
    own.machine = parameters.machine;
    own.parameters = parameters.parameters[kStackValues][stack];
    all.emplace_back(of_types, types, with_quantise,
                     values_on(machine, own, GemmAnalytic::parameters(with_quantise)));
  }
  return all;
}

Calibration calibration_of(const read::Parameters& parameters, const read::Machine& gpu,
                           const GemmMachine& machine, const GemmAnalytic& analytic,
                           const std::vector<GemmAnalytic>& analytic_of_stacks,
                           Eigen::Index feature_count, bool is_transfer, bool is_other_type,
                           double bytes) {
  const std::size_t stacks = analytic_of_stacks.size();
  const bool knows_kernels = is_kernel_known(parameters);
  const auto features = [&](const RawPoint& point) -> Eigen::VectorXd {
    const GemmShape shape{point[0], point[1], point[2], point[3]};
    const GemmStack stack{.number = stacks == 0 ? 0 : static_cast<Eigen::Index>(point.back()),
                          .count = static_cast<Eigen::Index>(stacks)};
    const GemmAnalytic& own = stack.number < 1 || stack.number > stack.count
                                  ? analytic
                                  : analytic_of_stacks[static_cast<std::size_t>(stack.number - 1)];
    const GemmTime choice = knows_kernels
                                ? own.predict(shape, GemmKernel{point[4], point[5], point[6]})
                                : own.predict(shape);
    return gemm_features(shape, machine, choice, knows_kernels, feature_count, stack);
  };
  const std::size_t point_size = (knows_kernels ? 7U : 4U) + (stacks == 0 ? 0U : 1U);
  const bool has_same_waves = parameters.number("sm_count") == machine.sm_count && !is_other_type;
  // Libraries multiply below 16 bits in other ways on each generation: block fp8 on B200 is off by
  // 42 % with the parameters of H200.
  constexpr double other_kernels = 0.4;
  constexpr TransferSigmas sigmas{.same_units = 0.02, .from_hopper = 0.145, .before_hopper = 0.2};
  double unit = kSameMachineSigma;
  if (is_transfer)
    unit =
        std::hypot(transfer_sigma(gpu, has_same_waves, is_other_type ? TransferSigmas{} : sigmas),
                   !has_same_waves && bytes < 2 ? other_kernels : 0);
  return read_calibration(parameters, point_size, features, unit, has_same_waves);
}

constexpr const char* kMultipliedAs = "multiplied_as";

// A product as an operation of a profile describes it.
struct Product {
  GemmShape shape;
  std::string type;  // of A and B
};

// Empty where something is missing, or is not what was measured.
std::optional<Product> product_of(const read::Op& op) {
  auto m = op.get<std::int64_t>("m");
  const auto n = op.get<std::int64_t>("n"), k = op.get<std::int64_t>("k");
  const auto type = op.get<std::string>("a_type");
  auto batch = op.get<std::int64_t>("batch").value_or(1);
  // As even as rows allow.
  const auto rows = op.get<std::int64_t>("m_total"), groups = op.get<std::int64_t>("groups");
  if (rows && groups && *rows > 0 && *groups > 0) {
    batch = std::min(*rows, *groups);
    m = (*rows + batch - 1) / batch;
  }
  if (!m || !n || !k || !type || *m < 1 || *n < 1 || *k < 1 || batch < 1) return std::nullopt;
  if (op.get<std::string>("b_type").value_or(*type) != *type) return std::nullopt;
  // Tensor cores on parts of a single-precision number: another rate.
  const bool is_tf32 = *type == "f32" && op.get<std::string>("compute_type") == "tf32";
  return Product{{static_cast<double>(*m), static_cast<double>(*n), static_cast<double>(*k),
                  static_cast<double>(batch)},
                 is_tf32 ? kTf32 : *type};
}

// Products of 16-bit types run at the same rate, and those of both 8-bit ones.
std::string measured_type(const std::string& type) {
  return type == "f16" ? "bf16" : type == "f8e5m2" ? "f8e4m3" : type;
}

// Libraries of 8-bit products, by a word of their kernels' names, and what the keys of their
// parameters end with; without such a word they are CUTLASS's.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kLibraries{{
    {"deep_gemm", "block"},
    {"fp8_gemm_1d", "block"},
    {"fp8_blockwise", "block"},
    {"nvjet_", "cublas"},
    {"sm90_xmma", "cublas"},
}};

// With its kernel or the kernel's library known a product is predicted better than without.  Both
// are their architecture's own, so there are no relatives.
std::vector<ParameterKey> parameter_keys(const Operation& operation) {
  const auto product = product_of(operation.op);
  if (!product) return {};
  const std::string key = measured_type(product->type);
  // Nobody has timed tf32: the kernels are those of 16 bits with other bytes and another peak.
  if (key == kTf32) return {{"bf16", kTf32, {{kMultipliedAs, kTf32}}}};
  std::vector<ParameterKey> keys;
  const auto* const library =
      std::find_if(kLibraries.begin(), kLibraries.end(), [&](const auto& candidate) {
        return operation.kernel.name.find(candidate.first) != std::string_view::npos;
      });
  if (key == "f8e4m3" && library != kLibraries.end()) {
    keys.push_back({fmt::format("{}_{}", key, library->second)});
  }
  if (gemm_kernel(operation.kernel.name, product->shape, operation.kernel.blocks)) {
    keys.push_back({key + "_kernel"});
  }
  const std::string peak = product->type.starts_with("f8")   ? "f8"
                           : product->type.starts_with("f4") ? "f4"
                                                             : product->type;
  keys.push_back({key, peak});
  return keys;
}

RowPrediction predict_row(const CalibratedGemm& gemm, bool with_interval, const Row& row) {
  if (row.has("a_type") && row.text("a_type") != gemm.types().name) {
    throw NoAnswer{"", fmt::format("the parameters are for {}, not for {}", gemm.types().name,
                                   row.text("a_type"))};
  }
  const GemmShape shape{row.number("m"), row.number("n"), row.number("k"), row.number("batch", 1)};
  std::optional<GemmKernel> kernel;
  if (gemm.knows_kernels()) {
    if (row.has("kernel_name") && row.has("blocks"))
      kernel = gemm_kernel(row.text("kernel_name"), shape, row.number("blocks"));
    if (!kernel) {
      throw NoAnswer{
          "",
          "the parameters are for kernels whose name gives a tile that their blocks bear "
          "out"};
    }
  }
  RowPrediction prediction;
  if (!with_interval && !kernel) {
    prediction.time_us = gemm.time_us(shape, row.text("stack"));
  } else {
    const auto [analytic, estimate, regime] = gemm.predict(shape, kernel, row.text("stack"));
    prediction = as_row(estimate, analytic.bound, "shape",
                        {analytic.time_us, analytic.compute_us, analytic.dram_us, analytic.l2_us,
                         analytic.overhead_us, analytic.quantise_us,
                         fmt::format("{}x{}", analytic.tile_m, analytic.tile_n),
                         static_cast<double>(analytic.splits), estimate.distance, estimate.sigma},
                        gemm.has_interval());
  }
  if (!std::isfinite(*prediction.time_us))
    throw NoAnswer{"", "the product is too large for a time"};
  return prediction;
}

std::optional<Prediction> predict_operation(const std::shared_ptr<const CalibratedGemm>& gemm,
                                            const Operation& operation) {
  const auto product = product_of(operation.op);
  if (!product || measured_type(product->type) != gemm->types().name) return std::nullopt;
  std::optional<GemmKernel> kernel;
  if (gemm->knows_kernels()) {
    kernel = gemm_kernel(operation.kernel.name, product->shape, operation.kernel.blocks);
    if (!kernel) return std::nullopt;
  }
  const auto found =
      gemm->predict_kernel(product->shape, kernel, operation.machine.launch_floor_us);
  if (!found) return std::nullopt;
  Prediction prediction = as_prediction(
      found->estimate, found->analytic.bound, "gemm",
      fmt::format("{} {}{}", gemm->trained_machine(), gemm->types().name, kernel ? " kernel" : ""));
  // Only single products were measured.
  if (product->shape.batch > 1) prediction.is_extrapolated = true;
  prediction.tail_probability = [gemm, found = *found](Seconds measured) {
    return gemm->tail_probability(in_microseconds(measured), found);
  };
  return prediction;
}

Model make_gemm(const ModelOptions& options) {
  const std::string interval = setting(options, "interval", "on");
  if (interval != "on" && interval != "off") {
    throw std::invalid_argument(fmt::format("--set interval={}: expected on or off", interval));
  }
  const read::Machine& machine = *options.machine;
  const auto gemm = std::make_shared<const CalibratedGemm>(
      choose_parameters(options.params, "gemm"), machine, setting(options, kMultipliedAs, ""));
  return {kInputs, kParts,
          [gemm, with_interval = interval == "on"](const Row& row) {
            return predict_row(*gemm, with_interval, row);
          },
          transfer_warnings(gemm->is_transfer(), gemm->trained_machine(), machine.id),
          [gemm](const Operation& operation) { return predict_operation(gemm, operation); }};
}

}  // namespace

Eigen::VectorXd gemm_features(const GemmShape& shape, const GemmMachine& machine,
                              const GemmTime& choice, bool knows_kernel, Eigen::Index taken,
                              const GemmStack& stack) {
  const auto waves_of = [&](double tile_m, double tile_n, double splits) {
    return std::ceil(shape.m / tile_m) * std::ceil(shape.n / tile_n) * shape.batch * splits /
           machine.sm_count;
  };
  const auto part_of_last = [](double waves) {
    return waves < kManyWaves ? 2 * (waves - std::floor(waves)) : 0.0;
  };
  const auto padding = [](double side) {
    return 1.5 * std::log2(std::ceil(side / 64) * 64 / side);
  };
  const double own_waves = waves_of(choice.tile_m, choice.tile_n, choice.splits);
  const double usual_waves = knows_kernel ? own_waves : waves_of(128, 256, 1);
  Eigen::VectorXd features(kFeatures);
  features << std::log2(shape.m), std::log2(shape.n * shape.batch), std::log2(shape.k),
      part_of_last(usual_waves), padding(shape.m), std::log2(usual_waves), part_of_last(own_waves),
      std::log2(choice.splits), padding(shape.n), std::log2(own_waves), std::log2(choice.tile_m),
      std::log2(choice.tile_n);
  Eigen::VectorXd all = Eigen::VectorXd::Zero(taken + stack.count);
  all.head(taken) = features.head(taken);
  if (stack.number > 0) all[taken + std::min(stack.number, stack.count) - 1] = 1;
  return all;
}

Eigen::Index gemm_feature_count(const GemmMachine& machine) {
  return machine.has_fine_tiles ? kFeaturesWithoutTile : kFeatures;
}

CalibratedGemm::CalibratedGemm(const read::Parameters& parameters, const read::Machine& machine,
                               std::string_view multiplied_as)
    : types_(multiplied_as.empty() ? types_of(parameters) : gemm_types(multiplied_as).value()),
      boundary_(key_word(parameters, "boundary")),
      knows_kernels_(is_kernel_known(parameters)),
      stacks_(stacks_of(parameters)),
      only_stack_(parameters.key.contains(kOnlyStack) ? parameters.key.at(kOnlyStack) : ""),
      trained_machine_(parameters.machine),
      is_transfer_(parameters.machine != machine.id || !multiplied_as.empty()),
      other_stack_sigma_(other_stack_sigma(types_, stacks_.size(), machine)),
      launch_us_(parameters.number("launch_us")),
      machine_(machine_of(parameters, machine, types_)),
      values_(values_on(machine, parameters,
                        GemmAnalytic::parameters(boundary_ == kGemmQuantiseBoundary))),
      analytic_(machine_, types_, boundary_ == kGemmQuantiseBoundary, values_),
      analytic_of_stacks_(stack_analytics(parameters, stacks_, machine, machine_, types_,
                                          boundary_ == kGemmQuantiseBoundary)),
      feature_count_(feature_count_of(parameters, stacks_.size())),
      calibration_(calibration_of(parameters, machine, machine_, analytic_, analytic_of_stacks_,
                                  feature_count_, is_transfer_, !multiplied_as.empty(),
                                  types_.operand_bytes)) {}

GemmStack CalibratedGemm::stack_of(std::string_view name) const {
  const auto found = std::find(stacks_.begin(), stacks_.end(), name);
  const auto count = static_cast<Eigen::Index>(stacks_.size());
  return {.number = found == stacks_.end() ? 0 : found - stacks_.begin() + 1, .count = count};
}

const GemmAnalytic& CalibratedGemm::analytic_of(std::string_view stack) const {
  const Eigen::Index number = stack_of(stack).number;
  return number == 0 ? analytic_ : analytic_of_stacks_[static_cast<std::size_t>(number - 1)];
}

Eigen::VectorXd CalibratedGemm::features(const GemmShape& shape, const GemmTime& choice,
                                         std::string_view stack) const {
  return gemm_features(shape, machine_, choice, knows_kernels_, feature_count_, stack_of(stack));
}

CalibratedGemm::Prediction CalibratedGemm::predict(const GemmShape& shape,
                                                   const std::optional<GemmKernel>& kernel,
                                                   std::string_view stack) const {
  Prediction prediction;
  const GemmAnalytic& analytic = analytic_of(stack);
  prediction.analytic = kernel ? analytic.predict(shape, *kernel) : analytic.predict(shape);
  prediction.regime = stacks_.empty() || stack_of(stack).number > 0
                          ? prediction.analytic.bound
                          : std::string_view(ConformalTable::kOtherStack);
  const bool is_other_stack =
      stacks_.empty() ? !only_stack_.empty() && stack != only_stack_ : stack_of(stack).number == 0;
  prediction.estimate = calibration_.estimate(
      prediction.analytic.time_us, features(shape, prediction.analytic, stack), prediction.regime,
      is_other_stack ? other_stack_sigma_ : 0);
  return prediction;
}

std::optional<CalibratedGemm::Prediction> CalibratedGemm::predict_kernel(
    const GemmShape& shape, const std::optional<GemmKernel>& kernel, double floor_us) const {
  Prediction prediction = predict(shape, kernel);
  Calibration::Estimate& estimate = prediction.estimate;
  // How long the kernels before it take is not known by itself, so the interval keeps its width in
  // microseconds.
  const double quantise_us = prediction.analytic.quantise_us * estimate.correction;
  const double least_us = floor_us / 2;
  estimate.time_us = std::max(least_us, estimate.time_us - quantise_us);
  estimate.lower_us = std::max(least_us, estimate.lower_us - quantise_us);
  estimate.upper_us -= quantise_us;
  if (is_timed_on_the_gpu(launch_us_, floor_us)) return prediction;
  if (estimate.time_us < (1 + kLaunchesOfAKnownKernel) * launch_us_) return std::nullopt;
  const double timer_us = launch_us_ - floor_us;
  estimate.time_us -= timer_us;
  estimate.lower_us = std::max(0.0, estimate.lower_us - timer_us);
  return prediction;
}

double CalibratedGemm::time_us(const GemmShape& shape, std::string_view stack) const {
  const GemmTime analytic = analytic_of(stack).predict(shape);
  return calibration_.time_us(analytic.time_us, features(shape, analytic, stack));
}

TailProbability CalibratedGemm::tail_probability(double measured_us,
                                                 const Prediction& prediction) const {
  return calibration_.tail_probability(measured_us, prediction.estimate, prediction.regime);
}

ModelEntry gemm_entry() {
  return {.name = "gemm",
          .summary = "matrix product: tiles, waves, split-K, memory; fitted, with an interval",
          .editions = {Edition::kCalibrated},
          .inputs = kInputs,
          .machine = Need::kRequired,
          .params = Need::kRequired,
          .params_meaning =
              "parameters that prof-model fit --model gemm has written, or a shipped set of them",
          .settings =
              {{"interval", "on", "on, or off: the time alone, several times as fast"},
               {kMultipliedAs, "",
                "tf32: as the tensor cores do with the parameters of bf16; with wide intervals"}},
          .make = make_gemm,
          .operations = {OpKind::kGemm, OpKind::kGroupedGemm},
          .parameter_keys = parameter_keys};
}

}  // namespace inline_prof::model
