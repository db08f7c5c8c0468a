#include "model/calibrated/conv/conv_analytic.hpp"

#include "read/op.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace inline_prof::model {
namespace {

enum Parameter : std::size_t {
  kLaunch,
  kKernel,
  kDramShare,
  kTransformShare,
  kL2Share,
  kL2Gain,
  kOverlap,
  kWaveShare,
  kEpilogue,
  kStep,
  kSharedRate,
  kReduction,
  kGemmShare,
  kWinogradShare,
  kNonfusedShare,
  kFftShare,
  kPlainShare,
  kSolo,
  kLaunchGrowth,
};

constexpr std::array<ParameterSpec, 19> kParameters{{
    {"launch_us", 10.0, 0.1, 0.05, 20, "before anything runs, with what the timer adds"},
    {"kernel_us", 3.0, 0.1, 0.05, 20, "of each further kernel: transforms, reductions"},
    {"dram_share", 0.8, 0.1, 0.05, 20, "of the data sheet's bandwidth, for the tensors"},
    {"transform_share", 0.6, 0.1, 0.05, 20, "of the data sheet's bandwidth, for transforms"},
    {"l2_share", 0.4, 0.1, 0.05, 20, "of L2 up to which data are found there"},
    {"l2_gain", 2.0, 0.1, 0.2, 10, "how much faster L2 is than DRAM"},
    {"overlap", 3.0, 0.1, 0.2, 20, "power of the sum of compute and memory: 1 none, high full"},
    {"wave_share", 0.6, 0.1, 0.05, 1.6, "of a started wave that is paid for: 1 all, 0 none"},
    {"epilogue_us", 1.0, 0.1, 0.05, 20, "of a block"},
    {"step_us", 0.1, 0.1, 0.05, 20, "least time of a step along k"},
    {"shared_gb_per_s", 80.0, 0.1, 0.05, 20, "operands into one SM"},
    {"reduction_us", 3.0, 0.1, 0.05, 20, "start of the sum over a split k"},
    {"gemm_share", 0.7, 0.1, 0.1, 3, "of the peak: the image gathered on the way"},
    {"winograd_share", 0.7, 0.1, 0.1, 3, "of the peak: the fused Winograd's products"},
    {"nonfused_share", 0.8, 0.1, 0.1, 3, "of the peak: products of matrices in memory"},
    {"fft_share", 0.6, 0.1, 0.1, 3, "of the peak: complex products"},
    {"plain_share", 0.35, 0.1, 0.1, 3, "of the peak: kernels that no assembly was written for"},
    {"solo", 1.3, 0.1, 0.75, 1.6, "time of a block alone on its SM, in its share of a full one"},
    {"launch_growth", 1.0, 0.1, 0.05, 20, "launch_us at a session's end, over that at its start",
     "the column progress: when in its session a row was timed"},
}};

constexpr double kStepElements = 8;      // along k: what the FP32 kernels load at a time
constexpr double kTensorStepBytes = 64;  // of the channels of one filter element: tensor cores
constexpr double kLeastTensorSide = 64;  // of a tile on tensor cores
constexpr double kLeastSplit = 128;      // elements of k below which nobody splits
constexpr double kResidencyPower = 6;    // how sharply data stop to fit into L2
constexpr double kStepPower = 4;         // how sharply the limits of a step meet
constexpr std::array<double, 7> kSplits{1, 2, 4, 8, 16, 32, 64};
// The first three are tensor cores' alone, the last three those of others.
constexpr std::size_t kTensorTiles = 3, kOtherTiles = 3;
constexpr std::array<std::array<double, 2>, 10> kTiles{{{256, 128},
                                                        {128, 256},
                                                        {256, 64},
                                                        {128, 128},
                                                        {128, 64},
                                                        {64, 128},
                                                        {64, 64},
                                                        {128, 32},
                                                        {32, 128},
                                                        {32, 32}}};
// The fused Winograd's block: 32 tiles of 2x2 outputs, 32 filters, 16 products each.
constexpr double kWinogradMultiplies = 32 * 32 * 16;

double ceil_div(double value, double by) {
  return std::ceil(value / by);
}
double round_up(double value, double to) {
  return ceil_div(value, to) * to;
}

// How many times a block's share of a full SM `waves` blocks an SM take, two of which fit in at a
// time.  A started pair is paid for in part; a block alone hides less of its latency.
double paid_waves(double waves, double wave_share, double solo) {
  constexpr double resident = 2;
  const double pairs = waves / resident;
  return std::max(solo, resident * (pairs + (std::ceil(pairs) - pairs) * wave_share));
}

// The forward convolution that computes the gradient of the input, if the stride is 1: the gradient
// of the output, padded to the filter's width, with the filters turned around.
ConvShape mirrored(const ConvShape& shape) {
  ConvShape mirror = shape;
  mirror.c = shape.k;
  mirror.k = shape.c;
  mirror.h = shape.p();
  mirror.w = shape.q();
  mirror.pad_h = shape.r - 1 - shape.pad_h;
  mirror.pad_w = shape.s - 1 - shape.pad_w;
  return mirror;
}

double tensor_elements(const ConvShape& shape) {
  return shape.n * shape.c * shape.h * shape.w + shape.n * shape.k * shape.p() * shape.q() +
         shape.k * shape.c / shape.groups * shape.r * shape.s;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// "..._tile148t_...": 1 image, 4 x 8 tiles.
std::array<double, 3> find_winograd_tile(std::string_view name) {
  constexpr std::string_view word = "_tile";
  const std::size_t place = name.find(word);
  if (place == std::string_view::npos || place + word.size() + 3 > name.size()) return {};
  std::array<double, 3> tile{};
  for (std::size_t i = 0; i < tile.size(); ++i) {
    const char c = name[place + word.size() + i];
    if (!is_digit(c) || c == '0') return {};
    tile[i] = c - '0';
  }
  return tile;
}

// The first word that stands in a kernel's name tells its algorithm.  The first of a call's kernels
// may be the one that prepares the image.
constexpr std::array<std::pair<std::string_view, ConvAlgorithm>, 19> kWords{{
    {"winograd_nonfused", ConvAlgorithm::kWinogradNonfused},
    {"im2col", ConvAlgorithm::kExplicitGemm},
    {"winograd", ConvAlgorithm::kWinograd},
    {"cgemm", ConvAlgorithm::kFft},
    {"fft", ConvAlgorithm::kFft},
    {"explicit_convolve", ConvAlgorithm::kExplicitGemm},
    {"implicit_convolve", ConvAlgorithm::kPlainImplicitGemm},
    {"precomputed_convolve", ConvAlgorithm::kPlainImplicitGemm},
    {"scudnn", ConvAlgorithm::kImplicitGemm},
    {"hcudnn", ConvAlgorithm::kImplicitGemm},
    {"convolve", ConvAlgorithm::kImplicitGemm},
    {"cudnn", ConvAlgorithm::kImplicitGemm},
    {"implicit_gemm", ConvAlgorithm::kImplicitGemm},
    {"fprop", ConvAlgorithm::kImplicitGemm},
    {"dgrad", ConvAlgorithm::kImplicitGemm},
    {"wgrad", ConvAlgorithm::kImplicitGemm},
    {"884", ConvAlgorithm::kImplicitGemm},
    {"1688", ConvAlgorithm::kImplicitGemm},
    {"16816", ConvAlgorithm::kImplicitGemm},
}};

bool contains(std::string_view name, std::string_view word) {
  return name.find(word) != std::string_view::npos;
}

}  // namespace

std::optional<ConvDirection> conv_direction(std::string_view name) {
  if (name == "forward") return ConvDirection::kForward;
  if (name == "backward_data") return ConvDirection::kBackwardData;
  if (name == "backward_filter") return ConvDirection::kBackwardFilter;
  return std::nullopt;
}

double ConvShape::p() const {
  return std::floor((h + 2 * pad_h - r) / stride_h) + 1;
}
double ConvShape::q() const {
  return std::floor((w + 2 * pad_w - s) / stride_w) + 1;
}

ConvMachine conv_machine(const read::Machine& machine, std::string_view type) {
  const auto bytes = number_type_bytes(type);
  if (!bytes && type != "tf32") {
    throw std::invalid_argument(fmt::format("unknown number type {}", type));
  }
  const bool is_f8 = type == "f8e4m3" || type == "f8e5m2";
  const auto peak = machine.peak_tflops.find(is_f8 ? "f8" : std::string(type));
  if (peak == machine.peak_tflops.end()) {
    throw std::invalid_argument(fmt::format("{} has no peak for {}", machine.id, type));
  }
  if (!machine.l2_mb) throw std::invalid_argument(fmt::format("{} has no l2_mb", machine.id));
  ConvMachine result;
  result.sm_count = static_cast<double>(machine.sm_count);
  result.flops_per_us = peak->second * 1e6;
  result.bytes_per_us = machine.memory_gb_per_s * 1e3;
  result.l2_bytes = *machine.l2_mb * 1e6;
  result.element_bytes = bytes.value_or(4);
  result.has_tensor_kernels = result.element_bytes < 4 || type == "tf32";
  // Instructions of Ampere do five eighths of what an SM of Hopper does with its own, 4096 FLOP of
  // 16 bits a clock (W. Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture
  // via Microbenchmarking", 2024, arXiv:2402.13499).
  if (constexpr double ampere = 4096 * 5 / 8.0;
      result.has_tensor_kernels && machine.boost_clock_mhz)
    result.ampere_share = std::min(1.0, ampere * 2 / result.element_bytes * result.sm_count *
                                            *machine.boost_clock_mhz / result.flops_per_us);
  result.step = result.has_tensor_kernels ? kTensorStepBytes / result.element_bytes : kStepElements;
  return result;
}

std::span<const ParameterSpec> ConvAnalytic::parameters() {
  return kParameters;
}

ConvAnalytic::ConvAnalytic(const ConvMachine& machine, ConvDirection direction,
                           std::span<const double> values)
    : machine_(machine), direction_(direction), values_(values.begin(), values.end()) {
  if (values.size() != kParameters.size()) {
    throw std::invalid_argument(
        fmt::format("conv: {} parameters, expected {}", values.size(), kParameters.size()));
  }
}

// The product that the direction is, with the image gathered into one of its matrices.
ConvAnalytic::Product ConvAnalytic::gemm_of(const ConvShape& shape) const {
  const double c = shape.c / shape.groups;
  const double k = shape.k / shape.groups;
  const double outputs = shape.n * shape.p() * shape.q();
  switch (direction_) {
    case ConvDirection::kBackwardData: {
      // An input meets every stride-th of the filter's rows; some inputs meet none.
      const double elements = ceil_div(shape.r, shape.stride_h) * ceil_div(shape.s, shape.stride_w);
      const double reached =
          std::min(shape.r / shape.stride_h, 1.0) * std::min(shape.s / shape.stride_w, 1.0);
      return {shape.n * shape.h * shape.w * reached, c, round_up(k, machine_.step) * elements,
              shape.groups};
    }
    case ConvDirection::kBackwardFilter:
      return {k,
              (machine_.has_tensor_kernels ? round_up(c, kLeastTensorSide) : c) * shape.r * shape.s,
              outputs, shape.groups};
    case ConvDirection::kForward:
      break;
  }
  const double padded = machine_.has_tensor_kernels ? round_up(c, machine_.step) : c;
  return {outputs, k, padded * shape.r * shape.s, shape.groups};
}

ConvAnalytic::Tiled ConvAnalytic::tiled(const Product& product, double share, double tile_m,
                                        double tile_n, double blocks) const {
  const auto& v = values_;
  const double peak_per_sm = machine_.flops_per_us / machine_.sm_count * share;
  const double step = machine_.step;
  const double multiply_us = 2 * tile_m * tile_n * step / peak_per_sm;
  const double operand_us =
      (tile_m + tile_n) * step * machine_.element_bytes / (v[kSharedRate] * 1e3);
  const double step_us = power_sum(kStepPower, v[kStep], multiply_us, operand_us);
  const double unsplit = ceil_div(product.m, tile_m) * ceil_div(product.n, tile_n) * product.batch;
  // Tensor-core kernels do not split an input's gradient.
  const bool never_splits =
      machine_.has_tensor_kernels && direction_ == ConvDirection::kBackwardData;
  const double known_splits = std::max(1.0, std::floor(blocks / unsplit));
  Tiled best{std::numeric_limits<double>::max(), tile_m, tile_n, 0};
  for (const double candidate : kSplits) {
    const double splits = blocks > 0 ? known_splits : candidate;
    if (blocks == 0 && splits > 1 &&
        (never_splits || unsplit >= machine_.sm_count || product.k / splits < kLeastSplit))
      break;
    const double waves = unsplit * splits / machine_.sm_count;
    const double paid = paid_waves(waves, v[kWaveShare], v[kSolo]);
    double time_us = paid * (ceil_div(ceil_div(product.k, splits), step) * step_us + v[kEpilogue]);
    if (splits > 1) {
      time_us += v[kReduction] + moved_us(8 * product.batch * product.m * product.n * splits);
    }
    if (time_us < best.time_us) {
      best.time_us = time_us;
      best.waves = waves;
    }
  }
  return best;
}

// A name that says 128x64 does not say which of the two is m.
ConvAnalytic::Tiled ConvAnalytic::best_tiled(const Product& product, double share,
                                             const ConvKernel* kernel) const {
  if (kernel != nullptr && kernel->tile_m > 0) {
    const Tiled one = tiled(product, share, kernel->tile_m, kernel->tile_n, kernel->blocks);
    if (kernel->tile_m == kernel->tile_n) return one;
    const Tiled other = tiled(product, share, kernel->tile_n, kernel->tile_m, kernel->blocks);
    return other.time_us < one.time_us ? other : one;
  }
  Tiled best{std::numeric_limits<double>::max(), 0, 0, 0};
  auto tiles = std::span(kTiles).subspan(kTensorTiles);
  if (machine_.has_tensor_kernels) tiles = std::span(kTiles).first(kTiles.size() - kOtherTiles);
  for (const auto& [m, n] : tiles) {
    const Tiled candidate = tiled(product, share, m, n, 0);
    if (candidate.time_us < best.time_us) best = candidate;
  }
  return best;
}

// Returns the time of what transforms write and read again, partly in L2.
double ConvAnalytic::moved_us(double bytes) const {
  const auto& v = values_;
  const double kept =
      1 / (1 + std::pow(v[kL2Share] * machine_.l2_bytes / std::max(bytes, 1.0), kResidencyPower));
  return bytes / (machine_.bytes_per_us * v[kTransformShare]) * (kept + (1 - kept) / v[kL2Gain]);
}

// `kernels`: how many run beside the one that multiplies.
ConvTime ConvAnalytic::finish(ConvTime time, double tensor_bytes, double kernels) const {
  const auto& v = values_;
  time.memory_us = tensor_bytes / (machine_.bytes_per_us * v[kDramShare]);
  time.overhead_us = v[kLaunch] + kernels * v[kKernel];
  time.time_us = time.overhead_us + time.transform_us +
                 power_sum(v[kOverlap], time.compute_us, time.memory_us, 0);
  return time;
}

ConvTime ConvAnalytic::of_product(ConvAlgorithm algorithm, const Tiled& product) {
  ConvTime time;
  time.algorithm = algorithm;
  time.compute_us = product.time_us;
  time.tile_m = product.tile_m;
  time.tile_n = product.tile_n;
  time.waves = product.waves;
  return time;
}

ConvTime ConvAnalytic::implicit_gemm(const ConvShape& shape, const ConvKernel* kernel) const {
  const bool is_plain = kernel != nullptr && kernel->algorithm == ConvAlgorithm::kPlainImplicitGemm;
  double share = values_[is_plain ? kPlainShare : kGemmShare];
  if (kernel != nullptr && kernel->is_of_ampere) share *= machine_.ampere_share;
  const Tiled product = best_tiled(gemm_of(shape), share, kernel);
  return finish(
      of_product(is_plain ? ConvAlgorithm::kPlainImplicitGemm : ConvAlgorithm::kImplicitGemm,
                 product),
      machine_.element_bytes * tensor_elements(shape), 0);
}

ConvTime ConvAnalytic::explicit_gemm(const ConvShape& shape, const ConvKernel* kernel) const {
  const Product product = gemm_of(shape);
  const Tiled multiplied = best_tiled(product, values_[kNonfusedShare], kernel);
  ConvTime time = of_product(ConvAlgorithm::kExplicitGemm, multiplied);
  time.transform_us = moved_us(2 * machine_.element_bytes * product.batch * product.m * product.k);
  return finish(time, machine_.element_bytes * tensor_elements(shape), 1);
}

ConvTime ConvAnalytic::winograd(const ConvShape& shape, const ConvKernel* kernel) const {
  const auto& v = values_;
  std::array<double, 3> tile{1, 4, 8};
  if (kernel != nullptr && kernel->winograd_tile[0] > 0) tile = kernel->winograd_tile;
  const double blocks = ceil_div(shape.n, tile[0]) * ceil_div(ceil_div(shape.p(), 2), tile[1]) *
                        ceil_div(ceil_div(shape.q(), 2), tile[2]) * ceil_div(shape.k, 32);
  const double waves = blocks / machine_.sm_count;
  const double paid = paid_waves(waves, v[kWaveShare], v[kSolo]);
  const double peak_per_sm = machine_.flops_per_us / machine_.sm_count * v[kWinogradShare];
  const double block_us =
      2 * kWinogradMultiplies * round_up(shape.c, kStepElements) / peak_per_sm + v[kEpilogue];
  ConvTime time = of_product(ConvAlgorithm::kWinograd,
                             {paid * block_us, tile[0] * tile[1] * tile[2], 32, waves});
  // The filters are transformed by a kernel before: 16 numbers for 9.
  time.transform_us =
      moved_us(machine_.element_bytes * shape.k * shape.c * (shape.r * shape.s + 16));
  return finish(time, machine_.element_bytes * tensor_elements(shape), 1);
}

ConvTime ConvAnalytic::winograd_nonfused(const ConvShape& shape, const ConvKernel* kernel) const {
  constexpr double products = 36;  // F(4x4, 3x3)
  const double tiles = shape.n * ceil_div(shape.p(), 4) * ceil_div(shape.q(), 4);
  const bool sums_tiles = direction_ == ConvDirection::kBackwardFilter;
  const Product transformed_product = sums_tiles ? Product{shape.k, shape.c, tiles, products}
                                                 : Product{tiles, shape.k, shape.c, products};
  const Tiled product = best_tiled(transformed_product, values_[kNonfusedShare], kernel);
  ConvTime time = of_product(ConvAlgorithm::kWinogradNonfused, product);
  const double image = tensor_elements(shape) - shape.k * shape.c * shape.r * shape.s;
  time.transform_us =
      moved_us(machine_.element_bytes * (image + products * tiles * (shape.c + shape.k))) +
      moved_us(machine_.element_bytes * shape.k * shape.c * (shape.r * shape.s + products));
  const double transformed =
      products * (tiles * (shape.c + shape.k) + shape.k * shape.c);  // read and written by it
  return finish(time, machine_.element_bytes * transformed, 3);
}

// Tiles of 32 x 32 that overlap by a filter, or of 16 x 16 for an image that fits into one; half of
// a real image's transform says it all.
ConvTime ConvAnalytic::fft(const ConvShape& shape, const ConvKernel* kernel) const {
  const double widest = std::max(shape.p() + shape.r, shape.q() + shape.s) - 1;
  const double side = widest <= 16 ? 16 : 32;
  const double frequencies = side * (side / 2 + 1);
  const double tiles =
      shape.n * ceil_div(shape.p(), side + 1 - shape.r) * ceil_div(shape.q(), side + 1 - shape.s);
  // A complex product is four real ones.
  const Tiled product =
      best_tiled({tiles, shape.k, 4 * shape.c, frequencies}, values_[kFftShare], kernel);
  ConvTime time = of_product(ConvAlgorithm::kFft, product);
  const double complex_bytes = 2 * machine_.element_bytes * frequencies;
  time.transform_us = moved_us(complex_bytes * tiles * (shape.c + shape.k)) +
                      moved_us(complex_bytes * shape.k * shape.c);
  return finish(time, complex_bytes * (tiles * (shape.c + shape.k) + shape.k * shape.c), 3);
}

double ConvAnalytic::launch_us(double progress) const {
  return values_[kLaunch] * std::pow(values_[kLaunchGrowth], progress);
}

ConvTime ConvAnalytic::predict(const ConvShape& shape, const std::optional<ConvKernel>& kernel,
                               double progress) const {
  const bool is_dense = shape.stride_h == 1 && shape.stride_w == 1;
  const bool is_mirrored = direction_ == ConvDirection::kBackwardData && is_dense;
  const ConvShape transformed = is_mirrored ? mirrored(shape) : shape;
  ConvTime time;
  if (kernel) {
    using enum ConvAlgorithm;
    const ConvAlgorithm algorithm = kernel->algorithm;
    time = algorithm == kExplicitGemm       ? explicit_gemm(shape, &*kernel)
           : algorithm == kWinograd         ? winograd(transformed, &*kernel)
           : algorithm == kWinogradNonfused ? winograd_nonfused(transformed, &*kernel)
           : algorithm == kFft              ? fft(transformed, &*kernel)
                                            : implicit_gemm(shape, &*kernel);
  } else {
    time = fastest(shape, transformed);
  }
  const double later_us = launch_us(progress) - launch_us(0);
  time.overhead_us += later_us;
  time.time_us += later_us;
  const double moving_us = time.memory_us + time.transform_us;
  time.bound = time.overhead_us > std::max(time.compute_us, moving_us) ? "launch"
               : time.compute_us >= moving_us                          ? "compute"
                                                                       : "memory";
  return time;
}

ConvTime ConvAnalytic::fastest(const ConvShape& shape, const ConvShape& transformed) const {
  const bool is_dense = shape.stride_h == 1 && shape.stride_w == 1;
  ConvTime best = implicit_gemm(shape, nullptr);
  if (machine_.has_tensor_kernels || shape.groups != 1 || !is_dense) return best;
  const auto consider = [&](const ConvTime& candidate) {
    if (candidate.time_us < best.time_us) best = candidate;
  };
  const bool is_filter = direction_ == ConvDirection::kBackwardFilter;
  if (shape.r == 3 && shape.s == 3) {
    if (!is_filter) consider(winograd(transformed, nullptr));
    consider(winograd_nonfused(transformed, nullptr));
  }
  if (shape.r <= 32 && shape.s <= 32 && !is_filter) consider(fft(transformed, nullptr));
  return best;
}

std::string_view conv_algorithm_name(ConvAlgorithm algorithm) {
  constexpr std::array<std::string_view, kConvAlgorithmCount> names{
      "implicit_gemm", "plain_implicit_gemm", "explicit_gemm",
      "winograd",      "winograd_nonfused",   "fft"};
  return names.at(static_cast<std::size_t>(algorithm));
}

std::optional<ConvKernel> parse_conv_kernel(std::string_view name, double r, double s,
                                            double stride) {
  if (contains(name, "c1_k1") || contains(name, "grouped_direct") || contains(name, "depthwise"))
    return std::nullopt;  // multiplies no matrices
  const auto [tile_m, tile_n] = read::tile_in(name).value_or(std::pair(0.0, 0.0));
  ConvKernel kernel{.algorithm = ConvAlgorithm::kImplicitGemm,
                    .tile_m = tile_m,
                    .tile_n = tile_n,
                    .winograd_tile = {}};
  for (const std::string_view word : {"sm80", "ampere", "s1688", "s16816"})
    kernel.is_of_ampere = kernel.is_of_ampere || contains(name, word);
  const auto* const known =
      std::ranges::find_if(kWords, [&](const auto& word) { return contains(name, word.first); });
  if (known != kWords.end()) {
    kernel.algorithm = known->second;
    if (kernel.algorithm == ConvAlgorithm::kWinograd)
      kernel.winograd_tile = find_winograd_tile(name);
    return kernel;
  }
  if (!contains(name, "gemm")) return std::nullopt;
  const bool has_winograd = r == 3 && s == 3 && stride == 1;
  kernel.algorithm = has_winograd ? ConvAlgorithm::kWinogradNonfused : ConvAlgorithm::kExplicitGemm;
  return kernel;
}

}  // namespace inline_prof::model
